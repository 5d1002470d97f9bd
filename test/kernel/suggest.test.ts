import { expect, test } from "bun:test";
import fc from "fast-check";
import { didYouMean, editDistance, nearest } from "../../src/kernel/suggest.ts";

test.each([
  ["", "", 0],
  ["", "abc", 3],
  ["claim", "claim", 0],
  ["clam", "claim", 1],
  ["cliam", "claim", 1],
  ["kitten", "sitting", 3],
  ["ca", "abc", 3],
])("from %p to %p: %d edits", (a, b, edits) => {
  expect(editDistance(a, b)).toBe(edits);
});

test("the distance is a distance", () => {
  const words = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 8 });
  fc.assert(
    fc.property(words, words, (a, b) => {
      expect(editDistance(a, b)).toBe(editDistance(b, a));
      expect(editDistance(a, b) === 0).toBe(a === b);
      expect(editDistance(a, b)).toBeLessThanOrEqual(Math.max(a.length, b.length));
      expect(editDistance(a, b)).toBeGreaterThanOrEqual(Math.abs(a.length - b.length));
    }),
  );
});

const COMMANDS = ["claim", "ack", "nack", "extend", "release", "requeue", "wait", "watch"];

test.each([
  ["calim", "claim"],
  ["Claim", "claim"],
  ["relase", "release"],
  ["requeu", "requeue"],
  ["wacth", "watch"],
])("%p: did you mean %p", (typed, meant) => {
  expect(nearest(typed, COMMANDS)).toBe(meant);
  expect(didYouMean(typed, COMMANDS)).toBe(` Did you mean \`${meant}\`?`);
});

test.each(["deploy", "", "xyz", "x".repeat(65)])("%p is near to nothing", (typed) => {
  expect(nearest(typed, COMMANDS)).toBeUndefined();
  expect(didYouMean(typed, COMMANDS)).toBe("");
});
