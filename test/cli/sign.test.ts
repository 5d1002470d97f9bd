import { describe, expect, test } from "bun:test";
import { signedHeaders } from "../../src/cli/sign.ts";
import { providerFor, SOURCE_KINDS } from "../../src/webhook/index.ts";
import { schemeFor } from "../../src/webhook/providers/index.ts";
import { DEFAULT_HMAC } from "../../src/webhook/settings.ts";
import { verify } from "../../src/webhook/signatures/verify.ts";

const NOW = Date.UTC(2026, 9, 7, 9, 12, 44, 120);
const SECRETS: Readonly<Record<string, string>> = { standard_webhooks: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" };

describe("a sample is signed as its provider signs", () => {
  test.each(SOURCE_KINDS.filter((kind) => providerFor(kind)?.verifies))("%s", (kind) => {
    const provider = providerFor(kind);
    const secret = SECRETS[kind] ?? "s3cret";
    if (!provider) throw new Error(`no provider ${kind}`);
    const toSign = { secret, body: '{"é":1.10}', id: "msg_1", now: NOW };
    const headers = signedHeaders(provider, DEFAULT_HMAC, toSign) ?? {};
    const scheme = schemeFor(provider, { dedup: "auto", hmac: DEFAULT_HMAC });
    if (!scheme) throw new Error(`${kind} has no scheme`);
    const transmission = { method: "POST", headers, query: "", body: Buffer.from(toSign.body) };
    expect(verify(scheme, [secret], transmission, NOW)).toMatchObject({ ok: true });
  });

  test("hmac_sha256 keeps to the source's own settings", () => {
    const provider = providerFor("hmac_sha256");
    if (!provider) throw new Error("no provider");
    const settings = {
      ...DEFAULT_HMAC,
      header: "x-sig",
      prefix: "",
      timestamp_header: "x-time",
      signed: "{timestamp}.{body}",
    };
    const headers = signedHeaders(provider, settings, {
      secret: "example-only",
      body: '{"id":"test"}',
      id: "",
      now: 1791536400_000,
    });
    expect(headers).toEqual({
      "x-sig": "03ba7b3f1fdfcd42bf500da12b56741339d5c0cf355a394cff885e2517b8a255",
      "x-time": "1791536400",
    });
  });
});
