import { describe, expect, test } from "bun:test";
import { DedupMode, HmacFields, hmacSettings, TypeFrom } from "../../src/webhook/settings.ts";

const settings = (given: unknown) => hmacSettings(HmacFields.parse(given));

describe("the settings of an hmac_sha256 source", () => {
  test("all have a default", () => {
    expect(settings({})).toEqual({
      header: "x-signature-256",
      encoding: "hex",
      prefix: "sha256=",
      signed: "{body}",
      timestamp_header: null,
      tolerance_seconds: 300,
    });
  });

  test("header names are kept in lower case", () => {
    const given = { header: "X-Sig", timestamp_header: "X-Time", signed: "{timestamp}.{body}", prefix: "" };
    expect(settings(given)).toMatchObject({ header: "x-sig", timestamp_header: "x-time", prefix: "" });
  });

  test.each<[unknown, string]>([
    [{ signed: "{timestamp}.{body}" }, "{timestamp} needs timestamp_header"],
    [{ timestamp_header: "x-time" }, "with timestamp_header it must hold {timestamp}"],
    [{ signed: "body" }, "the template must hold {body} exactly once"],
    [{ signed: "{body}.{body}" }, "the template must hold {body} exactly once"],
    [{ signed: "{id}.{body}" }, "only {body} and {timestamp} can stand here"],
    [{ signed: "{header:x}{body}" }, "only {body} and {timestamp} can stand here"],
    [{ signed: "{nothing}{body}" }, "{nothing} is no placeholder"],
  ])("%j does not fit together", (given, message) => {
    expect(settings(given)).toEqual([{ path: "signed", message }]);
  });

  test("the time stands in another header than the signature", () => {
    const given = { header: "x-a", timestamp_header: "X-A", signed: "{timestamp}{body}" };
    expect(settings(given)).toEqual([
      { path: "timestamp_header", message: "must be another header than the signature's" },
    ]);
  });

  test.each([
    { header: "" },
    { header: "x sig" },
    { header: "x:sig" },
    { encoding: "base32" },
    { prefix: " sha256=" },
    { prefix: "a\nb" },
    { tolerance_seconds: 0 },
    { tolerance_seconds: 1.5 },
    { tolerance_seconds: 100_000 },
    { other: 1 },
  ])("%j is refused", (given) => {
    expect(HmacFields.safeParse(given).success).toBe(false);
  });
});

describe("type_from", () => {
  test.each([{ pointer: "" }, { pointer: "/a/b~1c/0" }, { header: "X-Event" }])("%j", (given) => {
    expect(TypeFrom.safeParse(given).success).toBe(true);
  });
  test.each([
    { pointer: "a" },
    { pointer: "/a~2" },
    { header: "" },
    { header: "Authorization" },
    { header: "X-Hub-Signature-256" },
    { pointer: "/a", header: "x" },
    {},
  ])("%j is refused", (given) => {
    expect(TypeFrom.safeParse(given).success).toBe(false);
  });
});

test("dedup is auto, id or none", () => {
  expect(DedupMode.options).toEqual(["auto", "id", "none"]);
});
