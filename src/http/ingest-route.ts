import { isProblem, Problem } from "../kernel/problems.ts";
import { type IngestDeps, ingest } from "../webhook/index.ts";
import { type Exchange, jsonText, readBody } from "./exchange.ts";
import { queryTextOf } from "./target.ts";

/** `POST` or `PUT /in/{token}`: a provider's transmission. */
export async function ingestRoute(
  deps: IngestDeps,
  request: Request,
  token: string | null | undefined,
  exchange: Exchange,
): Promise<Response | Problem> {
  // Elysia has none where the path's percent-encoding is broken.
  if (!token) return new Problem("NOT_FOUND", "there is nothing at this path; see /docs");
  const accepted = await ingest(deps, {
    method: request.method,
    token,
    headers: request.headers.toJSON(),
    query: queryTextOf(request.url),
    remoteAddress: exchange.remoteAddress,
    readBody: (maxBytes) => readBody(request, maxBytes, "http.max_body_bytes"),
  });
  if (isProblem(accepted)) return accepted;
  return jsonText(200, `{"id":"${accepted.id}","duplicate":${accepted.duplicate}}`);
}
