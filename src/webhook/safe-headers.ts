import type { Transmission } from "./transmission.ts";

/** Headers that belong to one connection (RFC 9110 section 7.6.1, and those of RFC 2616 section 13.5.1). */
const HOP_BY_HOP = [
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

/** `proxy-authorization` and `authorization` are caught by `auth`. */
const CREDENTIAL = /signature|secret|token|password|credential|hmac|auth|session|jwt|api-?key|^cookie$|-key$/;
const NO_CREDENTIAL = new Set(["idempotency-key"]);

/** True for a lower-case header name under which a credential or a signature may stand: its value is never stored. */
export function isCredentialHeader(name: string): boolean {
  return CREDENTIAL.test(name) && !NO_CREDENTIAL.has(name);
}

const hopByHop = new Set(HOP_BY_HOP);

/** Providers send the same names over and over; a sender of ever new ones only loses the shortcut. */
const MAX_REMEMBERED = 1024;
const remembered = new Map<string, boolean>();

function isDropped(name: string): boolean {
  let dropped = remembered.get(name);
  if (dropped === undefined) {
    dropped = hopByHop.has(name) || isCredentialHeader(name);
    if (remembered.size < MAX_REMEMBERED) remembered.set(name, dropped);
  }
  return dropped;
}

/**
 * The headers that an event keeps, by lower-case name: all but those of the connection (also those that `Connection`
 * names), credentials and signatures, and `secretHeaders`, from which the source's scheme reads a secret or signature.
 * The record has no prototype, so a header named `__proto__` is a member like any other.
 */
export function safeHeaders(
  headers: Transmission["headers"],
  secretHeaders: readonly string[],
): Record<string, string> {
  const safe: Record<string, string> = Object.create(null);
  const { connection } = headers;
  const named =
    connection === undefined
      ? []
      : connection
          .toLowerCase()
          .split(",")
          .map((name) => name.trim());
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || isDropped(name) || secretHeaders.includes(name) || named.includes(name)) continue;
    safe[name] = value;
  }
  return safe;
}
