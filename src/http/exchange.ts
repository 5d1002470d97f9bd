import type { Server } from "bun";
import { encodeJson } from "../kernel/json.ts";
import { Problem } from "../kernel/problems.ts";

/** Which listener a request came in by: the network, where a key is needed, or the operator's socket. */
export type Door = "network" | "socket";

/** What is known of a request beside itself. */
export type Exchange = {
  id: string;
  door: Door;
  /** The client's address, asked for only where it is told: the runtime makes it anew each time. */
  remoteAddress: () => string;
  /** Its own listener, to free a long wait from the idle time-out. */
  server: Server<unknown>;
};

const exchanges = new WeakMap<Request, Exchange>();

export function attachExchange(request: Request, exchange: Exchange): void {
  exchanges.set(request, exchange);
}

export function exchangeOf(request: Request): Exchange {
  const exchange = exchanges.get(request);
  if (!exchange) throw new Error("the request came in by no listener of ours");
  return exchange;
}

const SAFE_HEADERS = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

/** Made once: an answer copies it in half the time that it takes to make another of an object. */
const JSON_HEADERS = new Headers({ "content-type": "application/json", ...SAFE_HEADERS });

/** A JSON answer; `RawJson` inside goes out as it is. */
export function jsonAnswer(status: number, body: unknown): Response {
  return new Response(encodeJson(body), { status, headers: JSON_HEADERS });
}

/** A JSON answer whose text is there already. */
export function jsonText(status: number, text: string): Response {
  return new Response(text, { status, headers: JSON_HEADERS });
}

/** An `application/problem+json` answer (RFC 9457). */
export function problemAnswer(problem: Problem): Response {
  return new Response(JSON.stringify(problem), {
    status: problem.status,
    headers: { ...SAFE_HEADERS, "content-type": "application/problem+json", ...problem.headers },
  });
}

/**
 * Reads a body of at most `maxBytes`, sent whole or in chunks; no further than needed to know that it is too large.
 * `setting` names what the limit comes from, if the operator can change it.
 */
export async function readBody(request: Request, maxBytes: number, setting?: string): Promise<Uint8Array | Problem> {
  const announced = request.headers.get("content-length");
  if (announced !== null && Number(announced) > maxBytes) return tooLarge(maxBytes, setting);
  if (announced !== null || request.body === null) return new Uint8Array(await request.arrayBuffer());
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = request.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return Buffer.concat(chunks, size);
    size += value.length;
    if (size > maxBytes) {
      await reader.cancel();
      return tooLarge(maxBytes, setting);
    }
    chunks.push(value);
  }
}

function tooLarge(maxBytes: number, setting: string | undefined): Problem {
  const from = setting === undefined ? "" : `; the operator's limit is ${setting}`;
  return new Problem("PAYLOAD_TOO_LARGE", `the body is over ${maxBytes} bytes${from}`);
}
