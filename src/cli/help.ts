import { columns, WIDTH, wrapped } from "./columns.ts";
import { type Command, type Flag, GLOBAL_FLAGS } from "./command.ts";
import { EXIT, EXIT_CODES, usageError } from "./exit.ts";
import type { Io } from "./io.ts";
import { commandOf, nextWords } from "./tree.ts";

/** `postern help [COMMAND…]`, `postern help config [KEY]`, `postern help errors`, and `--help` of a group. */
export async function printHelp(io: Io, words: readonly string[], commands: readonly Command[]): Promise<number> {
  if (words[0] === "errors") return (await import("./help-topics.ts")).printErrors(io);
  if (words[0] === "config" && words[1] !== "dump") return (await import("./help-topics.ts")).printKeys(io, words[1]);
  const command = commandOf(commands, words);
  if (command) return printCommandHelp(io, command);
  const next = nextWords(commands, words);
  if (next.size === 0) {
    const { didYouMean } = await import("../kernel/suggest.ts");
    const word = words.at(-1) ?? "";
    const known = [...nextWords(commands, words.slice(0, -1)).keys(), "config", "errors"];
    throw usageError(`there is no help for \`${words.join(" ")}\`.${didYouMean(word, known)}`, "postern help");
  }
  const name = ["postern", ...words].join(" ");
  const intro = words.length === 0 ? ["Postern turns webhooks into events that agents claim.", ""] : [];
  const text = [
    ...intro,
    `Usage: ${name} COMMAND [FLAGS]`,
    "",
    ...columns([...next]),
    "",
    ...(words.length === 0 ? [...START, ...globalHelp(), ...exitHelp(), ...TOPICS] : []),
    `\`${name} COMMAND --help\` tells more.`,
  ];
  io.out(`${text.join("\n")}\n`);
  return EXIT.done;
}

const START = [
  "To begin:",
  "  postern serve",
  "  postern sources create --name hello --kind unsigned",
  "  postern inbox watch",
  "",
];
const TOPICS = ["`postern help config [KEY]` explains the configuration, `postern help errors` the error codes."];

/** The help of one command. */
export function printCommandHelp(io: Io, command: Command): number {
  const words = command.args.map(({ name, required }) => (required ? name.toUpperCase() : `[${name.toUpperCase()}]`));
  const usage = ["postern", ...command.words, ...words, ...(command.flags.length > 0 ? ["[FLAGS]"] : [])].join(" ");
  const args = command.args.filter(({ doc }) => doc !== "").map(({ name, doc }) => [name.toUpperCase(), doc] as const);
  const text = [
    `${command.summary}.`,
    ...(command.details === undefined ? [] : ["", ...wrapped(command.details, WIDTH)]),
    "",
    `Usage: ${usage}`,
    "",
    ...section("Arguments:", args),
    ...section("Flags:", command.flags.map(flagLine)),
    ...globalHelp(),
    ...(command.examples ? ["Examples:", ...command.examples.map((line) => `  ${line}`), ""] : []),
    ...exitHelp().slice(0, -1),
  ];
  io.out(`${text.join("\n")}\n`);
  return EXIT.done;
}

function flagLine(flag: Flag): [string, string] {
  const value = flag.takes === "switch" ? "" : ` ${flag.metavar ?? flag.name.toUpperCase()}`;
  const choices = flag.choices?.length ? [`one of ${flag.choices.join(", ")}`] : [];
  const standard = flag.default === undefined ? [] : [`default ${flag.default}`];
  const required = flag.required ? ["required"] : [];
  const notes = [...choices, ...required, ...standard].join("; ");
  // A switch with no default means something either way.
  const either = flag.takes === "switch" && flag.default === undefined && !GLOBAL_FLAGS.includes(flag);
  return [
    `--${either ? "[no-]" : ""}${flag.name}${value}`,
    [flag.doc, notes].filter((part) => part !== "").join(flag.doc === "" ? "" : " — "),
  ];
}

function globalHelp(): string[] {
  return section("Everywhere:", GLOBAL_FLAGS.map(flagLine));
}

function exitHelp(): string[] {
  return section(
    "Exit codes:",
    EXIT_CODES.map(([code, meaning]) => [String(code), meaning] as const),
  );
}

function section(title: string, lines: readonly (readonly [string, string])[]): string[] {
  return lines.length === 0 ? [] : [title, ...columns(lines), ""];
}
