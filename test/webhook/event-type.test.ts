import { describe, expect, test } from "bun:test";
import { eventType, isTypeText } from "../../src/webhook/event-type.ts";
import { provider } from "./support.ts";

const typeOf = (kind: string, headers: Record<string, string>, value: unknown) =>
  eventType(provider(kind), undefined, headers, value, value);

describe("the type by the kind's own rule", () => {
  test.each(["stripe", "standard_webhooks"])("%s: the body's type", (kind) => {
    expect(typeOf(kind, {}, { type: "invoice.paid" })).toBe("invoice.paid");
    for (const value of [
      {},
      { type: 5 },
      { type: null },
      { type: "" },
      { type: ["a"] },
      [],
      null,
      "type",
      7,
      undefined,
    ]) {
      expect(typeOf(kind, {}, value)).toBe("webhook.received");
    }
  });

  test("github: the header, and the action where the body has one", () => {
    const headers = { "x-github-event": "pull_request" };
    expect(typeOf("github", headers, { action: "opened" })).toBe("pull_request.opened");
    for (const value of [{}, { action: "" }, { action: 1 }, [], null]) {
      expect(typeOf("github", headers, value)).toBe("pull_request");
    }
    expect(typeOf("github", {}, { action: "opened" })).toBe("webhook.received");
  });

  test("the others have none", () => {
    for (const kind of ["hmac_sha256", "unsigned"]) expect(typeOf(kind, {}, { type: "a" })).toBe("webhook.received");
  });

  test("of duplicate keys the last one counts", () => {
    expect(typeOf("stripe", {}, JSON.parse('{"type":"first","\\u0074ype":"last"}'))).toBe("last");
  });
});

describe("the source's type_from takes its place", () => {
  const from = (typeFrom: { pointer: string } | { header: string }, headers: Record<string, string>, value: unknown) =>
    eventType(provider("stripe"), typeFrom, headers, value, value);

  test("a JSON pointer into the payload", () => {
    const value = { type: "own", event: { "a/b": [{ "c~d": "deep" }] } };
    expect(from({ pointer: "/event/a~1b/0/c~0d" }, {}, value)).toBe("deep");
    expect(from({ pointer: "" }, {}, "whole")).toBe("whole");
    for (const pointer of [
      "/event",
      "/nothing",
      "/event/a~1b/00",
      "/event/a~1b/-",
      "/constructor/name",
      "/type/length",
    ]) {
      expect(from({ pointer }, {}, value)).toBe("webhook.received");
    }
  });

  test("a header", () => {
    expect(from({ header: "x-event" }, { "x-event": "push" }, { type: "own" })).toBe("push");
    expect(from({ header: "constructor" }, {}, { type: "own" })).toBe("webhook.received");
  });
});

describe("a type is 1 to 200 printable characters", () => {
  test.each(["a", "Push Hook", "événement", "イベント", "x".repeat(200), "🚀".repeat(200)])("%j is one", (text) => {
    expect(isTypeText(text)).toBe(true);
  });

  test.each([
    "",
    "x".repeat(201),
    "🚀".repeat(201),
    "a\nb",
    "a\u0000",
    "a\u007f",
    "a\u0085",
    "\u001b[31m",
    "a\u200bb",
    "a\u202eb",
    "a\u2066b",
    "\ufeffa",
    "a\u2028",
    "a\u00a0b",
    "a\u00ad",
    "\ud800",
    "\ue000",
    "\u{e0041}",
    "\u3164",
    7,
    null,
  ])("%j is none", (text) => {
    expect(isTypeText(text)).toBe(false);
  });
});
