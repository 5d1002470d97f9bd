import { isTable } from "./path.ts";

/** A value as TOML on one line. */
export function tomlValue(value: unknown): string {
  if (typeof value === "string") return tomlString(value);
  if (Array.isArray(value)) return `[${value.map(tomlValue).join(", ")}]`;
  if (!isTable(value)) return String(value);
  const pairs = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .map(([name, member]) => `${tomlKey(name)} = ${tomlValue(member)}`);
  return pairs.length === 0 ? "{}" : `{ ${pairs.join(", ")} }`;
}

/** A key, quoted where TOML needs it. */
export function tomlKey(name: string): string {
  return /^[A-Za-z0-9_-]+$/.test(name) ? name : tomlString(name);
}

/** TOML's basic strings are JSON's, but for DEL, which JSON leaves as it is. */
function tomlString(text: string): string {
  return JSON.stringify(text).replaceAll("\u007f", "\\u007f");
}
