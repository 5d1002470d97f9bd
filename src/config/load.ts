import { dirname, resolve } from "node:path";
import { applyOverrides, type Environment, type Overrides, readOverrides } from "./env.ts";
import type { ConfigError } from "./errors.ts";
import { type ConfigFile, readConfigFile } from "./file.ts";
import { configErrors, type Whereabouts } from "./issues.ts";
import { entries } from "./keys.ts";
import { dotted, type KeyPath } from "./path.ts";
import { resolvePaths } from "./paths.ts";
import { type ReadFile, readTextFile } from "./read.ts";
import { type Config, configSchema } from "./schema.ts";

/** `default`, `file:LINE` or `env:NAME`. */
export type Origin = string;

/**
 * A configuration that passed every check. `file` is the file as it was named or found, null where there is none;
 * `origins` tells for each key, dotted, where its value comes from.
 */
export type LoadedConfig = { config: Config; file: string | null; origins: ReadonlyMap<string, Origin> };

/** What loading depends on. `argvPath` is the value of `--config`. */
export type LoadOptions = { argvPath?: string | undefined; env: Environment; cwd: string; readFile?: ReadFile };

/**
 * Loads the configuration: defaults, over them the file, over it the environment. Every error is answered, not only
 * the first, those of the file in the order of its lines. No file is needed, unless one is named.
 */
export function loadConfig({ argvPath, env, cwd, readFile = readTextFile }: LoadOptions): LoadedConfig | ConfigError[] {
  const file = readConfigFile(argvPath, env.POSTERN_CONFIG, cwd, readFile);
  if (file && "message" in file) return [file];
  const raw = file?.raw ?? {};
  const overrides = readOverrides(env, secretVariables(raw));
  const where = whereabouts(file, overrides);
  applyOverrides(raw, overrides);
  const fromFile = (path: KeyPath) => file !== null && !overrides.variables.has(dotted(path));
  const unresolved = resolvePaths(raw, env, (path) => (file && fromFile(path) ? dirname(file.path) : cwd));
  const parsed = configSchema.safeParse(raw);
  const errors = inOrder([
    ...configErrors(parsed.error?.issues ?? [], raw, where),
    ...unresolved.map(({ path, wrong }) => ({ ...where(path), key: dotted(path), message: wrong })),
    ...overrides.errors,
  ]);
  if (!parsed.success || errors.length > 0) return errors;
  const origins = originsOf(parsed.data, file, overrides);
  const config = withDataDir(parsed.data, env, cwd, origins);
  return { config, file: file?.name ?? null, origins };
}

/** True where the configuration was refused. */
export function isConfigErrors(loaded: LoadedConfig | ConfigError[]): loaded is ConfigError[] {
  return Array.isArray(loaded);
}

/** An error at a key of a loaded configuration, for what only a feature can check: a source's kind, a secret's form. */
export function errorInConfig(loaded: LoadedConfig, path: KeyPath, message: string): ConfigError {
  for (let length = path.length; length > 0; length--) {
    const origin = loaded.origins.get(dotted(path.slice(0, length)));
    if (origin === undefined || origin === "default") continue;
    const [kind, rest = ""] = origin.split(/:(.*)/s);
    if (kind === "env") return { file: rest, line: 0, key: dotted(path), message };
    return { file: loaded.file ?? "", line: Number(rest), key: dotted(path), message };
  }
  return { file: loaded.file ?? "configuration", line: 0, key: dotted(path), message };
}

function whereabouts(file: ConfigFile | null, overrides: Overrides): Whereabouts {
  return (path) => {
    for (let length = path.length; length > 0; length--) {
      const variable = overrides.variables.get(dotted(path.slice(0, length)));
      if (variable !== undefined) return { file: variable, line: 0 };
    }
    return { file: file?.name ?? "configuration", line: file?.positions.near(path)?.line ?? 0 };
  };
}

function inOrder(errors: ConfigError[]): ConfigError[] {
  return errors.toSorted((a, b) => (a.line || Number.MAX_SAFE_INTEGER) - (b.line || Number.MAX_SAFE_INTEGER));
}

function originsOf(config: Config, file: ConfigFile | null, overrides: Overrides): Map<string, Origin> {
  const origins = new Map<string, Origin>();
  const note = (path: KeyPath) => {
    const id = dotted(path);
    const variable = overrides.variables.get(id);
    const line = file?.positions.at(path)?.line;
    origins.set(id, variable !== undefined ? `env:${variable}` : line !== undefined ? `file:${line}` : "default");
  };
  for (const { path } of entries(config)) {
    note(path);
    // The tables of lists are noted too: what is missing in one is reported at its beginning.
    for (const [index, step] of path.entries()) if (typeof step === "number") note(path.slice(0, index + 1));
  }
  return origins;
}

/** Where nothing sets the data folder it is systemd's StateDirectory=, which may name several, or ./postern-data. */
function withDataDir(config: Config, env: Environment, cwd: string, origins: Map<string, Origin>): Config {
  if (origins.get("data_dir") !== "default") return config;
  const folder = env.STATE_DIRECTORY?.split(":", 1)[0];
  if (folder) origins.set("data_dir", "env:STATE_DIRECTORY");
  return { ...config, data_dir: resolve(cwd, folder || config.data_dir) };
}

/** The variables that the file names as holding secrets; they may begin with POSTERN_ too. */
function secretVariables(raw: Record<string, unknown>): Set<string> {
  const found = new Set<string>();
  for (const { key, value } of entries(raw))
    if (key.name === "secret_env" && typeof value === "string") found.add(value);
  return found;
}
