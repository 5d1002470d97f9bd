import type { Actor } from "../identity/index.ts";
import type { Id } from "../kernel/ids.ts";
import { nestsDeeper, parseJson } from "../kernel/json.ts";
import { invalid, isProblem, Problem } from "../kernel/problems.ts";
import { checkInput, fromStrings, type Operation, routeOf, type Services } from "../operations/index.ts";
import { authenticate, projectFor, refusedAccess } from "./authenticate.ts";
import { type Exchange, jsonAnswer, readBody } from "./exchange.ts";
import type { Idempotency, Slot } from "./idempotency.ts";
import { pathOf, type Query, queryOf } from "./target.ts";

/** An API body is at most this large, unless the operation says otherwise. */
const API_BODY_BYTES = 1024 * 1024;

/** Nothing that an operation takes is deeper; what checks it walks it by recursion. */
const BODY_DEPTH = 64;

export type CallDeps = { services: Services; idempotency: Idempotency; baseUrl: () => string };
export type Handler = (
  request: Request,
  params: Readonly<Record<string, string>>,
  exchange: Exchange,
) => Promise<Response | Problem>;

/**
 * The HTTP face of an operation. The order of checks is the contract's: 401; 403 (the key's state, who may at all,
 * scope); 400, 413, 422; then what `run` finds: 404, 409.
 */
export function httpFace(deps: CallDeps, op: Operation): Handler {
  const { method, params: pathParams } = routeOf(op);
  const fixed = { op, pathParams, hasBody: method === "POST" || method === "PATCH" };
  return async (request, params, exchange) => {
    const query = queryOf(request.url);
    const authorization = request.headers.get("authorization");
    const before = authorized(deps.services, exchange, authorization, op);
    if (isProblem(before)) return before;
    const body = fixed.hasBody ? await readBody(request, op.maxBodyBytes ?? API_BODY_BYTES) : new Uint8Array();
    if (isProblem(body)) return body;
    // A key may have lost its right while its body was still coming in.
    const actor = fixed.hasBody ? authorized(deps.services, exchange, authorization, op) : before;
    if (isProblem(actor)) return actor;
    const input = inputOf(fixed, params, query, body);
    if (isProblem(input)) return input;
    const project = projectFor(deps.services, actor, query.get("project"));
    if (isProblem(project)) return project;
    const who = { actor, project };
    if (op.waits) exchange.server.timeout(request, 0);
    const run = (slot: Slot | undefined) => answer(deps, op, request.signal, who, input, slot);
    if (!op.creates) return run(undefined);
    const key = request.headers.get("idempotency-key");
    const path = pathOf(request.url);
    const hasSecret = op.creates.secret !== undefined;
    return deps.idempotency.once({ key, ...who, method, path, body, hasSecret }, run);
  };
}

/** Who calls, if it may use the operation at this moment. */
function authorized(
  services: Services,
  { door }: Exchange,
  authorization: string | null,
  op: Operation,
): Actor | Problem {
  const actor = authenticate(services, { door, authorization });
  return isProblem(actor) ? actor : (refusedAccess(actor, op.access) ?? actor);
}

async function answer(
  deps: CallDeps,
  op: Operation,
  signal: AbortSignal,
  who: { actor: Actor; project: Id<"prj"> },
  input: Record<string, unknown>,
  slot: Slot | undefined,
): Promise<Response | Problem> {
  const { services } = deps;
  const context = { ...who, services, signal, baseUrl: deps.baseUrl(), ...(slot ? { remember: slot } : {}) };
  const result = await op.run(context, input);
  if (isProblem(result)) return result;
  if (result === null) return new Response(null, { status: 204 });
  return jsonAnswer(op.creates ? 201 : 200, result);
}

function inputOf(
  { op, pathParams, hasBody }: { op: Operation; pathParams: readonly string[]; hasBody: boolean },
  params: Readonly<Record<string, string>>,
  query: Query,
  body: Uint8Array,
): Record<string, unknown> | Problem {
  const given = hasBody ? bodyOf(body) : fromStrings(op.input, queryFields(query));
  if (isProblem(given)) return given;
  const named = pathParams.find((name) => Object.hasOwn(given, name));
  if (named) return invalid(named, "stands in the path, not in the body");
  const stray = hasBody ? Object.keys(queryFields(query))[0] : undefined;
  if (stray) return invalid(stray.slice(0, 64), "is not read from the query here: put it in the body");
  const checked = checkInput(op.input, { ...given, ...params }, pathParams);
  return isProblem(checked) ? checked : checked.input;
}

/** The query without the project, which names where, not what. */
function queryFields(query: Query): Record<string, string | string[]> {
  const fields: Record<string, string | string[]> = Object.create(null);
  for (const name of new Set(query.keys())) {
    if (name === "project") continue;
    const values = query.getAll(name);
    fields[name] = values.length === 1 ? (values[0] ?? "") : values;
  }
  return fields;
}

/** A JSON object, or nothing at all for none. */
function bodyOf(body: Uint8Array): Record<string, unknown> | Problem {
  if (body.length === 0) return {};
  const text = utf8(body);
  const parsed = text === undefined ? undefined : parseJson(text);
  if (!parsed || text === undefined) return new Problem("INVALID_JSON", "the body must be JSON in UTF-8 (RFC 8259)");
  if (nestsDeeper(text, BODY_DEPTH)) return invalid("", `the body nests deeper than ${BODY_DEPTH} levels`);
  const { value } = parsed;
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    return new Problem("INVALID_REQUEST", "the body must be a JSON object", {
      errors: [{ path: "", message: "must be an object" }],
    });
  }
  return value as Record<string, unknown>;
}

const decoder = new TextDecoder("utf-8", { fatal: true });

function utf8(body: Uint8Array): string | undefined {
  try {
    return decoder.decode(body);
  } catch (error) {
    // Fatal decoding throws a TypeError for bytes that are not UTF-8, and nothing else.
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
