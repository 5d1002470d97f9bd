import { describe, expect, test } from "bun:test";
import { defineScheme, type SchemeSpec } from "../../../src/webhook/signatures/scheme.ts";
import { parseTemplate } from "../../../src/webhook/signatures/template.ts";

describe("the template of the signed content", () => {
  test("placeholders among literal text", () => {
    expect(parseTemplate("v0:{timestamp}:{body}")).toEqual([
      { text: "v0:" },
      { field: "timestamp" },
      { text: ":" },
      { field: "body" },
    ]);
    expect(parseTemplate("{method}{url}{body}{header:x-time}")).toHaveLength(4);
  });

  test.each([
    ["", "the template must hold {body} exactly once"],
    ["{timestamp}", "the template must hold {body} exactly once"],
    ["{body}{body}", "the template must hold {body} exactly once"],
    ["{Body}", "{Body} is no placeholder"],
    ["{body}{constructor}", "{constructor} is no placeholder"],
    ["{body}{header:X y}", "{header:X y} is no placeholder"],
    ["{body", "a brace stands alone: placeholders are written {body}"],
    ["{body}}", "a brace stands alone: placeholders are written {body}"],
    ["{{body}}", "a brace stands alone: placeholders are written {body}"],
  ])("%j is refused", (template, message) => {
    expect(parseTemplate(template)).toBe(message);
  });
});

describe("a scheme that contradicts itself cannot be defined", () => {
  const spec: SchemeSpec = {
    families: [{ signature: "x-sig" }],
    header: { layout: "whole", prefix: "" },
    signatures: [{ label: "", algorithm: "hmac-sha256", coding: "hex", key: { coding: "utf8" } }],
    signed: "{body}",
  };
  test.each<Partial<SchemeSpec>>([
    { signed: "{timestamp}" },
    { signed: "{timestamp}.{body}" },
    { signed: "{id}.{body}" },
    { signed: "{timestamp}.{body}", timestamp: { at: { pointer: "/at" }, unit: "s", toleranceSeconds: 300 } },
    { timestamp: { at: "header", unit: "s", toleranceSeconds: 300 } },
  ])("%j", (change) => {
    expect(defineScheme(spec).signed).toHaveLength(1);
    expect(() => defineScheme({ ...spec, ...change })).toThrow("signature scheme");
  });
});
