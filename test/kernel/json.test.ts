import { expect, test } from "bun:test";
import fc from "fast-check";
import { encodeJson, parseJson, RawJson } from "../../src/kernel/json.ts";

test("raw JSON goes into an answer as it is, anywhere in it", () => {
  const raw = new RawJson('{"n":1.10,"big":12345678901234567890,"b":1,"a":2,"a":3,"s":"\\u00e9"}');
  expect(encodeJson({ event: { payload: raw }, list: [raw, null] })).toBe(
    `{"event":{"payload":${raw.text}},"list":[${raw.text},null]}`,
  );
});

test("all else is as JSON.stringify has it", () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => expect(encodeJson(value)).toBe(JSON.stringify(value))));
});

test("undefined members are left out, and a date is its text", () => {
  expect(encodeJson({ a: undefined, b: [undefined], at: new Date(0) })).toBe(
    '{"b":[null],"at":"1970-01-01T00:00:00.000Z"}',
  );
});

test("what is not JSON is undefined and no error; what is, however deep, is parsed", () => {
  for (const text of ["{", "", "1.", "{'a':1}", "NaN"]) expect(parseJson(text)).toBeUndefined();
  expect(parseJson("null")).toEqual({ value: null });
  expect(parseJson("[".repeat(100_000) + "]".repeat(100_000))?.value).toBeArray();
});
