import { parseId } from "../kernel/ids.ts";
import { isProblem, Problem } from "../kernel/problems.ts";
import { payloadPath, type Services } from "../operations/index.ts";
import { queryOf } from "./target.ts";

/** `GET /v1/events/{id}/payload?expires=…&signature=…`: a body that lies apart, to whoever holds a fresh link. */
export async function payloadRoute(services: Services, request: Request, idText: string): Promise<Response | Problem> {
  const id = parseId("evt", idText);
  if (!id) return gone();
  const refused = services.links.refusal(payloadPath(id), queryOf(request.url));
  if (refused) return refused;
  const event = await services.store.events.find(id);
  const blob = event?.blob && (await services.blobs.open(event.blob.key));
  if (!event?.blob || !blob) return gone();
  const headers = {
    "content-type": event.blob.contentType,
    "content-disposition": "attachment",
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; sandbox",
    "cache-control": "private, no-store",
    "accept-ranges": "bytes",
  };
  const range = rangeOf(request.headers.get("range"), blob.size);
  if (isProblem(range)) return range;
  if (!range) return new Response(blob, { headers });
  const [from, to] = range;
  return new Response(blob.slice(from, to + 1), {
    status: 206,
    headers: { ...headers, "content-range": `bytes ${from}-${to}/${blob.size}` },
  });
}

function gone(): Problem {
  return new Problem("NOT_FOUND", "the content is not there; it may have been purged");
}

/**
 * One byte range (RFC 9110 section 14.2), both ends included; undefined for the whole. A header of another form, or
 * with several ranges, is ignored, as the RFC allows.
 */
function rangeOf(header: string | null, size: number): [number, number] | undefined | Problem {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? "");
  if (!match || (match[1] === "" && match[2] === "")) return undefined;
  const [from, to] =
    match[1] === ""
      ? [Math.max(0, size - Number(match[2])), size - 1]
      : [Number(match[1]), Math.min(match[2] === "" ? size - 1 : Number(match[2]), size - 1)];
  if (from <= to) return [from, to];
  return new Problem("RANGE_INVALID", `the content has ${size} bytes`, {
    headers: { "content-range": `bytes */${size}` },
  });
}
