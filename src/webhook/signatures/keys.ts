import { createPublicKey, type KeyObject } from "node:crypto";

/**
 * How a secret's text stands for its key: as its UTF-8 bytes, in hex, or in base64 after a prefix (which may be left
 * out unless `prefixRequired`).
 */
export type KeyCoding =
  | { readonly coding: "utf8" }
  | { readonly coding: "hex" }
  | { readonly coding: "base64"; readonly prefix: string; readonly prefixRequired: boolean };

const HEX = /^(?:[0-9a-fA-F]{2})+$/;
const BASE64_ALPHABET = /^[A-Za-z0-9+/]+={0,2}$/;

/**
 * A secret's key, or undefined where it is empty or not written in this coding. Secrets are people's input, so missing
 * padding is forgiven, as the Standard Webhooks libraries for Python and Rust forgive it.
 */
export function decodeKey(secret: string, coding: KeyCoding): string | Uint8Array | undefined {
  if (secret === "") return undefined;
  if (coding.coding === "utf8") return secret;
  if (coding.coding === "hex") return HEX.test(secret) ? Buffer.from(secret, "hex") : undefined;
  const prefixed = secret.startsWith(coding.prefix);
  if (!prefixed && coding.prefixRequired) return undefined;
  const text = prefixed ? secret.slice(coding.prefix.length) : secret;
  if (!BASE64_ALPHABET.test(text) || text.replace(/=+$/, "").length % 4 === 1) return undefined;
  return Buffer.from(text, "base64");
}

/** The DER form of an Ed25519 public key up to the 32 bytes of the key itself (RFC 8410 section 4). */
const ED25519_DER = Buffer.from("302a300506032b6570032100", "hex");

/** An Ed25519 public key from its 32 bytes; undefined for another length. */
export function ed25519Key(bytes: Uint8Array): KeyObject | undefined {
  if (bytes.length !== 32) return undefined;
  return createPublicKey({ key: Buffer.concat([ED25519_DER, bytes]), format: "der", type: "spki" });
}
