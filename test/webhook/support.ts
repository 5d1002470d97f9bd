import { expect } from "bun:test";
import { createHmac } from "node:crypto";
import { providerFor, schemeFor } from "../../src/webhook/providers/index.ts";
import type { Provider } from "../../src/webhook/providers/provider.ts";
import { DEFAULT_HMAC, type HmacSettings } from "../../src/webhook/settings.ts";
import type { SignatureScheme } from "../../src/webhook/signatures/scheme.ts";
import type { Transmission } from "../../src/webhook/transmission.ts";

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** A transmission as the HTTP door makes one. */
export function transmission(
  headers: Record<string, string>,
  body: string | Uint8Array = "",
  more: Partial<Transmission> = {},
): Transmission {
  return {
    method: "POST",
    query: "",
    ...more,
    headers: new Headers(headers).toJSON(),
    body: typeof body === "string" ? bytes(body) : body,
  };
}

/** A provider that has to be there. */
export function provider(kind: string): Provider {
  const found = providerFor(kind);
  if (!found) throw new Error(`no provider ${kind}`);
  return found;
}

/** The scheme of a kind, of an `hmac_sha256` source with these settings. */
export function scheme(kind: string, hmac: Partial<HmacSettings> = {}): SignatureScheme {
  const made = schemeFor(provider(kind), { dedup: "auto", hmac: { ...DEFAULT_HMAC, ...hmac } });
  if (!made) throw new Error(`${kind} signs nothing`);
  return made;
}

/** The HMAC-SHA-256 of pieces, by another library than the product's. */
export function mac(
  secret: string | Uint8Array,
  encoding: "hex" | "base64",
  ...pieces: (string | Uint8Array)[]
): string {
  const hmac = createHmac("sha256", secret);
  for (const piece of pieces) hmac.update(piece);
  return hmac.digest(encoding);
}

/** A JSON text's value, failing the test where it is none. */
export function parsed(json: string | null): unknown {
  expect(json).toBeString();
  return JSON.parse(json ?? "");
}
