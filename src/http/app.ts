import { Elysia } from "elysia";
import type { Log } from "../kernel/log.ts";
import { isProblem, Problem } from "../kernel/problems.ts";
import { OPERATIONS, routeOf, type Services } from "../operations/index.ts";
import type { IngestDeps } from "../webhook/index.ts";
import { type CallDeps, httpFace } from "./call.ts";
import { docsPage } from "./docs-page.ts";
import { type Exchange, exchangeOf, problemAnswer } from "./exchange.ts";
import { Idempotency } from "./idempotency.ts";
import { ingestRoute } from "./ingest-route.ts";
import { metricsText } from "./metrics.ts";
import { openApi } from "./openapi.ts";
import { payloadRoute } from "./payload-route.ts";
import { streamRoute } from "./stream-route.ts";

export type AppDeps = {
  services: Services;
  ingest: IngestDeps;
  log: Log;
  /** Where answers' links point, known once the listener is up. */
  baseUrl: () => string;
  /** True for a listener with TLS: its requests' URLs begin with `https:`. */
  secure?: boolean;
  /** What keeps the daemon from being ready; empty when it is. */
  notReady: () => Promise<string[]>;
};

type Route = (
  request: Request,
  params: Readonly<Record<string, string>>,
  exchange: Exchange,
) => Promise<Response | Problem> | Response | Problem;

/** All routes of the HTTP door, on Elysia. Bodies are read by the routes themselves: signatures cover the raw bytes. */
export function makeApp(deps: AppDeps): { fetch: (request: Request) => Response | Promise<Response> } {
  const call: CallDeps = {
    services: deps.services,
    idempotency: new Idempotency(deps.services.store),
    baseUrl: deps.baseUrl,
  };
  const routes = new Map<string, Map<string, Route>>();
  const add = (method: string, path: string, route: Route) => {
    routes.set(path, (routes.get(path) ?? new Map<string, Route>()).set(method, route));
  };
  for (const op of OPERATIONS) {
    const { method, path } = routeOf(op);
    add(method, path, httpFace(call, op));
  }
  add("GET", "/v1/events/:id/payload", (request, { id = "" }) => payloadRoute(deps.services, request, id));
  add("GET", "/v1/stream", (request, _, exchange) => streamRoute(deps.services, request, exchange));
  addPages(add, deps);
  // Elysia looks for the path from the URL's 11th character on, which passes by the slash of `http://nas/…`; or else from
  // its 7th, which in `https://…` is the second slash, so that no route is found.
  const app = new Elysia({ precompile: true, handler: { standardHostname: deps.secure ?? false } });
  for (const [path, byMethod] of routes) {
    app.all(path, ({ request, params }) => dispatch(deps.log, byMethod, request, params), { parse: "none" });
  }
  app.all(
    "/in/:token",
    ({ request, params }) =>
      guarded(deps.log, request, (exchange) => ingestRoute(deps.ingest, request, params.token, exchange)),
    {
      parse: "none",
    },
  );
  app.onError(({ request, code, error }) => failed(deps.log, request, code, error));
  // Before `compile`, each reading of `fetch` composes the handler anew.
  const { fetch } = app.compile();
  return { fetch };
}

function addPages(add: (method: string, path: string, route: Route) => void, deps: AppDeps): void {
  let document: string | undefined;
  add("GET", "/healthz", () => Response.json({ status: "alive" }));
  add("GET", "/readyz", async () => {
    const wrong = await deps.notReady();
    return wrong.length === 0
      ? Response.json({ status: "ready" })
      : new Problem("STORAGE_UNAVAILABLE", `not ready: ${wrong.join("; ")}`, { headers: { "retry-after": "5" } });
  });
  add("GET", "/openapi.json", () => {
    document ??= JSON.stringify(openApi());
    return new Response(document, { headers: { "content-type": "application/json" } });
  });
  add("GET", "/docs", () => docsPage());
  add("GET", "/metrics", () => metricsText(deps.services));
}

/** A known path with another method is 405 and says which it takes. HEAD is GET without its body. */
function dispatch(
  log: Log,
  byMethod: ReadonlyMap<string, Route>,
  request: Request,
  params: Readonly<Record<string, string>>,
): Promise<Response> {
  const route = byMethod.get(request.method === "HEAD" ? "GET" : request.method);
  return guarded(log, request, (exchange) => {
    if (route) return route(request, params, exchange);
    const allow = [...byMethod.keys()].join(", ");
    return new Problem("METHOD_NOT_ALLOWED", `this path takes ${allow}`, { headers: { allow } });
  });
}

async function guarded(
  log: Log,
  request: Request,
  handle: (exchange: Exchange) => Promise<Response | Problem> | Response | Problem,
): Promise<Response> {
  try {
    const answer = await handle(exchangeOf(request));
    return isProblem(answer) ? problemAnswer(answer) : answer;
  } catch (error) {
    return failed(log, request, "UNKNOWN", error);
  }
}

/** Nothing of a thrown error reaches the client; the log has it, with the request's id. */
function failed(log: Log, request: Request, code: unknown, error: unknown): Response {
  if (code === "NOT_FOUND") return problemAnswer(new Problem("NOT_FOUND", "there is nothing at this path; see /docs"));
  if (request.signal.aborted) return problemAnswer(new Problem("BODY_UNREADABLE", "the sender went away"));
  const { id } = exchangeOf(request);
  log.error("a request failed by a bug", {
    request_id: id,
    error: error instanceof Error ? (error.stack ?? error.message) : String(error),
  });
  return problemAnswer(new Problem("INTERNAL", `quote request ${id} when you report this`));
}
