import { resolve } from "node:path";
import { parse, TomlError } from "smol-toml";
import type { ConfigError } from "./errors.ts";
import { locate, type Positions } from "./locate.ts";
import { type ReadFile, tryRead } from "./read.ts";

/** A configuration file: `name` as it was given or found, its parsed content, and where each key stands. */
export type ConfigFile = { name: string; path: string; raw: Record<string, unknown>; positions: Positions };

type Candidate = { name: string; namedBy: string | undefined };

/** `--config`, else `$POSTERN_CONFIG`, else `./postern.toml`, else `/etc/postern/postern.toml`. */
function candidates(argvPath: string | undefined, fromEnv: string | undefined): Candidate[] {
  if (argvPath !== undefined) return [{ name: argvPath, namedBy: "--config" }];
  if (fromEnv !== undefined && fromEnv !== "") return [{ name: fromEnv, namedBy: "$POSTERN_CONFIG" }];
  return ["postern.toml", "/etc/postern/postern.toml"].map((name) => ({ name, namedBy: undefined }));
}

/** Finds and parses the configuration file. Null: there is none, and none was named. */
export function readConfigFile(
  argvPath: string | undefined,
  fromEnv: string | undefined,
  cwd: string,
  readFile: ReadFile,
): ConfigFile | ConfigError | null {
  for (const { name, namedBy } of candidates(argvPath, fromEnv)) {
    if (name === "") return { file: "--config", line: 0, key: "", message: "names no file" };
    const path = resolve(cwd, name);
    const text = tryRead(path, readFile);
    if (typeof text === "string") return parseConfigFile(name, path, text);
    if (!text.absent) return { file: name, line: 0, key: "", message: text.why };
    if (namedBy !== undefined) {
      return { file: name, line: 0, key: "", message: `there is no such file, but ${namedBy} names it` };
    }
  }
  return null;
}

function parseConfigFile(name: string, path: string, text: string): ConfigFile | ConfigError {
  try {
    return { name, path, raw: parse(text, { unsafeKeyBehaviour: "throw" }), positions: locate(text) };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // Only the first line of the message: a frame of the neighbouring lines follows it, and they may hold secrets.
    const what = (error.message.split("\n", 1)[0] ?? "").replace(/^Invalid TOML document: /, "");
    return { file: name, line: error.line, column: error.column, key: "", message: `not valid TOML: ${what}` };
  }
}
