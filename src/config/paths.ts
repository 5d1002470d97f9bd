import { resolve } from "node:path";
import type { Environment } from "./env.ts";
import { entries } from "./keys.ts";
import { isTable, type KeyPath, valueAt } from "./path.ts";

/** A path of the configuration that cannot be resolved, and why. */
export type UnresolvedPath = { path: KeyPath; wrong: string };

/**
 * Makes the paths of a configuration absolute, in place. Those written in the file are relative to the file's folder,
 * others to the working directory: `baseOf` tells which. `$CREDENTIALS_DIRECTORY` at the beginning stands for
 * systemd's folder of credentials (systemd.exec(5), LoadCredential=).
 */
export function resolvePaths(config: unknown, env: Environment, baseOf: (path: KeyPath) => string): UnresolvedPath[] {
  const unresolved: UnresolvedPath[] = [];
  for (const { path, key, value } of entries(config)) {
    if (!key.path || typeof value !== "string" || value === "") continue;
    const expanded = expand(value, env);
    if (typeof expanded !== "string") unresolved.push({ path, ...expanded });
    else put(config, path, resolve(baseOf(path), expanded));
  }
  return unresolved;
}

function expand(text: string, env: Environment): string | { wrong: string } {
  const variable = /^\$(?:\{(\w+)\}|(\w+))/.exec(text);
  if (!variable) return text;
  const name = variable[1] ?? variable[2];
  if (name !== "CREDENTIALS_DIRECTORY")
    return { wrong: "may begin with $CREDENTIALS_DIRECTORY, but with no other variable" };
  const folder = env[name];
  if (!folder)
    return {
      wrong: "begins with $CREDENTIALS_DIRECTORY, which is not set; systemd sets it where LoadCredential is used",
    };
  return folder + text.slice(variable[0].length);
}

function put(root: unknown, path: KeyPath, value: string): void {
  const place = valueAt(root, path.slice(0, -1));
  const last = path.at(-1);
  if (isTable(place) && last !== undefined) place[last] = value;
}
