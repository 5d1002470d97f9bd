import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { fit, printable, printableLines } from "../../src/cli/printable.ts";
import { distance, tableOf } from "../../src/cli/table.ts";

describe("text from outside on a terminal", () => {
  test("nothing with an effect and nothing hidden is left, whatever comes", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(printable(text)).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/u);
      }),
    );
  });

  test.each([
    ["\u001b[31mred\u001b]8;;http://x\u0007", "\\u001b[31mred\\u001b]8;;http://x\\u0007"],
    ["a\u009b31m", "a\\u009b31m"],
    ["evil\u202egpj.exe", "evil\\u202egpj.exe"],
    ["zero\u200bwidth", "zero\\u200bwidth"],
    ["tag\u{e0041}", "tag\\u{e0041}"],
    ["two\nlines\tand\rback", "two\\nlines\\tand\\rback"],
    ["plain ünïcode 日本 🎉", "plain ünïcode 日本 🎉"],
  ])("%j is shown as %j", (text, shown) => {
    expect(printable(text)).toBe(shown);
  });

  test("where lines are kept, only line breaks and tabs are", () => {
    expect(printableLines("a\r\nb\tc\rd\u001b")).toBe("a\nb\tc\\rd\\u001b");
  });
});

describe("fitting into columns", () => {
  test("what is cut says so, and never takes more columns than there are", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }).map(printable), fc.integer({ min: 1, max: 40 }), (text, columns) => {
        const shown = fit(text, columns);
        expect(Bun.stringWidth(shown)).toBeLessThanOrEqual(columns);
        if (shown !== text) expect(shown).toEndWith("…");
      }),
    );
  });

  const rows = [`{"id":"evt_01k6xyh4w1f4mr3n7v0e8a2b9c","type":${JSON.stringify("long.".repeat(40))}}`];

  test("a table on a terminal is no wider than it, and its ids stay whole", () => {
    const table = tableOf({ columns: 60, colour: false }, rows, ["id", "type"]);
    for (const line of table.trimEnd().split("\n")) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(60);
    expect(table).toContain("evt_01k6xyh4w1f4mr3n7v0e8a2b9c");
  });

  test("elsewhere nothing is cut and nothing coloured", () => {
    const table = tableOf({ columns: undefined, colour: false }, rows, ["id", "type"]);
    expect(table).toContain("long.".repeat(40));
    expect(table).not.toContain("\u001b");
  });

  test("a hostile cell cannot make a line or a colour of its own", () => {
    const hostile = JSON.stringify({ id: "x\n\u001b[2J", type: "\u202e" });
    const table = tableOf({ columns: undefined, colour: false }, [hostile], ["id", "type"]);
    expect(table.trimEnd().split("\n")).toHaveLength(2);
    expect(table).toContain("x\\n\\u001b[2J  \\u202e");
  });

  test.each([
    [-59_999, "59s ago"],
    [-60_000, "1m ago"],
    [7_200_000, "in 2h"],
    [-86_400_000 * 3, "3d ago"],
  ])("on a terminal a time %i ms from now is %s", (ms, text) => {
    expect(distance(ms)).toBe(text);
  });

  test("numbers are shown as they stand in the answer", () => {
    expect(tableOf({ columns: undefined, colour: false }, ['{"n":12345678901234567890}'], ["n"])).toBe(
      "N\n12345678901234567890\n",
    );
  });
});
