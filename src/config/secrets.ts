import { statSync } from "node:fs";
import type { Environment } from "./env.ts";
import type { ConfigError } from "./errors.ts";
import { errorInConfig, type LoadedConfig } from "./load.ts";
import { dotted, type KeyPath } from "./path.ts";
import { type ReadFile, readTextFile, tryRead } from "./read.ts";

/** Where a declared source or route has its secret; at most one is given. */
export type SecretReference = {
  secret?: string | undefined;
  secret_env?: string | undefined;
  secret_file?: string | undefined;
};

/** A secret's text, and a warning where others on this machine can read its file. */
export type FoundSecret = { secret: string; warning?: string };

/** What reading secrets depends on. `modeOf` answers a file's permission bits. */
export type SecretSources = { env: Environment; readFile?: ReadFile; modeOf?: (path: string) => number };

/**
 * Finds the secret of the source or route at `path`. Undefined: it has none. The errors name the key and the variable
 * or file, never what it holds. A file's path is absolute by now; one newline at its end is not part of the secret.
 */
function resolveSecret(
  loaded: LoadedConfig,
  path: KeyPath,
  reference: SecretReference,
  { env, readFile = readTextFile, modeOf = (file) => statSync(file).mode }: SecretSources,
): FoundSecret | ConfigError | undefined {
  if (reference.secret !== undefined) return { secret: reference.secret };
  if (reference.secret_env !== undefined) {
    const secret = env[reference.secret_env];
    const wrong = secret === undefined ? "is not set" : "is empty";
    const at = [...path, "secret_env"];
    return secret ? { secret } : errorInConfig(loaded, at, `the environment variable ${reference.secret_env} ${wrong}`);
  }
  const file = reference.secret_file;
  if (file === undefined) return undefined;
  const at = [...path, "secret_file"];
  const text = tryRead(file, readFile);
  if (typeof text !== "string") return errorInConfig(loaded, at, `${file} ${text.why}`);
  const secret = text.replace(/\r?\n$/, "");
  if (secret === "") return errorInConfig(loaded, at, `${file} is empty`);
  if ((modeOf(file) & 0o077) === 0 || isCredential(file, env)) return { secret };
  return { secret, warning: `${dotted(at)}: other users can read ${file}; chmod 600 it` };
}

/** All secrets of a configuration by `projects.0.sources.1`, with warnings; or all errors. */
export function resolveSecrets(
  loaded: LoadedConfig,
  sources: SecretSources,
): { secrets: ReadonlyMap<string, string>; warnings: string[] } | ConfigError[] {
  const secrets = new Map<string, string>();
  const warnings: string[] = [];
  const errors: ConfigError[] = [];
  for (const { path, reference } of references(loaded)) {
    const found = resolveSecret(loaded, path, reference, sources);
    if (found === undefined) continue;
    if ("message" in found) errors.push(found);
    else {
      secrets.set(dotted(path), found.secret);
      if (found.warning !== undefined) warnings.push(found.warning);
    }
  }
  return errors.length > 0 ? errors : { secrets, warnings };
}

function references({ config }: LoadedConfig): { path: KeyPath; reference: SecretReference }[] {
  return config.projects.flatMap(({ sources, routes }, project) => [
    ...sources.map((reference, index) => ({ path: ["projects", project, "sources", index], reference })),
    ...routes.map((reference, index) => ({ path: ["projects", project, "routes", index], reference })),
  ]);
}

/** systemd keeps credentials where nobody else gets at them, with access lists that look like group permissions. */
function isCredential(file: string, env: Environment): boolean {
  const folder = env.CREDENTIALS_DIRECTORY;
  return folder !== undefined && folder !== "" && file.startsWith(`${folder}/`);
}
