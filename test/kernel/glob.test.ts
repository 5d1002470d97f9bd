import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { glob } from "../../src/kernel/glob.ts";

test.each([
  ["invoice.*", "invoice.paid", true],
  ["invoice.*", "invoice.", true],
  ["invoice.*", "invoice", false],
  ["invoice.*", "xinvoice.paid", false],
  ["*.failed", "invoice.payment.failed", true],
  ["*", "", true],
  ["*", "anything.at all", true],
  ["", "", true],
  ["", "a", false],
  ["a?c", "abc", true],
  ["a?c", "ac", false],
  ["a*b*c", "axxbyyc", true],
  ["a*b*c", "axxbyy", false],
  ["**", "a", true],
  ["push", "push", true],
  ["push", "Push", false],
  ["push", "push.opened", false],
])("%p over %p: %p", (pattern, text, expected) => {
  expect(glob(pattern)(text)).toBe(expected);
});

describe("a glob's letters stand for themselves", () => {
  test.each([".", "+", "[a]", "(x)", "^a$", "\\d", "{1}", "a|b"])("%p", (special) => {
    expect(glob(`${special}*`)(`${special}rest`)).toBe(true);
    expect(glob(special)(special)).toBe(true);
    expect(glob(`${special}?`)("ab")).toBe(false);
  });
});

test("it agrees with the same pattern as a regular expression", () => {
  const letters = fc.string({ unit: fc.constantFrom("a", "b", "."), maxLength: 12 });
  const patterns = fc.string({ unit: fc.constantFrom("a", "b", ".", "*", "?"), maxLength: 8 });
  fc.assert(
    fc.property(patterns, letters, (pattern, text) => {
      const source = pattern.replaceAll(".", "\\.").replaceAll("*", ".*").replaceAll("?", ".");
      expect(glob(pattern)(text)).toBe(new RegExp(`^${source}$`, "s").test(text));
    }),
    { numRuns: 2000 },
  );
});

test("many stars cost pattern length times text length at most, not more each", () => {
  const text = "a".repeat(20_000);
  expect(glob(`${"*a".repeat(200)}*b`)(text)).toBe(false);
});
