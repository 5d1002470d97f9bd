import { isIP } from "node:net";
import type { HostPort, NotAnAddress } from "./listen.ts";

/** Parses the address of a name server: `192.0.2.1`, `192.0.2.1:5353`, `2001:db8::1`, `[2001:db8::1]:5353`. The port is 53 otherwise. */
export function parseServer(text: string): HostPort | NotAnAddress {
  const wrong = "must be the IP address of a name server, with a port where it isn't 53: 127.0.0.1:5353 or [::1]:5353";
  if (isIP(text) !== 0) return { host: text, port: 53 };
  const parts = /^(?:\[([^\]]+)\]|([0-9.]+))(?::(\d{1,5}))?$/.exec(text);
  if (!parts) return { wrong };
  const [, v6, v4, digits] = parts;
  const port = digits === undefined ? 53 : Number(digits);
  const host = v6 ?? v4 ?? "";
  if (isIP(host) !== (v6 === undefined ? 4 : 6)) return { wrong };
  if (port < 1 || port > 65_535) return { wrong: "must have a port from 1 to 65535" };
  return { host, port };
}
