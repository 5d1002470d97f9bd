import { expect } from "bun:test";
import { connect } from "node:net";
import { z } from "zod";
import { type Answer, type Daemon, type DaemonOptions, type RequestOptions, startDaemon } from "../support/daemon.ts";

/** The envelope's members in their order (contract, section 4). */
export const ENVELOPE = [
  "id",
  "project",
  "source",
  "channel",
  "type",
  "received_at",
  "verified",
  "trust",
  "reply_to",
  "headers",
  "payload",
  "payload_url",
  "payload_truncated",
  "payload_purged",
  "html_url",
  "attachments",
  "attachments_blocked",
  "status",
  "attempts",
];

/** An event as answers show it, as far as the tests look into it. */
export type Shown = {
  id: string;
  project: string;
  source: string;
  type: string;
  received_at: string;
  verified: boolean;
  trust: string;
  headers: Record<string, string>;
  payload: unknown;
  payload_url: string | null;
  payload_truncated: boolean;
  payload_purged: boolean;
  status: string;
  attempts: number;
};

export type ClaimShown = { event: Shown; lease: { id: string; expires_at: string } };
export type ProblemShown = {
  code: string;
  status: number;
  detail: string;
  errors?: { path: string; message: string }[];
} & Record<string, unknown>;

export type SourceMade = { id: string; path: string; secret?: string; ingest_url: string };
export type KeyMade = { id: string; key: string };

type Schema = { parse: (value: unknown) => unknown };
type Described = { method: string; pattern: RegExp; status: string; schema: Schema | undefined };

/**
 * A daemon with what tests need to talk to it. Every answer that goes through `call` is held against the contract: it
 * has a request id, a refusal is a problem document, and all else has the shape that `/openapi.json` promises.
 */
export class Bed {
  readonly daemon: Daemon;
  readonly #described: readonly Described[];
  #made = 0;

  constructor(daemon: Daemon, described: readonly Described[]) {
    this.daemon = daemon;
    this.#described = described;
  }

  /** A call over the network with `key`, or as the operator where there is none. */
  async call(method: string, path: string, body?: unknown, options: RequestOptions = {}): Promise<Answer> {
    const how = { ...options, method, ...(body === undefined ? {} : { body }) };
    const network = options.key !== undefined || options.headers?.authorization !== undefined;
    const answer = network ? await this.daemon.api(path, how) : await this.daemon.operator(path, how);
    this.hold(method, path, answer);
    return answer;
  }

  get = (path: string, key?: string) => this.call("GET", path, undefined, { key });
  post = (path: string, body?: unknown, key?: string) => this.call("POST", path, body, { key });
  patch = (path: string, body: unknown, key?: string) => this.call("PATCH", path, body, { key });
  remove = (path: string, key?: string) => this.call("DELETE", path, undefined, { key });

  /** Holds an answer against the contract. */
  hold(method: string, path: string, answer: Answer): void {
    expect(answer.headers.get("postern-request-id")).toMatch(/^\S{8,}$/);
    if (answer.status >= 400) {
      problemOf(answer);
      return;
    }
    const [plain = ""] = path.split("?");
    const known = this.#described.filter((one) => one.method === method && one.pattern.test(plain));
    if (known.length === 0) return;
    const match = known.find(({ status }) => status === String(answer.status));
    if (!match) throw new Error(`${method} ${plain} answered ${answer.status}, which /openapi.json does not say`);
    if (!match.schema) return;
    match.schema.parse(answer.json());
    for (const event of eventsIn(answer.json())) expect(Object.keys(event)).toEqual(ENVELOPE);
  }

  /** A key made by the operator: the preset `agent` by default. */
  async key(wanted: Record<string, unknown> = {}, project = "default"): Promise<KeyMade> {
    const preset = "scopes" in wanted ? {} : { preset: "agent" };
    const body = { name: `key ${++this.#made}`, kind: "application", ...preset, ...wanted };
    const made = await this.post(`/v1/keys?project=${project}`, body);
    expect(made.status).toBe(201);
    return made.json<KeyMade>();
  }

  /** A source made by the operator: unsigned and with a name of its own by default. */
  async source(wanted: Record<string, unknown> = {}, project = "default"): Promise<SourceMade> {
    const body = { name: `source-${++this.#made}`, channel: "webhook", kind: "unsigned", ...wanted };
    const made = await this.post(`/v1/sources?project=${project}`, body);
    if (made.status !== 201) throw new Error(`the source was refused: ${made.text}`);
    const source = made.json<SourceMade>();
    return { ...source, path: new URL(source.ingest_url).pathname };
  }

