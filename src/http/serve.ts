import { chmodSync, existsSync, unlinkSync } from "node:fs";
import type { Server } from "bun";
import type { Log } from "../kernel/log.ts";
import { Problem } from "../kernel/problems.ts";
import { randomToken } from "../kernel/secrets.ts";
import { attachExchange, type Door, problemAnswer } from "./exchange.ts";
import { pathOf } from "./target.ts";

export type Listening = { server: Server<unknown>; url: string; port: number };
export type Fetch = (request: Request) => Response | Promise<Response>;
export type ServeDeps = {
  fetch: Fetch;
  log: Log;
  /** True where the address is a reverse proxy's whose forwarded headers are believed. */
  trustsProxy: (address: string) => boolean;
};

/** A silent connection is cut after this many seconds; routes that wait free themselves of it. */
const IDLE_SECONDS = 60;

/** Bun's own limit would answer 413 without a reason and before our routes; they hold to theirs while reading. */
const NO_BODY_LIMIT = Number.MAX_SAFE_INTEGER;

/**
 * Listens on the network, with TLS where a certificate is given. Port 0 takes a free one. `beside`: on a port that this
 * process listens on already, to take over from that listener. Throws where the port is another's.
 */
export function listen(
  deps: ServeDeps,
  address: { host: string; port: number },
  tls: { cert: string; key: string } | null,
  beside?: "beside",
): Listening {
  // A listener that may be joined may be joined by any process of this user: so first it is asked for alone.
  const port = tls && !beside ? alone(address) : address.port;
  const server = Bun.serve({
    hostname: address.host,
    port,
    idleTimeout: IDLE_SECONDS,
    maxRequestBodySize: NO_BODY_LIMIT,
    reusePort: tls !== null,
    ...(tls ? { tls } : {}),
    fetch: (request, own) => handle(deps, "network", request, own),
    error: (error) => broken(deps.log, error),
  });
  const host = address.host.includes(":") ? `[${address.host}]` : address.host;
  const bound = server.port ?? port;
  return { server, url: `${tls ? "https" : "http"}://${host}:${bound}`, port: bound };
}

/** Takes the port for a moment with no one beside; answers its number. */
function alone({ host, port }: { host: string; port: number }): number {
  const probe = Bun.listen({ hostname: host, port, exclusive: true, socket: { data() {} } });
  const taken = probe.port;
  probe.stop(true);
  return taken;
}

/** Listens on the operator's socket: only who may open the file reaches it. Its folder must be closed to others. */
export function listenSocket(deps: ServeDeps, path: string): Server<unknown> {
  if (existsSync(path)) unlinkSync(path);
  const server = Bun.serve({
    unix: path,
    maxRequestBodySize: NO_BODY_LIMIT,
    fetch: (request: Request, own: Server<unknown>) => handle(deps, "socket", request, own),
    error: (error: Error) => broken(deps.log, error),
  });
  chmodSync(path, 0o600);
  return server;
}

function broken(log: Log, error: Error): Response {
  log.error("a request failed outside its route", { error: error.message });
  return new Response(null, { status: 500 });
}

/** Ids are told apart by this process's random beginning and a count; they are no secret. */
const run = randomToken(6);
let count = 0;

async function handle(deps: ServeDeps, door: Door, request: Request, server: Server<unknown>): Promise<Response> {
  const id = `req-${run}-${(++count).toString(36)}`;
  const started = performance.now();
  const remoteAddress = () => (door === "socket" ? "socket" : addressOf(deps, request, server));
  attachExchange(request, { id, door, remoteAddress, server });
  const response = hasNoHost(request) ? problemAnswer(NO_HOST) : await deps.fetch(request);
  response.headers.set("postern-request-id", id);
  const level = response.status >= 500 ? "warn" : response.status >= 400 ? "info" : "debug";
  if (deps.log.enabled(level)) {
    const ms = Math.round((performance.now() - started) * 10) / 10;
    const fields = { status: response.status, ms, request_id: id, remote: remoteAddress() };
    deps.log[level](`${request.method} ${loggedPath(request.url)}`, fields);
  }
  return response;
}

const NO_HOST = new Problem("HOST_INVALID", "the Host header names no host, such as `localhost:8484` (RFC 9112, 3.2)");

/** Where a Host header is no host, the runtime gives the target alone for a URL, in which no route is found. */
function hasNoHost(request: Request): boolean {
  return request.url.startsWith("/") && request.headers.has("host");
}

/** The client's address; behind a trusted proxy the last one in X-Forwarded-For that is not itself a trusted proxy. */
function addressOf(deps: ServeDeps, request: Request, server: Server<unknown>): string {
  const peer = server.requestIP(request)?.address ?? "";
  const forwarded = request.headers.get("x-forwarded-for");
  if (forwarded === null || !deps.trustsProxy(peer)) return peer;
  const chain = forwarded
    .slice(-1000)
    .split(",")
    .map((part) => part.trim());
  return chain.findLast((address) => address !== "" && !deps.trustsProxy(address))?.slice(0, 64) ?? peer;
}

/** Short words, our ids, and UUIDs. A token of an ingest URL or a key is longer, however its path is misspelled. */
const LOGGED_SEGMENT = /^(?:[\w.~-]{0,24}|[a-z]{3}_[0-9a-z]{26}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;

/** The path for the log: an ingest token is a secret, and so is the query of a signed link. */
function loggedPath(url: string): string {
  const path = pathOf(url).slice(0, 200);
  if (/^\/+in\//i.test(path)) return "/in/…";
  return path
    .split("/")
    .map((segment) => (LOGGED_SEGMENT.test(segment) ? segment : "…"))
    .join("/");
}
