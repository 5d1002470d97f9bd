import { isIP } from "node:net";
import { canonicalV6, mappedV4 } from "./ip.ts";

/** An address to listen on, or to reach a server at. `host` has no brackets; port 0 lets the system choose. */
export type HostPort = { host: string; port: number };

/** Why a text is not an address: a sentence to put after the key's name. */
export type NotAnAddress = { wrong: string };

/**
 * Parses `host:port` or `[v6]:port`. The host is an IP address or `localhost`, so that what is opened to whom
 * never depends on a name server.
 */
export function parseListen(text: string): HostPort | NotAnAddress {
  const bare = /^(?::|\*:)?(\d+)$/.exec(text);
  if (bare)
    return { wrong: "needs a host before the port, such as 127.0.0.1:8484, or 0.0.0.0:8484 for every interface" };
  if (isIP(text) === 6) return { wrong: "needs a port, with the IPv6 address in brackets: [::1]:8484" };
  const parts = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text);
  if (!parts) return { wrong: "must be host:port, such as 127.0.0.1:8484, localhost:8484 or [::1]:8484" };
  const [, v6, plain, digits] = parts;
  const port = Number(digits);
  if (port > 65_535) return { wrong: "has a port over 65535" };
  if (v6 !== undefined)
    return isIP(v6) === 6 ? { host: v6, port } : { wrong: "must hold an IPv6 address in its brackets" };
  const host = (plain ?? "").toLowerCase();
  if (isIP(host) === 4 || host === "localhost") return { host, port };
  return { wrong: "must begin with an IP address or localhost; other names are not looked up" };
}

/** True where only this machine can reach the host: 127.0.0.0/8, also mapped into IPv6, ::1, and `localhost` (RFC 6761 §6.3). */
export function isLoopback(host: string): boolean {
  if (host.toLowerCase() === "localhost") return true;
  const kind = isIP(host);
  if (kind === 0) return false;
  const v4 = kind === 4 ? host : mappedV4(host);
  return v4 === undefined ? canonicalV6(host) === "::1" : v4.startsWith("127.");
}
