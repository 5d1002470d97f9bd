import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { prettyJson } from "../../src/cli/pretty-json.ts";
import { elementsOf, membersOf, onOneLine, sliceAt } from "../../src/cli/raw-json.ts";

/** JSON text with white space of every kind between its tokens. */
const spaced = fc.tuple(fc.jsonValue(), fc.constantFrom(undefined, 1, "\t", "  ")).map(([value, indent]) => ({
  value,
  text: ` ${JSON.stringify(value, null, indent)}\r\n`,
}));

describe("slices of a JSON text", () => {
  test("an array's elements are its values, in order", () => {
    fc.assert(
      fc.property(fc.array(spaced), (items) => {
        const text = `[${items.map((item) => item.text).join(",")}]`;
        expect(elementsOf(text)?.map((slice) => JSON.parse(slice))).toEqual(JSON.parse(text));
      }),
    );
  });

  test("an object's members are its values, of a repeated name the last, as JSON.parse has it", () => {
    const members = fc.array(fc.tuple(fc.constantFrom("a", "b", 'quo"te', "\\", "é", "", "ba\nr"), spaced));
    fc.assert(
      fc.property(members, (items) => {
        const text = `{${items.map(([name, item]) => `${JSON.stringify(name)} :${item.text}`).join(" ,")}}`;
        const found = [...(membersOf(text) ?? [])].map(([name, slice]) => [name, JSON.parse(slice)] as const);
        expect(Object.fromEntries(found)).toEqual(JSON.parse(text));
      }),
    );
  });

  test("each slice is the very text that stood there: no number and no escape changes", () => {
    const numbers = ["12345678901234567890123", "1.10", "-0", "1e400", "0.1E+2"];
    const escapes = ['"\\u0041\\/"', '{"a":1,"a":2}'];
    expect(elementsOf(`[${[...numbers, ...escapes].join(", ")}]`)).toEqual([...numbers, ...escapes]);
    expect(sliceAt('{"event":{"payload":{"n": 1.10}}}', "event.payload.n")).toBe("1.10");
  });

  test("what is no array or no object has none", () => {
    expect(elementsOf("{}")).toBeUndefined();
    expect(membersOf("[]")).toBeUndefined();
    expect(membersOf("null")).toBeUndefined();
    expect(sliceAt('{"lease":null}', "lease.id")).toBeUndefined();
  });

  test("depth is no limit", () => {
    const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
    expect(elementsOf(`[${deep},1]`)).toEqual([deep, "1"]);
  });

  test("a text on one line means the same", () => {
    fc.assert(
      fc.property(spaced, ({ value, text }) => {
        expect(onOneLine(text)).not.toMatch(/[\r\n]/);
        expect(JSON.parse(onOneLine(text))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});

describe("JSON made readable", () => {
  test("it means the same, and a token each keeps its text", () => {
    fc.assert(
      fc.property(spaced, ({ text }) => {
        expect(JSON.parse(prettyJson(text))).toEqual(JSON.parse(text));
        expect(prettyJson(prettyJson(text))).toBe(prettyJson(text));
      }),
    );
    expect(prettyJson('{"big":12345678901234567890123,"f":1.10,"e":[ ],"o":{\n}}')).toBe(
      '{\n  "big": 12345678901234567890123,\n  "f": 1.10,\n  "e": [],\n  "o": {}\n}',
    );
  });

  test("deep nesting does not make it outgrow its text by more than the deepest indentation", () => {
    const deep = `${"[".repeat(10_000)}1${"]".repeat(10_000)}`;
    expect(prettyJson(deep).length).toBeLessThan(deep.length * 52);
  });
});
