import { isIP } from "node:net";
import { DOMAIN } from "./fields.ts";
import type { HostPort, NotAnAddress } from "./listen.ts";

/** The server for outgoing mail. `tls`: `implicit` from the first byte (RFC 8314), `starttls` after the greeting. */
export type Relay = HostPort & { tls: "implicit" | "starttls"; user?: string; password?: string };

/**
 * Parses `smtp://[user:password@]host[:port]`, `smtps://…` or `host:port`. Ports: 587 and 465 where none is given.
 * A user and password are percent-encoded.
 */
export function parseRelay(text: string): Relay | NotAnAddress {
  const wrong = "must be a mail server such as smtp://mail.example.org:587, smtps://mail.example.org:465 or host:port";
  const parts = /^(?:(smtps?):\/\/)?(?:([^@/?#]*)@)?(?:\[([^\]]+)\]|([^:@/[\]]+))(?::(\d{1,5}))?\/?$/i.exec(text);
  if (!parts) return { wrong };
  const [, scheme, userinfo, v6, name, digits] = parts;
  const host = v6 ?? name ?? "";
  if (v6 === undefined ? !DOMAIN.test(host) : isIP(v6) !== 6) return { wrong };
  if (scheme === undefined && digits === undefined) return { wrong };
  const tls = scheme?.toLowerCase() === "smtps" ? "implicit" : "starttls";
  const port = digits === undefined ? (tls === "implicit" ? 465 : 587) : Number(digits);
  if (port < 1 || port > 65_535) return { wrong: "must have a port from 1 to 65535" };
  if (userinfo === undefined) return { host, port, tls };
  const login = decodeLogin(userinfo);
  return login ? { host, port, tls, ...login } : { wrong: "must have user:password, percent-encoded, before the @" };
}

function decodeLogin(userinfo: string): { user: string; password: string } | undefined {
  const colon = userinfo.indexOf(":");
  if (colon <= 0) return undefined;
  try {
    return {
      user: decodeURIComponent(userinfo.slice(0, colon)),
      password: decodeURIComponent(userinfo.slice(colon + 1)),
    };
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}
