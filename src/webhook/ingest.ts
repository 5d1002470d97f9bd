import type { Clock } from "../kernel/clock.ts";
import { isProblem, Problem } from "../kernel/problems.ts";
import type { BlobStore } from "../store/blobs.ts";
import type { Accepted, EventStore } from "../store/store.ts";
import type { NewEvent } from "../store/types.ts";
import { type Classified, classify } from "./classify.ts";
import { decodeBody } from "./content-encoding.ts";
import type { Rejections } from "./rejections.ts";
import { verify } from "./signatures/verify.ts";
import { liveSecrets } from "./source-secrets.ts";
import type { Source, Sources } from "./sources.ts";
import { headerOf, type Transmission } from "./transmission.ts";

/** An event that has passed through Postern more often than this is going in circles (contract, section 3). */
const MAX_HOPS = 5;

/** A paused source asks its provider to come again in so many seconds. */
const PAUSED_RETRY_SECONDS = "60";

/** A transmission as the HTTP door knows it before its body is read. */
export type Arrival = {
  method: string;
  token: string;
  headers: Readonly<Record<string, string>>;
  query: string;
  /** Asked for only where the transmission is refused. */
  remoteAddress: () => string;
  /** Reads the body, at most `maxBytes` of it; `PAYLOAD_TOO_LARGE` where there is more. */
  readBody: (maxBytes: number) => Promise<Uint8Array | Problem>;
};

export type IngestDeps = {
  sources: Sources;
  events: Pick<EventStore, "accept">;
  blobs: BlobStore;
  rejections: Rejections;
  clock: Clock;
  maxBodyBytes: number;
  /** Counted up: what became of the transmissions. */
  counters: { accepted: number; duplicates: number; rejected: number };
};

/**
 * The way in of a webhook: find the source, read, verify over the exact bytes, decode, classify, accept.
 * It answers once the event is durable. Everything refused is noted with the source, and changes nothing else.
 */
export async function ingest(deps: IngestDeps, arrival: Arrival): Promise<Accepted | Problem> {
  const source = deps.sources.byToken(arrival.token);
  if (!source) return unknownUrl();
  let size = announcedSize(arrival);
  const answer = await take(deps, source, arrival, (bytes) => {
    size = bytes;
  });
  if (isProblem(answer)) {
    deps.counters.rejected++;
    deps.rejections.note(source, answer, size, arrival.remoteAddress());
  } else if (answer.duplicate) deps.counters.duplicates++;
  else deps.counters.accepted++;
  return answer;
}

async function take(
  deps: IngestDeps,
  found: Source,
  arrival: Arrival,
  read: (bytes: number) => void,
): Promise<Accepted | Problem> {
  const early = refusedUnread(found, arrival);
  if (early) return early;
  // A GET's query is its body: it is what a signature has to cover.
  const isQuery = arrival.method === "GET";
  const body = isQuery ? Buffer.from(arrival.query) : await arrival.readBody(deps.maxBodyBytes);
  if (isProblem(body)) return body;
  read(body.length);
  // The source may have been paused, changed or closed while the body was still coming in.
  const source = deps.sources.byToken(arrival.token);
  if (!source) return unknownUrl();
  const late = refusedUnread(source, arrival);
  if (late) return late;
  const transmission = { method: arrival.method, headers: arrival.headers, query: arrival.query, body };
  const refused = authenticate(source, transmission, deps.clock.wall()) ?? limited(source);
  if (refused) return refused;
  const { provider, scheme, settings } = source;
  const decoding = decodeBody(body, headerOf(arrival.headers, "content-encoding") ?? null, deps.maxBodyBytes);
  const decoded = decoding instanceof Promise ? await decoding : decoding;
  if (isProblem(decoded)) return decoded;
  const verified = provider.verifies;
  return store(
    deps,
    source,
    verified,
    classify({ provider, scheme, settings, transmission, decoded, verified }),
    decoded,
  );
}

function unknownUrl(): Problem {
  return new Problem("NOT_FOUND", "no source has this ingest URL; it may have been rotated");
}

function announcedSize({ headers }: Arrival): number {
  const length = Number(headerOf(headers, "content-length") ?? 0);
  return Number.isSafeInteger(length) && length >= 0 ? length : 0;
}

/** What is refused without reading the body. */
function refusedUnread(source: Source, { method, headers }: Arrival): Problem | undefined {
  if (method === "GET" ? !source.settings.allow_get : method !== "POST" && method !== "PUT") {
    const allow = source.settings.allow_get ? "GET, POST, PUT" : "POST, PUT";
    return new Problem("METHOD_NOT_ALLOWED", `send the event with ${allow}`, { headers: { allow } });
  }
  // A proxy may have joined several of the header with commas.
  const hops = headerOf(headers, "postern-hops")?.split(",") ?? [];
  if (hops.some((count) => Number(count) > MAX_HOPS)) {
    return new Problem(
      "LOOP_DETECTED",
      `it has passed through Postern more than ${MAX_HOPS} times: a route leads back to its source`,
    );
  }
  if (!source.record.paused) return undefined;
  return new Problem("SOURCE_PAUSED", `\`postern sources resume ${source.record.id}\` opens it again`, {
    headers: { "retry-after": PAUSED_RETRY_SECONDS },
  });
}

function authenticate(source: Source, transmission: Transmission, wallNow: number): Problem | undefined {
  if (source.scheme === null) return undefined;
  const secrets = liveSecrets(source, wallNow);
  if (secrets.length === 0) {
    return new Problem(
      "SIGNATURE_INVALID",
      "the source has no secret yet: set it with `postern sources rotate-secret`",
    );
  }
  const verdict = verify(source.scheme, secrets, transmission, wallNow);
  return verdict.ok ? undefined : new Problem("SIGNATURE_INVALID", verdict.reason);
}

function limited(source: Source): Problem | undefined {
  const seconds = source.limiter?.take() ?? 0;
  if (seconds === 0) return undefined;
  return new Problem("RATE_LIMITED", "the source's rate limit is reached", {
    headers: { "retry-after": String(seconds) },
  });
}

async function store(
  deps: IngestDeps,
  source: Source,
  verified: boolean,
  classified: Classified,
  decoded: Uint8Array,
): Promise<Accepted | Problem> {
  const { project, name, num } = source.record;
  const { type, payload, headers, contentType, dedup } = classified;
  const event: NewEvent = {
    project,
    source: name,
    channel: "webhook",
    type,
    verified,
    headers: JSON.stringify(headers),
    payload: payload.json,
    blob: null,
    ...(dedup ? { dedup: { sourceNum: num, key: dedup.key, bodyHash: dedup.bodyHash, ttlMs: dedup.ttlMs } } : {}),
  };
  if (payload.json !== null) return deps.events.accept(event);
  const key = await deps.blobs.put(decoded);
  if (isProblem(key)) return key;
  const accepted = await deps.events.accept({ ...event, blob: { key, size: decoded.length, contentType } });
  // The blob of a duplicate, or of an event that was not stored, is nobody's.
  if (isProblem(accepted) || accepted.duplicate) await deps.blobs.delete([key]);
  return accepted;
}
