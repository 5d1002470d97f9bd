import { randomBytes } from "node:crypto";
import type { FieldError } from "../../kernel/problems.ts";
import { randomToken } from "../../kernel/secrets.ts";
import { decodeKey, type KeyCoding } from "../signatures/keys.ts";
import type { SecretRule } from "./provider.ts";

/** Longer than any provider's; a bound for what is kept and hashed. */
const MAX_SECRET = 1024;

/** 256 bits, as long as the hash: RFC 2104 section 3 asks for no less and gains from no more. */
const SECRET_BYTES = 32;

const CONTROL = /\p{Cc}/u;

/** A secret whose text itself is the key: made by Postern unless given. */
export const TEXT_SECRET: SecretRule = {
  origin: "postern",
  prefix: null,
  generate: () => randomToken(SECRET_BYTES),
  validate: textError,
};

/** A secret that only the provider makes; its whole text is the key, the prefix included. */
export function providerSecret(prefix: string | null): SecretRule {
  return { origin: "provider", prefix, generate: null, validate: textError };
}

/** A secret in base64 after a prefix (Standard Webhooks), or a public key of `publicKey`'s coding. */
export function base64Secret(
  key: KeyCoding & { coding: "base64" },
  publicKey: KeyCoding & { coding: "base64" },
): SecretRule {
  return {
    origin: "postern",
    prefix: key.prefix,
    generate: () => key.prefix + randomBytes(SECRET_BYTES).toString("base64"),
    validate(secret) {
      const error = textError(secret);
      if (error) return error;
      const isPublic = secret.startsWith(publicKey.prefix);
      const bytes = decodeKey(secret, isPublic ? publicKey : key);
      if (bytes === undefined) return wrong(`must be base64, as the provider shows it: ${key.prefix}…`);
      if (isPublic && bytes.length !== 32) return wrong(`must hold 32 bytes after ${publicKey.prefix}`);
      return null;
    },
  };
}

/** A source without a secret. */
export const NO_SECRET: SecretRule = {
  origin: "none",
  prefix: null,
  generate: null,
  validate: () => wrong("a source of this kind has no secret"),
};

/** A line break or another control character comes from careless copying, and every check later on would fail. */
function textError(secret: string): FieldError | null {
  if (secret.trim() === "") return wrong("must not be empty");
  if (secret.length > MAX_SECRET) return wrong(`must be at most ${MAX_SECRET} characters`);
  if (CONTROL.test(secret)) return wrong("must hold no control characters, such as a line break at its end");
  return null;
}

function wrong(message: string): FieldError {
  return { path: "secret", message };
}
