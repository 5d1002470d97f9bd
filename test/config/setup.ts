import { type ConfigError, formatConfigError } from "../../src/config/errors.ts";
import { isConfigErrors, type LoadedConfig, loadConfig } from "../../src/config/load.ts";

type Given = {
  toml?: string;
  env?: Record<string, string>;
  argvPath?: string;
  files?: Record<string, string>;
  cwd?: string;
};

/** Loads a configuration whose files are the given ones only; `toml` is ./postern.toml in the working directory. */
export function load({ toml, env = {}, argvPath, files = {}, cwd = "/home/me" }: Given): LoadedConfig | ConfigError[] {
  const all = new Map(Object.entries(files));
  if (toml !== undefined) all.set(`${cwd}/postern.toml`, toml);
  const readFile = (path: string): string => {
    const text = all.get(path);
    if (text === undefined) throw Object.assign(new Error(`no ${path}`), { code: "ENOENT" });
    return text;
  };
  return loadConfig({ argvPath, env, cwd, readFile });
}

/** A configuration that must be accepted. */
export function accepted(given: Given): LoadedConfig {
  const loaded = load(given);
  if (isConfigErrors(loaded)) throw new Error(loaded.map(formatConfigError).join("\n"));
  return loaded;
}

/** The printed errors of a configuration that must be refused. */
export function refused(given: Given): string[] {
  const loaded = load(given);
  if (!isConfigErrors(loaded)) throw new Error("the configuration was accepted");
  if (loaded.length === 0) throw new Error("the configuration was refused without a reason");
  return loaded.map(formatConfigError);
}
