import { verify as verifySignature } from "node:crypto";
import { sameBytes } from "../../kernel/secrets.ts";
import { decodeKey, ed25519Key } from "./keys.ts";
import type { Algorithm, SignatureKind } from "./scheme.ts";

/** The signed content as pieces to hash one after the other. */
export type SignedContent = readonly (string | Uint8Array)[];

/** A decoded signature and the kind it claims to be. */
export type Candidate = { readonly kind: SignatureKind; readonly bytes: Uint8Array };

/**
 * True if a candidate is a signature of `content` with one of `secrets`. All are compared, however soon one matches:
 * which one it was shows in no timing. A secret that is no key for a kind of signature is passed over.
 */
export function anySignatureMatches(
  candidates: readonly Candidate[],
  secrets: readonly string[],
  content: SignedContent,
): boolean {
  let matched = false;
  const done: SignatureKind[] = [];
  for (const { kind } of candidates) {
    if (done.includes(kind)) continue;
    done.push(kind);
    for (const secret of secrets) {
      const key = decodeKey(secret, kind.key);
      if (key === undefined || key.length === 0) continue;
      const matches = matcher(kind.algorithm, key, content);
      for (const candidate of candidates) if (candidate.kind === kind && matches(candidate.bytes)) matched = true;
    }
  }
  return matched;
}

const DIGESTS = { "hmac-sha1": "sha1", "hmac-sha256": "sha256", "hmac-sha512": "sha512" } as const;

type Matcher = (signature: Uint8Array) => boolean;

function matcher(algorithm: Algorithm, key: string | Uint8Array, content: SignedContent): Matcher {
  if (algorithm === "ed25519") return ed25519Matcher(typeof key === "string" ? Buffer.from(key) : key, content);
  // A quarter faster than createHmac of node:crypto for a body of 2 KB.
  const hasher = new Bun.CryptoHasher(DIGESTS[algorithm], key);
  for (const piece of content) hasher.update(piece);
  const mac = hasher.digest();
  return (signature) => sameBytes(mac, signature);
}

function ed25519Matcher(key: Uint8Array, content: SignedContent): Matcher {
  const publicKey = ed25519Key(key);
  if (!publicKey) return () => false;
  const message = Buffer.concat(content.map((piece) => (typeof piece === "string" ? Buffer.from(piece) : piece)));
  return (signature) => signature.length === 64 && verifySignature(null, message, publicKey, signature);
}
