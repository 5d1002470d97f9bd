import type { z } from "zod";
import { isTable } from "../path.ts";

type Context = { addIssue(issue: { code: "custom"; message: string; path: (string | number)[] }): void };

/** One rule over several keys of a table: answers which key is wrong and what is wrong with it. */
export type Rule = (table: Readonly<Record<string, unknown>>) => { key: string; wrong: string } | undefined;

/**
 * Adds rules to a table. They run also where a key of it has failed, so that one look tells all errors;
 * for that reason they take every value as unknown.
 */
export function ruled<S extends z.ZodObject>(schema: S, rules: readonly Rule[]): S {
  const check = (table: unknown, context: Context) => {
    if (!isTable(table)) return;
    for (const rule of rules) {
      const found = rule(table);
      if (found) context.addIssue({ code: "custom", message: found.wrong, path: [found.key] });
    }
  };
  return schema.superRefine(check, { when: ({ value }) => isTable(value) });
}

/** Two keys of which one means nothing without the other. */
export function together(a: string, b: string): Rule {
  return (table) => {
    if ((table[a] === undefined) === (table[b] === undefined)) return undefined;
    const [present, absent] = table[a] === undefined ? [b, a] : [a, b];
    return { key: present, wrong: `needs \`${absent}\` beside it` };
  };
}

/** Keys of which at most one may be there. */
export function atMostOne(keys: readonly string[]): Rule {
  return (table) => {
    const present = keys.filter((key) => table[key] !== undefined);
    const [first, second] = present;
    if (first === undefined || second === undefined) return undefined;
    return { key: second, wrong: `stands beside \`${first}\`; give only one of ${names(keys)}` };
  };
}

/** A key that only means something where `condition` holds; `wrong` completes the sentence. */
export function onlyWhere(
  keys: readonly string[],
  condition: (table: Readonly<Record<string, unknown>>) => boolean,
  wrong: string,
): Rule[] {
  return keys.map((key) => (table) => (table[key] === undefined || condition(table) ? undefined : { key, wrong }));
}

/** "`a`, `b` and `c`" */
export function names(keys: readonly string[]): string {
  const quoted = keys.map((key) => `\`${key}\``);
  const last = quoted.pop() ?? "";
  return quoted.length === 0 ? last : `${quoted.join(", ")} and ${last}`;
}

/** For a list of tables: no two with the same value of a key. */
export function unique(key: string) {
  return (list: readonly unknown[], context: Context) => {
    const seen = new Set<unknown>();
    for (const [index, item] of list.entries()) {
      const value = isTable(item) ? item[key] : undefined;
      if (value === undefined) continue;
      if (seen.has(value)) {
        context.addIssue({ code: "custom", message: "is used by an earlier one of this list", path: [index, key] });
      }
      seen.add(value);
    }
  };
}
