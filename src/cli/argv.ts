import { didYouMean, nearest } from "../kernel/suggest.ts";
import { type Arg, type Flag, GLOBAL_FLAGS } from "./command.ts";
import { usageError } from "./exit.ts";

export type Parsed = { args: string[]; flags: Map<string, string[]> };

/** A command line cut into flags and words, before its command is known: only the global flags are. */
export type Split = { words: string[]; rest: string[] };

/** The words that come before anything else than global flags, and all tokens without those words. */
export function leadingWords(argv: readonly string[], isWord: (words: readonly string[]) => boolean): Split {
  const words: string[] = [];
  const rest: string[] = [];
  let at = 0;
  for (; at < argv.length; at++) {
    const token = argv[at] ?? "";
    if (token === "--") break;
    if (token.startsWith("-") && token !== "-") {
      rest.push(token);
      const known = GLOBAL_FLAGS.find(({ name }) => `--${name}` === token);
      if (known?.takes === "value" && at + 1 < argv.length) rest.push(argv[++at] ?? "");
    } else if (isWord([...words, token])) words.push(token);
    else break;
  }
  return { words, rest: [...rest, ...argv.slice(at)] };
}

/** Parses a command's flags and words. Throws a usage error that names the nearest right flag. */
export function parseArgs(argv: readonly string[], flags: readonly Flag[], args: readonly Arg[], help: string): Parsed {
  const known = new Map([...GLOBAL_FLAGS, ...flags].map((one) => [one.name, one]));
  const parsed: Parsed = { args: [], flags: new Map() };
  const queue = [...argv];
  let flagsEnded = false;
  for (let token = queue.shift(); token !== undefined; token = queue.shift()) {
    if (!flagsEnded && token === "--") flagsEnded = true;
    else if (flagsEnded || token === "-" || !token.startsWith("-")) parsed.args.push(token);
    else takeFlag(parsed.flags, token === "-h" ? "--help" : token, queue, known, help);
  }
  if (parsed.args.length > args.length && parsed.flags.get("help") === undefined) {
    const extra = parsed.args[args.length] ?? "";
    const meant = nearest(extra, known.keys());
    const hint = meant === undefined ? "" : ` Did you mean \`--${meant}\`?`;
    throw usageError(`unexpected argument \`${extra}\`.${hint}`, help);
  }
  return parsed;
}

function takeFlag(
  found: Map<string, string[]>,
  token: string,
  queue: string[],
  known: ReadonlyMap<string, Flag>,
  help: string,
): void {
  if (!token.startsWith("--")) throw usageError(`unknown flag \`${token}\`; flags begin with two dashes`, help);
  const equals = token.indexOf("=");
  const written = token.slice(2, equals < 0 ? undefined : equals).replaceAll("_", "-");
  const given = equals < 0 ? undefined : token.slice(equals + 1);
  const negated = !known.has(written) && written.startsWith("no-") ? known.get(written.slice(3)) : undefined;
  const flag = negated?.takes === "switch" ? negated : known.get(written);
  if (!flag) throw usageError(`unknown flag \`--${written}\`.${didYouMean(`--${written}`, dashed(known))}`, help);
  if (flag.takes === "switch") {
    const follows = queue[0] === "true" || queue[0] === "false";
    const value = given ?? (follows && flag !== negated ? (queue.shift() ?? "") : "true");
    if (value !== "true" && value !== "false") throw usageError(`--${flag.name} takes true or false`, help);
    found.set(flag.name, [flag === negated ? String(value !== "true") : value]);
    return;
  }
  // A value may begin with a dash where it is no flag of this command: `--secret -`, `--since -1h`.
  const next = queue[0];
  const isFlag = next?.startsWith("--") && known.has(next.slice(2).split("=", 1)[0] ?? "");
  const value = given ?? (isFlag ? undefined : queue.shift());
  if (value === undefined) throw usageError(`--${flag.name} needs a value`, help);
  if (flag.choices && flag.takes === "value" && !flag.choices.includes(value)) {
    throw usageError(
      `--${flag.name}: must be one of ${flag.choices.join(", ")}.${didYouMean(value, flag.choices)}`,
      help,
    );
  }
  if (flag.takes === "value" && found.has(flag.name)) throw usageError(`--${flag.name} is given twice`, help);
  found.set(flag.name, [...(found.get(flag.name) ?? []), value]);
}

function* dashed(known: ReadonlyMap<string, Flag>): Generator<string> {
  for (const name of known.keys()) yield `--${name}`;
}
