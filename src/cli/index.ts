import { didYouMean } from "../kernel/suggest.ts";
import { leadingWords, parseArgs } from "./argv.ts";
import type { Command, Commands } from "./command.ts";
import { CliError, EXIT, usageError } from "./exit.ts";
import { type Io, processIo } from "./io.ts";
import { allCommands, commandOf, isPrefix, nextWords, ownCommand } from "./tree.ts";

export type { Commands } from "./command.ts";

/** Runs a command line and answers the exit code: 0 done, 1 failed, 2 usage, 3 nothing there, 4 refused. */
export async function run(argv: readonly string[], commands: Commands, io: Io = processIo()): Promise<number> {
  try {
    return await dispatch(argv, commands, io);
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return fail(error, argv, io);
  }
}

async function dispatch(argv: readonly string[], commands: Commands, io: Io): Promise<number> {
  const { words: guessed } = leadingWords(argv, (words) => words.length <= (words[0] === "help" ? 4 : 2));
  if (guessed[0] === "help" || (guessed.length === 0 && isHelp(argv))) {
    const { printHelp } = await import("./help.ts");
    return await printHelp(io, guessed.slice(1), await allCommands());
  }
  if (guessed.length === 0 && argv.some((token) => token === "--version" || token === "-v")) {
    return (await import("./version.ts")).runVersion({ io, args: [], flags: new Map(), commands, tree: allCommands });
  }
  const own = ownCommand(guessed);
  const tree = own ? [own] : await allCommands();
  const { words, rest } = leadingWords(argv, (next) => isPrefix(tree, next));
  const command = commandOf(tree, words);
  if (command) return await runCommand(command, rest, commands, io);
  if (isHelp(rest)) return await (await import("./help.ts")).printHelp(io, words, tree);
  const unknown = guessed[words.length];
  if (unknown === undefined) {
    await (await import("./help.ts")).printHelp({ ...io, out: io.err }, words, tree);
    return EXIT.usage;
  }
  const known = [...nextWords(tree, words).keys(), ...(words.length === 0 ? ["help"] : [])];
  const name = ["postern", ...words].join(" ");
  throw usageError(`unknown command \`${unknown}\`.${didYouMean(unknown, known)}`, `${name} --help`);
}

async function runCommand(command: Command, rest: readonly string[], commands: Commands, io: Io): Promise<number> {
  const help = `postern ${command.words.join(" ")} --help`;
  if (isHelp(rest)) return (await import("./help.ts")).printCommandHelp(io, command);
  const { args, flags } = parseArgs(rest, command.flags, command.args, help);
  const missing = command.args.find((arg, at) => arg.required && args[at] === undefined && !flags.has("file"));
  if (missing) throw usageError(`${missing.name.toUpperCase()} is missing`, help);
  if (flags.get("json")?.[0] === "true" && flags.get("jsonl")?.[0] === "true") {
    throw usageError("--json and --jsonl exclude each other", help);
  }
  return await command.run({ io, args, flags, commands, tree: allCommands });
}

/** Help is asked for anywhere before `--`, whatever else is wrong with the line. */
function isHelp(tokens: readonly string[]): boolean {
  const end = tokens.indexOf("--");
  return tokens.slice(0, end < 0 ? undefined : end).some((token) => token === "--help" || token === "-h");
}

/** Writes `postern: CODE: detail`; with `--json` the daemon's answer, or the same as JSON. */
function fail(error: CliError, argv: readonly string[], io: Io): number {
  const { code, message, body } = error;
  const isPlain = code === "USAGE" || code === "FAILED";
  if (argv.includes("--json") || argv.includes("--jsonl")) {
    io.err(`${body ?? JSON.stringify({ code, detail: message })}\n`);
  } else io.err(`postern: ${isPlain ? "" : `${code}: `}${message}\n`);
  return error.exit;
}
