import { z } from "zod";
import { PROBLEMS, type ProblemCode } from "../kernel/problems.ts";
import { VERSION } from "../kernel/version.ts";
import { OPERATIONS, type Operation, routeOf } from "../operations/index.ts";

type Json = Record<string, unknown>;

const PROBLEM_SCHEMA = {
  type: "object",
  required: ["type", "title", "status", "detail", "code"],
  properties: {
    type: { type: "string" },
    title: { type: "string" },
    status: { type: "integer" },
    detail: { type: "string" },
    code: { type: "string", enum: Object.keys(PROBLEMS) },
    errors: {
      type: "array",
      items: { type: "object", properties: { path: { type: "string" }, message: { type: "string" } } },
    },
  },
};

/** The reference as an OpenAPI 3.1 document, made from the operations. */
export function openApi(): Json {
  const registry = new Map<string, Json>();
  const paths: Record<string, Json> = {};
  for (const op of OPERATIONS) {
    const { method, path } = routeOf(op);
    const key = path.replaceAll(/:([a-z_]+)/g, "{$1}");
    paths[key] = { ...paths[key], [method.toLowerCase()]: operationObject(op, registry) };
  }
  Object.assign(paths, OTHER_PATHS);
  return {
    openapi: "3.1.0",
    info: {
      title: "Postern",
      version: VERSION,
      description:
        "The guarded gate between the world and people's agents. Times are RFC 3339 UTC; ids are TypeIDs and may be given as UUIDs.",
      license: { name: "MIT", identifier: "MIT" },
    },
    security: [{ key: [] }],
    paths,
    components: {
      securitySchemes: { key: { type: "http", scheme: "bearer", description: "An API key, `pst_…`" } },
      schemas: { ...Object.fromEntries(registry), Problem: PROBLEM_SCHEMA },
    },
  };
}

function operationObject(op: Operation, registry: Map<string, Json>): Json {
  const { method, params } = routeOf(op);
  const input = schemaOf(op.input, "input", registry) as { properties?: Record<string, Json>; required?: string[] };
  const fields = Object.entries(input.properties ?? {});
  const inBody = method === "POST" || method === "PATCH";
  const bodyFields = fields.filter(([name]) => inBody && !params.includes(name));
  const required = (input.required ?? []).filter((name) => !params.includes(name));
  const body = {
    type: "object",
    properties: Object.fromEntries(bodyFields),
    additionalProperties: false,
    ...(required.length ? { required } : {}),
  };
  return {
    operationId: op.name,
    summary: op.summary,
    ...(op.description ? { description: op.description } : {}),
    tags: [op.name.split("_")[0] ?? ""],
    ...("scope" in op.access ? { "x-scope": op.access.scope } : {}),
    ...("person" in op.access ? { "x-access": "a person or the operator" } : {}),
    parameters: [
      ...fields
        .filter(([name]) => params.includes(name))
        .map(([name, schema]) => parameter("path", name, schema, true)),
      ...fields
        .filter(([name]) => !inBody && !params.includes(name))
        .map(([name, schema]) => parameter("query", name, schema, required.includes(name))),
      ...(op.creates ? [IDEMPOTENCY_KEY] : []),
      PROJECT,
    ],
    ...(bodyFields.length > 0
      ? { requestBody: { required: required.length > 0, content: { "application/json": { schema: body } } } }
      : {}),
    responses: { ...success(op, registry), default: problemResponse() },
  };
}

function parameter(where: "path" | "query", name: string, schema: Json, required: boolean): Json {
  const { description, ...rest } = schema;
  return { in: where, name, required, ...(description ? { description } : {}), schema: rest };
}

function success(op: Operation, registry: Map<string, Json>): Json {
  if (op.http.startsWith("DELETE")) return { 204: { description: "Done" } };
  const schema = schemaOf(op.output, "output", registry);
  return { [op.creates ? 201 : 200]: { description: op.summary, content: { "application/json": { schema } } } };
}

function problemResponse(): Json {
  return {
    description: "A problem (RFC 9457); `code` is stable",
    content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
  };
}

/** A schema as JSON Schema 2020-12, its named parts moved to the components. */
function schemaOf(schema: z.ZodType, io: "input" | "output", registry: Map<string, Json>): Json {
  const {
    $schema: _,
    $defs,
    ...json
  } = z.toJSONSchema(schema, { io, unrepresentable: "any" }) as Json & { $defs?: Record<string, Json> };
  for (const [name, part] of Object.entries($defs ?? {})) registry.set(name, moved(part) as Json);
  return moved(json) as Json;
}

function moved(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(moved);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === "$ref" && typeof inner === "string" ? inner.replace("#/$defs/", "#/components/schemas/") : moved(inner),
    ]),
  );
}

const IDEMPOTENCY_KEY = {
  in: "header",
  name: "Idempotency-Key",
  required: false,
  description: "24 hours: the same key and body get the first answer again, a secret left out",
  schema: { type: "string", maxLength: 255 },
};

const PROJECT = {
  in: "query",
  name: "project",
  required: false,
  description: "For a person or the operator: the project's id or slug; `default` otherwise",
  schema: { type: "string" },
};

const plain = (summary: string, more: { security?: unknown[]; parameters?: unknown[]; content?: string } = {}) => ({
  get: {
    summary,
    security: more.security ?? [],
    ...(more.parameters ? { parameters: more.parameters } : {}),
    responses: {
      200: { description: summary, ...(more.content ? { content: { [more.content]: {} } } : {}) },
      default: problemResponse(),
    },
  },
});

const text = (where: "path" | "query" | "header", name: string, description: string) => ({
  in: where,
  name,
  required: where === "path",
  description,
  schema: { type: "string" },
});

const transmission = (summary: string, operationId: string) => ({
  summary,
  operationId,
  security: [],
  parameters: [text("path", "token", "Of the source's `ingest_url`")],
  responses: {
    200: {
      description: "Durable; `duplicate` tells that it had come before",
      content: {
        "application/json": {
          schema: {
            type: "object",
            required: ["id", "duplicate"],
            properties: { id: { type: "string" }, duplicate: { type: "boolean" } },
          },
        },
      },
    },
    default: problemResponse(),
  },
});

const OTHER_PATHS = {
  "/in/{token}": {
    post: transmission("A provider's transmission; 200 once the event is durable", "ingest"),
    put: transmission("As POST", "ingest_put"),
  },
  "/v1/stream": plain("Server-sent events, one a change: `id:` a cursor, `event: event`, the event as in a list", {
    security: [{ key: [] }],
    parameters: [
      text("header", "Last-Event-ID", "Resumes after this cursor; without it the stream tells what comes"),
      PROJECT,
    ],
    content: "text/event-stream",
  }),
  "/v1/events/{id}/payload": plain("A body stored apart, by a signed link of one hour; takes range requests", {
    parameters: [
      text("path", "id", "The event's id"),
      text("query", "expires", "As in the link"),
      text("query", "signature", "As in the link"),
    ],
  }),
  "/healthz": plain("The process is alive", { content: "application/json" }),
  "/readyz": plain("The store takes writes and the listeners are up", { content: "application/json" }),
  "/metrics": plain("Prometheus metrics", { content: "text/plain" }),
} as const;

/** Every error code with its status and title, for help and docs. */
export function problemTable(): { code: ProblemCode; status: number; title: string }[] {
  return (Object.keys(PROBLEMS) as ProblemCode[]).map((code) => ({
    code,
    status: PROBLEMS[code][0],
    title: PROBLEMS[code][1],
  }));
}