  /** A transmission to a source. */
  async send(
    to: { path: string },
    body: unknown = { n: ++this.#made },
    headers: Record<string, string> = {},
    method = "POST",
  ): Promise<Answer> {
    const answer = await this.daemon.api(to.path, { method, body, headers });
    this.hold(method, to.path, answer);
    return answer;
  }

  /** A transmission that must be accepted: the event's id. */
  async event(to: { path: string }, body?: unknown, headers?: Record<string, string>): Promise<string> {
    const answer = await this.send(to, body, headers);
    expect(answer.status).toBe(200);
    return answer.json<{ id: string }>().id;
  }

  /** One event as `GET /v1/events/{id}` shows it, with what stands beside. */
  async whole(id: string, query = "") {
    const answer = await this.get(`/v1/events/${id}${query}`);
    expect(answer.status).toBe(200);
    return answer.json<{
      event: Shown;
      lease: { id: string; expires_at: string; held_by: string } | null;
      retry_at: string | null;
      history: ({ at: string; kind: string } & Record<string, unknown>)[];
      deliveries: unknown[];
    }>();
  }

  async claim(id: string, key: string, body: Record<string, unknown> = {}): Promise<ClaimShown> {
    const answer = await this.post(`/v1/events/${id}/claim`, body, key);
    expect(answer.status).toBe(200);
    return answer.json<ClaimShown>();
  }
}

/** Starts a daemon for a file of tests. */
export async function makeBed(options: DaemonOptions = {}): Promise<Bed> {
  const daemon = await startDaemon(options);
  return new Bed(daemon, described((await daemon.api("/openapi.json")).json<OpenApi>()));
}

export type OpenApi = {
  openapi: string;
  paths: Record<string, Record<string, { operationId?: string; responses: Record<string, OpenResponse> }>>;
  components: { schemas: Record<string, object> };
};
type OpenResponse = { content?: Record<string, { schema: object }> };

function described({ paths, components }: OpenApi): Described[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { responses }]) =>
      Object.entries(responses).map(([status, response]) => ({
        method: method.toUpperCase(),
        pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
        status,
        schema: schemaOf(response.content?.["application/json"]?.schema, components.schemas),
      })),
    ),
  );
}

function schemaOf(schema: object | undefined, $defs: Record<string, object>): Schema | undefined {
  if (!schema) return undefined;
  const text = JSON.stringify({ ...schema, $defs }).replaceAll("#/components/schemas/", "#/$defs/");
  return z.fromJSONSchema(JSON.parse(text) as Parameters<typeof z.fromJSONSchema>[0]);
}

/** Every event of an answer, however deep it stands. */
function eventsIn(value: unknown): object[] {
  if (value === null || typeof value !== "object") return [];
  if ("payload_truncated" in value) return [value];
  return Object.values(value).flatMap(eventsIn);
}

/** The problem document of a refusal, held against RFC 9457 and the contract. */
export function problemOf(answer: Answer): ProblemShown {
  expect(answer.headers.get("content-type")).toBe("application/problem+json");
  const problem = answer.json<ProblemShown>();
  expect(problem.status).toBe(answer.status);
  for (const member of ["type", "title", "detail"]) expect(problem[member]).toMatch(/\S/);
  expect(problem.code).toMatch(/^[A-Z][A-Z_]*[A-Z]$/);
  expect(answer.text).not.toMatch(/\\n\s+at |\.ts:\d+|\bSELECT\b|\bINSERT\b|SQLITE_/);
  return problem;
}

/** Expects a refusal of this status and code, and gives its document. */
export function refused(answer: Answer, status: number, code: string): ProblemShown {
  const problem = problemOf(answer);
  expect({ status: answer.status, code: problem.code }).toEqual({ status, code });
  return problem;
}

/** Bytes on a connection of their own, as they are; what came back until the other side closed or `untilMs` passed. */
export async function raw(
  port: number,
  parts: (string | Uint8Array)[],
  options: { untilMs?: number; betweenMs?: number } = {},
): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let answer = "";
  const socket = connect(port, "127.0.0.1");
  const end = () => {
    socket.destroy();
    resolve(answer);
  };
  const timer = setTimeout(end, options.untilMs ?? 3000);
  socket.on("data", (data) => {
    answer += data.toString("latin1");
  });
  // The other side may cut the connection: that is an answer too.
  socket.on("error", end);
  socket.on("close", end);
  for (const part of parts) {
    if (socket.destroyed) break;
    socket.write(part);
    if (options.betweenMs) await Bun.sleep(options.betweenMs);
  }
  const text = await promise;
  clearTimeout(timer);
  return text;
}

/** Asks again until it holds; throws after 10 seconds. */
export async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error("it never came to be");
    await Bun.sleep(20);
  }
}
