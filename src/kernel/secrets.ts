import { createCipheriv, createDecipheriv, randomBytes, timingSafeEqual } from "node:crypto";
import { hkdf } from "@noble/hashes/hkdf.js";
import { sha256 } from "@noble/hashes/sha2.js";

/** SHA-256 of bytes or of a text's UTF-8. */
export function sha256Of(data: Uint8Array | string): Uint8Array {
  return Bun.SHA256.hash(data, new Uint8Array(32)) as Uint8Array;
}

/** True if both hold the same bytes; takes the same time wherever they differ. Unequal lengths are unequal. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

/** A fresh random token of `bytes` bytes (at least 16) in base64url. */
export function randomToken(bytes: number): string {
  return randomBytes(bytes).toString("base64url");
}

const NONCE = 12;
const TAG = 16;

/**
 * What is derived from the master key of the data folder: sealing of secrets at rest (AES-256-GCM, a random 96-bit
 * nonce in front, the purpose bound as associated data) and keys for signing links. Each purpose has a key of its own (HKDF, RFC 5869).
 */
export class Vault {
  readonly #master: Uint8Array;
  readonly #keys = new Map<string, Uint8Array>();

  /** `master` is 32 random bytes. */
  constructor(master: Uint8Array) {
    if (master.length !== 32) throw new Error("the master key must be 32 bytes");
    this.#master = master;
  }

  /** 32 bytes for one purpose, the same every time. */
  keyFor(purpose: string): Uint8Array {
    let key = this.#keys.get(purpose);
    if (!key) {
      key = hkdf(sha256, this.#master, undefined, new TextEncoder().encode(`postern.v1.${purpose}`), 32);
      this.#keys.set(purpose, key);
    }
    return key;
  }

  /** Encrypts a text for one purpose. */
  seal(purpose: string, text: string): Uint8Array {
    const nonce = randomBytes(NONCE);
    const cipher = createCipheriv("aes-256-gcm", this.keyFor(`seal.${purpose}`), nonce);
    cipher.setAAD(Buffer.from(purpose));
    return Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
  }

  /** The sealed text, or undefined if it was sealed for another purpose, under another master key, or altered. */
  open(purpose: string, sealed: Uint8Array): string | undefined {
    if (sealed.length < NONCE + TAG) return undefined;
    const decipher = createDecipheriv("aes-256-gcm", this.keyFor(`seal.${purpose}`), sealed.subarray(0, NONCE));
    decipher.setAAD(Buffer.from(purpose));
    decipher.setAuthTag(sealed.subarray(sealed.length - TAG));
    try {
      const text = decipher.update(sealed.subarray(NONCE, sealed.length - TAG));
      return Buffer.concat([text, decipher.final()]).toString("utf8");
    } catch {
      // An authentication failure is the only error here, and it is this function's answer.
      return undefined;
    }
  }
}
