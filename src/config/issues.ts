import type { z } from "zod";
import { didYouMean, nearest } from "../kernel/suggest.ts";
import type { ConfigError } from "./errors.ts";
import { CONFIG_KEYS, type ConfigTable, tableAt } from "./keys.ts";
import { dotted, isTable, type KeyPath, valueAt } from "./path.ts";
import { tomlKey } from "./toml-value.ts";

/** Where a path was set: the file and line, or the variable. */
export type Whereabouts = (path: KeyPath) => Pick<ConfigError, "file" | "line">;

/** The errors of a configuration that the schema refused, in sentences of our own that hold no value. */
export function configErrors(issues: readonly z.core.$ZodIssue[], raw: unknown, where: Whereabouts): ConfigError[] {
  return issues.flatMap((issue) => {
    const path = issue.path.filter((step) => typeof step !== "symbol");
    if (issue.code !== "unrecognized_keys") return [errorAt(path, sentence(issue, valueAt(raw, path)), where)];
    return issue.keys.map((key) => errorAt([...path, key], unknownKey(path, key, raw), where));
  });
}

function errorAt(path: KeyPath, message: string, where: Whereabouts): ConfigError {
  const key = dotted(path.map((step) => (typeof step === "string" ? tomlKey(step) : step)));
  return { ...where(path), key, message };
}

function sentence(issue: z.core.$ZodIssue, value: unknown): string {
  if (issue.code === "invalid_type" && value === undefined) return "is missing";
  if (issue.code === "invalid_type")
    return `must be ${EXPECTED[issue.expected] ?? issue.expected}, not ${nameOf(value)}`;
  if (issue.code === "too_big")
    return `must have at most ${issue.maximum} ${Array.isArray(value) ? "entries" : "characters"}`;
  if (issue.code !== "invalid_value") return issue.message;
  const choices = issue.values.map(String);
  const near = typeof value === "string" ? didYouMean(value, choices) : "";
  const must = `must be ${choices.slice(0, -1).join(", ")} or ${choices.at(-1)}.${near}`;
  return value === undefined ? `is missing; it ${must}` : must;
}

const EXPECTED: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a whole number",
  boolean: "true or false",
  array: "a list in brackets",
  object: "a table",
  record: "a table",
};

function nameOf(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (value instanceof Date) return "a date";
  if (isTable(value)) return "a table";
  return typeof value === "string" ? "a string" : typeof value === "boolean" ? "true or false" : "a number";
}

function unknownKey(path: KeyPath, key: string, raw: unknown): string {
  const table = tableAt(path);
  const value = valueAt(raw, [...path, key]);
  const isSection = path.length === 0 && (isTable(value) || Array.isArray(value));
  const what = isSection ? "unknown section." : "unknown key.";
  if (!table) return what;
  const known = [...table.members.keys()];
  if (nearest(key, known) !== undefined) return what + didYouMean(key, known);
  const longer = known.filter((name) => name.startsWith(`${key}_`)).map((name) => `\`${name}\``);
  if (longer.length > 0) return `${what} Did you mean ${longer.join(" or ")}?`;
  const home = isSection ? [] : sectionsWith(key);
  if (home.length > 0) return `${what} \`${tomlKey(key)}\` belongs in ${home.join(" or ")}.`;
  return `${what} ${path.length === 0 ? "The sections and keys" : "The keys"} here are: ${known.join(", ")}.`;
}

/** The sections in which a key does exist. */
function sectionsWith(key: string): string[] {
  if (CONFIG_KEYS.members.get(key)?.node === "key") return ["the top of the file, above the first section"];
  return headers(CONFIG_KEYS, []).flatMap(([header, table]) => (table.members.has(key) ? [header] : []));
}

function headers(table: ConfigTable, base: readonly string[]): [header: string, table: ConfigTable][] {
  return [...table.members].flatMap(([name, member]): [string, ConfigTable][] => {
    if (member.node !== "table" || member.inline) return [];
    const path = [...base, name];
    const header = member.repeated ? `[[${path.join(".")}]]` : `[${path.join(".")}]`;
    return [[header, member], ...headers(member, path)];
  });
}
