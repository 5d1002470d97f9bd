import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { classify } from "../../src/webhook/classify.ts";
import { SOURCE_KINDS, schemeFor } from "../../src/webhook/providers/index.ts";
import type { WebhookSettings } from "../../src/webhook/settings.ts";
import type { Transmission } from "../../src/webhook/transmission.ts";
import { parsed, provider, transmission } from "./support.ts";

function classified(kind: string, sent: Transmission, settings: Partial<WebhookSettings> = {}) {
  const entry = provider(kind);
  const whole: WebhookSettings = { dedup: "auto", ...settings };
  const scheme = schemeFor(entry, whole);
  return classify({
    provider: entry,
    scheme,
    settings: whole,
    transmission: sent,
    decoded: sent.body,
    verified: entry.verifies,
  });
}

describe("a transmission as an event", () => {
  test("a Stripe event", () => {
    const body = '{"id":"evt_1","type":"invoice.payment_failed"}';
    const headers = { "Content-Type": "application/json; charset=utf-8", "Stripe-Signature": "t=1,v1=00", Cookie: "a" };
    expect(classified("stripe", transmission(headers, body))).toMatchObject({
      type: "invoice.payment_failed",
      payload: { json: body, form: "json" },
      headers: { "content-type": "application/json; charset=utf-8" },
      contentType: "application/json; charset=utf-8",
      dedup: { kind: "id" },
    });
  });

  test("GitHub's form keeps the form and reads action in its payload field", () => {
    const json = '{"action":"opened","number":1}';
    const headers = { "content-type": "application/x-www-form-urlencoded", "x-github-event": "issues" };
    const event = classified("github", transmission(headers, `payload=${encodeURIComponent(json)}`));
    expect(event.type).toBe("issues.opened");
    expect(parsed(event.payload.json)).toEqual({ payload: json });
    const broken = classified("github", transmission(headers, "payload={&x=1"));
    expect(broken.type).toBe("issues");
  });

  test("type_from looks into the payload as it is shown", () => {
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const settings = { type_from: { pointer: "/kind" } };
    expect(classified("unsigned", transmission(headers, "kind=door.opened"), settings).type).toBe("door.opened");
    expect(classified("unsigned", transmission({}, '"kind"'), settings).type).toBe("webhook.received");
  });

  test("the header that an hmac_sha256 source signs with is not kept, whatever its name", () => {
    const hmac = {
      header: "x-check",
      encoding: "hex",
      prefix: "",
      signed: "{body}",
      timestamp_header: null,
      tolerance_seconds: 300,
    } as const;
    const event = classified("hmac_sha256", transmission({ "X-Check": "00", "X-Other": "1" }, "{}"), { hmac });
    expect(event.headers).toEqual({ "x-other": "1" });
  });

  test("a GET's query is its form, and tells duplicates", () => {
    const get = (query: string) => classified("unsigned", transmission({}, "", { method: "GET", query }));
    expect(get("a=1&a=2").payload).toMatchObject({ json: '{"a":["1","2"]}', form: "form" });
    expect(get("a=1").dedup?.key).toEqual(get("a=1").dedup?.key ?? new Uint8Array());
    expect(get("a=1").dedup?.key).not.toEqual(get("a=2").dedup?.key ?? new Uint8Array());
  });

  test("of a body that is stored apart only the rules' values are read, and only where there are such rules", () => {
    const large = transmission({ "content-type": "application/json" }, `{"type":"a.b","x":"${"x".repeat(300_000)}"}`);
    expect(classified("stripe", large)).toMatchObject({ type: "a.b", payload: { json: null } });
    expect(classified("unsigned", large, { type_from: { pointer: "/type" } }).type).toBe("a.b");
    const unread = classified("unsigned", large);
    expect(unread).toMatchObject({ type: "webhook.received", payload: { json: null, form: "json" } });
    expect(unread.payload.value).toBeUndefined();
  });

  test.each([
    [undefined, "[]", "application/json"],
    [undefined, "hello", "text/plain; charset=utf-8"],
    ["///;;=,", "hello", "text/plain; charset=utf-8"],
    ["image/png", "hello", "image/png"],
  ])("a body of type %j gets a content type that can be answered", (type, body, expected) => {
    const sent = transmission(type === undefined ? {} : { "content-type": type }, body);
    expect(classified("unsigned", sent).contentType).toBe(expected);
  });
});

describe("whatever is sent", () => {
  const type = fc.oneof(
    fc.constantFrom(
      "application/json",
      "text/plain",
      "text/plain; charset=shift_jis",
      "application/xml; charset=utf-16le",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
      "image/png",
      "",
    ),
    fc.string({ maxLength: 20 }),
  );
  const body = fc.oneof(
    fc.uint8Array({ maxLength: 100 }),
    fc.json().map((text) => new TextEncoder().encode(text)),
  );

  test("classification never throws, its payload is JSON, its type printable, its headers without secrets", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...SOURCE_KINDS),
        type,
        body,
        fc.string({ maxLength: 10 }),
        (kind, contentType, sent, text) => {
          const headers = { "content-type": contentType, "x-github-event": text, cookie: "c", "x-signature-256": "s" };
          const event = classified(kind, { method: "POST", query: "", headers, body: sent });
          parsed(event.payload.json);
          expect(event.type).toMatch(/^[^\p{C}]{1,200}$/u);
          expect(Object.keys(event.headers)).not.toContain("cookie");
          expect(Object.keys(event.headers)).not.toContain("x-signature-256");
          expect(event.dedup?.key).toHaveLength(16);
        },
      ),
    );
  });

  test("a JSON body's text comes out as it went in", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), (text) => {
        const event = classified("unsigned", transmission({ "content-type": "application/json" }, text));
        expect(event.payload.json).toBe(text);
      }),
    );
  });
});
