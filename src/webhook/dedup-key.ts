import type { Provider } from "./providers/provider.ts";
import type { DedupMode } from "./settings.ts";
import { familyOf } from "./signatures/verify.ts";
import { headerOf, type Transmission } from "./transmission.ts";
import { lookUp } from "./value-at.ts";

/**
 * How later transmissions of the same thing are known, within one source. `key` and `bodyHash` are 16 bytes of
 * SHA-256; another `bodyHash` under the same key is an id that came again with another body.
 */
export type DedupIdentity = {
  readonly key: Uint8Array;
  readonly kind: "id" | "body";
  readonly bodyHash: Uint8Array;
  /** How long it is remembered, in milliseconds from the first transmission. */
  readonly ttlMs: number;
};

const DAY_MS = 86_400_000;
const ID_TTL_MS = 30 * DAY_MS;
const BODY_TTL_MS = DAY_MS;

/**
 * The identity of a transmission: by the provider's id or the `idempotency-key` for 30 days, else by the body's hash
 * for 24 hours. Where nothing was verified the id counts together with the body, so that nobody can keep a genuine
 * event out by sending its id first. Null where the source wants no duplicates told, or (`id`) there is no id.
 * `body` is the decoded one: how it was compressed is no difference.
 */
export function dedupIdentity(
  provider: Provider,
  mode: DedupMode,
  verified: boolean,
  headers: Transmission["headers"],
  content: unknown,
  body: Uint8Array,
): DedupIdentity | null {
  if (mode === "none") return null;
  const id = providerId(provider, headers, content);
  if (id === undefined && mode === "id") return null;
  const hash = Bun.SHA256.hash(body, new Uint8Array(32)) as Uint8Array;
  const bodyHash = hash.slice(0, 16);
  if (id === undefined) return { key: keyOf("body", hash, ""), kind: "body", bodyHash, ttlMs: BODY_TTL_MS };
  const key = keyOf(id.space, verified ? undefined : hash, id.text);
  return { key, kind: "id", bodyHash, ttlMs: ID_TTL_MS };
}

type Id = { readonly space: "provider" | "idempotency-key"; readonly text: string };

function providerId(provider: Provider, headers: Transmission["headers"], content: unknown): Id | undefined {
  for (const place of provider.ids) {
    const text = place === "signed" ? signedId(provider, headers) : lookUp(place, headers, content);
    if (text) return { space: "provider", text };
  }
  const text = headerOf(headers, "idempotency-key");
  return text ? { space: "idempotency-key", text } : undefined;
}

/** The id that the signature covers: of several families of headers only the verified one's. */
function signedId({ scheme }: Provider, headers: Transmission["headers"]): string | undefined {
  if (scheme === null || typeof scheme === "function") return undefined;
  const family = familyOf(scheme, headers);
  return typeof family === "string" || family.id === undefined ? undefined : headerOf(headers, family.id);
}

/** The parts have a fixed length or stand last, so that no two lists of parts make the same text. */
function keyOf(space: string, hash: Uint8Array | undefined, id: string): Uint8Array {
  const body = hash === undefined ? "-" : Buffer.from(hash.buffer, hash.byteOffset, hash.length).toString("hex");
  const full = Bun.SHA256.hash(`postern.dedup\n${space}\n${body}\n${id}`, new Uint8Array(32)) as Uint8Array;
  return full.slice(0, 16);
}
