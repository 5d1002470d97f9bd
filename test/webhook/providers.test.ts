import { describe, expect, test } from "bun:test";
import { providerFor, SOURCE_KINDS, schemeFor } from "../../src/webhook/providers/index.ts";
import { verify } from "../../src/webhook/signatures/verify.ts";
import { mac, provider, scheme, transmission } from "./support.ts";

test("the kinds of webhook source", () => {
  expect(SOURCE_KINDS).toEqual(["stripe", "github", "hmac_sha256", "standard_webhooks", "unsigned"]);
  expect(providerFor("constructor")).toBeUndefined();
});

test("an event is verified only where a scheme covers the body", () => {
  for (const kind of SOURCE_KINDS) {
    const entry = provider(kind);
    expect(entry.verifies).toBe(schemeFor(entry, { dedup: "auto" }) !== null);
    expect(entry.verifies).toBe(kind !== "unsigned");
  }
});

describe("secrets", () => {
  const errorOf = (kind: string, secret: string) => provider(kind).secret.validate(secret)?.message;

  test("are made by Postern but where only the provider can", () => {
    const origins = SOURCE_KINDS.map((kind) => [kind, provider(kind).secret.origin]);
    expect(Object.fromEntries(origins)).toEqual({
      stripe: "provider",
      github: "postern",
      hmac_sha256: "postern",
      standard_webhooks: "postern",
      unsigned: "none",
    });
  });

  test("that Postern makes are accepted, differ, hold 256 bits, and verify", () => {
    for (const kind of ["github", "hmac_sha256", "standard_webhooks"]) {
      const { generate } = provider(kind).secret;
      const secret = generate?.() ?? "";
      expect(errorOf(kind, secret)).toBeUndefined();
      expect(generate?.()).not.toBe(secret);
      expect(secret.replace("whsec_", "").length).toBeGreaterThanOrEqual(43);
    }
    const secret = provider("standard_webhooks").secret.generate?.() ?? "";
    const key = Buffer.from(secret.slice("whsec_".length), "base64");
    expect(key).toHaveLength(32);
    const headers = {
      "webhook-id": "m",
      "webhook-timestamp": "1",
      "webhook-signature": `v1,${mac(key, "base64", "m.1.{}")}`,
    };
    expect(verify(scheme("standard_webhooks"), [secret], transmission(headers, "{}"), 1000)).toEqual({ ok: true });
  });

  test.each(["stripe", "github", "hmac_sha256", "standard_webhooks"])("of %s cannot be empty or miscopied", (kind) => {
    expect(errorOf(kind, "")).toBe("must not be empty");
    expect(errorOf(kind, "  ")).toBe("must not be empty");
    expect(errorOf(kind, "whsec_AAAA\n")).toContain("control characters");
    expect(errorOf(kind, "A".repeat(1025))).toContain("at most 1024");
    expect(errorOf(kind, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")).toBeUndefined();
  });

  test("of standard_webhooks are base64, with or without whsec_, or a public key of 32 bytes", () => {
    const kind = "standard_webhooks";
    expect(errorOf(kind, "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")).toBeUndefined();
    expect(errorOf(kind, `whpk_${Buffer.alloc(32, 1).toString("base64")}`)).toBeUndefined();
    for (const secret of ["whsec_", "whsec_not base64", "whsk_AAAA", "whsec_A"]) {
      expect(errorOf(kind, secret)).toContain("must be base64");
    }
    expect(errorOf(kind, "whpk_AAAA")).toContain("32 bytes");
  });

  test("an unsigned source has none", () => {
    expect(errorOf("unsigned", "x")).toContain("no secret");
  });
});
