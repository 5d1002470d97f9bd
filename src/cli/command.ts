import type { LoadOptions } from "../config/load.ts";
import type { Io } from "./io.ts";

/** A flag of a command. A `switch` takes no value (`--x`, `--no-x`, `--x=false`); a `list` may be given several times. */
export type Flag = {
  name: string;
  doc: string;
  takes: "switch" | "value" | "list";
  /** What stands for the value in help. */
  metavar?: string;
  choices?: readonly string[];
  default?: string;
  required?: boolean;
};

/** A word that stands without a flag. */
export type Arg = { name: string; doc: string; required: boolean; choices?: () => readonly string[] };

/** What a command line came to: its words without flags, and each flag's values in their order. */
export type Call = {
  io: Io;
  args: readonly string[];
  flags: ReadonlyMap<string, readonly string[]>;
  commands: Commands;
  /** Every command there is; loads the operations. */
  tree: () => Promise<readonly Command[]>;
};

/** One command, with all that help and completion say of it. */
export type Command = {
  words: readonly string[];
  summary: string;
  details?: string;
  args: readonly Arg[];
  flags: readonly Flag[];
  examples?: readonly string[];
  run: (call: Call) => Promise<number>;
};

/** What the command line starts that is not part of it. */
export type Commands = {
  /** Runs the daemon until it is told to stop; throws an Error whose message is for the operator where it may not start. */
  serve: (load: LoadOptions) => Promise<void>;
};

/** Flags that every command takes. */
export const GLOBAL_FLAGS: readonly Flag[] = [
  { name: "url", doc: "The daemon's URL ($POSTERN_URL); the operator's socket where there is none", takes: "value" },
  { name: "key", doc: "The API key ($POSTERN_KEY), `-` to read it from standard input", takes: "value" },
  { name: "project", doc: "The project's id or slug ($POSTERN_PROJECT)", takes: "value" },
  { name: "profile", doc: "A profile that `postern login` saved; the one in use by default", takes: "value" },
  { name: "config", doc: "The configuration file ($POSTERN_CONFIG)", takes: "value", metavar: "FILE" },
  { name: "json", doc: "Print the answer as JSON, exactly as it came", takes: "switch" },
  { name: "jsonl", doc: "Print one row a line, as JSON", takes: "switch" },
  { name: "help", doc: "Show this help", takes: "switch" },
];

/** The last value of a flag. */
export function flag(call: Call, name: string): string | undefined {
  return call.flags.get(name)?.at(-1);
}

/** True where a switch is on. */
export function isOn(call: Call, name: string): boolean {
  return flag(call, name) === "true";
}
