import { describe, expect, test } from "bun:test";
import { dedupIdentity } from "../../src/webhook/dedup-key.ts";
import type { DedupMode } from "../../src/webhook/settings.ts";
import { bytes, provider } from "./support.ts";

const DAY = 86_400_000;

type Sent = {
  kind?: string;
  mode?: DedupMode;
  verified?: boolean;
  headers?: Record<string, string>;
  value?: unknown;
  body?: string;
};
const identity = ({ kind = "github", mode = "auto", verified = true, headers = {}, value, body = "{}" }: Sent) =>
  dedupIdentity(provider(kind), mode, verified, headers, value, bytes(body));
const keyOf = (sent: Sent) => {
  const found = identity(sent);
  return found && Buffer.from(found.key).toString("hex");
};

describe("duplicates are told by the provider's id for 30 days", () => {
  test.each<[string, Sent, Sent]>([
    ["stripe: the body's id", { kind: "stripe", value: { id: "evt_1" } }, { kind: "stripe", value: { id: "evt_2" } }],
    ["github: the delivery", { headers: { "x-github-delivery": "a" } }, { headers: { "x-github-delivery": "b" } }],
    [
      "standard_webhooks: webhook-id",
      {
        kind: "standard_webhooks",
        headers: { "webhook-id": "a", "webhook-timestamp": "1", "webhook-signature": "v1,x" },
      },
      {
        kind: "standard_webhooks",
        headers: { "webhook-id": "b", "webhook-timestamp": "1", "webhook-signature": "v1,x" },
      },
    ],
    [
      "hmac_sha256: webhook-id",
      { kind: "hmac_sha256", headers: { "webhook-id": "a" } },
      { kind: "hmac_sha256", headers: { "webhook-id": "b" } },
    ],
    ["any: idempotency-key", { headers: { "idempotency-key": "a" } }, { headers: { "idempotency-key": "b" } }],
  ])("%s", (_, one, other) => {
    expect(identity(one)).toMatchObject({ kind: "id", ttlMs: 30 * DAY });
    expect(identity(one)?.key).toHaveLength(16);
    // The same id with another body is the same event; its body's hash tells that the body changed.
    expect(keyOf({ ...one, body: "other" })).toBe(keyOf(one));
    expect(identity({ ...one, body: "other" })?.bodyHash).not.toEqual(identity(one)?.bodyHash);
    expect(keyOf(other)).not.toBe(keyOf(one));
  });

  test("the provider's own id goes before the idempotency key, and they are no ids of each other", () => {
    const own = { "x-github-delivery": "a" };
    expect(keyOf({ headers: { ...own, "idempotency-key": "z" } })).toBe(keyOf({ headers: own }));
    expect(keyOf({ headers: { "idempotency-key": "a" } })).not.toBe(keyOf({ headers: own }));
  });

  test("of two families of headers only the verified one's id counts", () => {
    const svix = { "svix-id": "a", "svix-timestamp": "1", "svix-signature": "v1,x" };
    const kind = "standard_webhooks";
    expect(keyOf({ kind, headers: { ...svix, "webhook-id": "unsigned" } })).toBe(keyOf({ kind, headers: svix }));
  });

  test("an absurdly long id works like any other", () => {
    const long = "x".repeat(100_000);
    expect(keyOf({ kind: "stripe", value: { id: long } })).not.toBe(
      keyOf({ kind: "stripe", value: { id: `${long}y` } }),
    );
  });

  test("an id that is no text is none", () => {
    for (const value of [{ id: 5 }, { id: "" }, { id: null }, [], null, undefined]) {
      expect(identity({ kind: "stripe", value })).toMatchObject({ kind: "body" });
    }
  });
});

test("without an id the body's hash tells them, for 24 hours", () => {
  expect(identity({ body: "a" })).toMatchObject({ kind: "body", ttlMs: DAY });
  expect(keyOf({ body: "a" })).toBe(keyOf({ body: "a", headers: { "user-agent": "x" } }));
  expect(keyOf({ body: "a" })).not.toBe(keyOf({ body: "b" }));
  expect(identity({ body: "" })).toMatchObject({ kind: "body" });
});

test("where nothing was verified an id counts together with the body: nobody blocks a genuine event by its id", () => {
  const sent = { kind: "unsigned", verified: false, headers: { "idempotency-key": "a" } };
  expect(identity(sent)).toMatchObject({ kind: "id", ttlMs: 30 * DAY });
  expect(keyOf({ ...sent, body: "forged" })).not.toBe(keyOf({ ...sent, body: "genuine" }));
  expect(keyOf({ ...sent, body: "genuine" })).toBe(keyOf({ ...sent, body: "genuine" }));
  expect(keyOf({ ...sent, headers: { "idempotency-key": "b" } })).not.toBe(keyOf(sent));
});

describe("the source's setting", () => {
  test("id: only by an id", () => {
    expect(identity({ mode: "id" })).toBeNull();
    expect(identity({ mode: "id", headers: { "x-github-delivery": "a" } })).toMatchObject({ kind: "id" });
  });
  test("none: never", () => {
    expect(identity({ mode: "none", headers: { "x-github-delivery": "a" } })).toBeNull();
  });
});
