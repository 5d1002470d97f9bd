import type { Source, Violation } from "./source.ts";

type Rule = { pattern: RegExp; message: string };

/** A file of src holds one concept: over the first number of lines it deserves a look, over the second it is refused. */
export const LONG_FILE = 250;
const LONGEST_FILE = 400;

const SQL: Rule = {
  pattern:
    /\b(?:SELECT|INSERT (?:OR \w+ )?INTO|UPDATE [a-z_]+ SET|DELETE FROM|CREATE (?:TABLE|INDEX|TRIGGER|VIEW)|PRAGMA|BEGIN IMMEDIATE)\b/,
  message: "SQL lives in src/store only",
};

/** What Biome does not refuse by itself. */
const SWITCHED_OFF: Rule = {
  pattern:
    /@ts-(?:ignore|expect-error|nocheck)|biome-ignore(?:-\w+)?(?: lint)?\S*(?:noExplicitAny|noNonNull|noDefaultExport)/,
  message: "a check is switched off here",
};

const EVERYWHERE: Rule[] = [
  // The brackets keep these lines from being found by themselves.
  { pattern: /\b(?:TO[D]O|FIX[M]E)\b/, message: "unfinished work: do it, or drop the word" },
  {
    pattern: /(?<![\w.:/-])\/(?:work|root|(?:home|Users)\/(?!me\b|you\b)\w+)\/[\w.-]/,
    message: "a path of one machine",
  },
  { pattern: /\bregistry\.(?:npmjs|yarnpkg)\.|\bdeb\.debian\.org\b/, message: "a registry's host" },
];

/** Rules on the text of a file of src; `long` are the files that deserve a look. */
export function checkSourceText(sources: Source[]): { violations: Violation[]; long: string[] } {
  const violations: Violation[] = [];
  const long: string[] = [];
  for (const { path, text } of sources) {
    violations.push(...lines(path, text, SWITCHED_OFF));
    if (!path.startsWith("src/store/")) violations.push(...lines(path, text, SQL));
    const length = text.split("\n").length - 1;
    if (length > LONGEST_FILE) {
      violations.push({ file: path, line: 1, message: `${length} lines, more than ${LONGEST_FILE}: split it` });
    } else if (length > LONG_FILE) long.push(`${path} has ${length} lines`);
  }
  return { violations, long };
}

/** Rules on every file that the repository holds. */
export function checkRepositoryText(path: string, text: string): Violation[] {
  const violations = EVERYWHERE.flatMap((rule) => lines(path, text, rule));
  if (path === "bun.lock") {
    // With the default registry it records none; another one's host would be fetched from on every machine.
    violations.push(...lines(path, text, { pattern: /:\/\//, message: "a host in the lock file" }));
  }
  return violations;
}

function lines(file: string, text: string, { pattern, message }: Rule): Violation[] {
  if (!pattern.test(text)) return [];
  return text.split("\n").flatMap((line, index) => {
    const found = pattern.exec(line)?.[0];
    return found === undefined ? [] : [{ file, line: index + 1, message: `${message}: ${found}` }];
  });
}
