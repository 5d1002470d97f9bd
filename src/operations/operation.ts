import type { z } from "zod";
import type { Actor } from "../identity/index.ts";
import type { Id } from "../kernel/ids.ts";
import type { Problem } from "../kernel/problems.ts";
import type { Scope } from "../kernel/scopes.ts";
import type { Remember } from "../store/types.ts";
import type { Services } from "./services.ts";

/** Who may call an operation: a key with the scope (or a person, or the operator); only a person or the operator; or any key that is active. */
export type Access = { scope: Scope } | { person: true } | { anyone: true };

/** How the CLI shows an answer: the member that holds the rows (or the one resource), and the columns of its table. */
export type CliTable = { rows?: string; columns: readonly string[] };

/** The operation as a command: its words, which inputs stand without a flag, and how its answer looks on a terminal. */
export type CliFace = {
  command: string;
  args?: readonly string[];
  table?: CliTable;
  /** The exit code is 3 where this member of the answer is null or an empty list. */
  emptyWhen?: string;
};

/** What an operation may use beside its input. */
export type Context = {
  actor: Actor;
  project: Id<"prj">;
  services: Services;
  /** Fires when the caller is gone. */
  signal: AbortSignal;
  /** Where answers' links point: scheme, host and port, no slash at the end. */
  baseUrl: string;
  /** Set where the caller sent an Idempotency-Key: hand it to the store's create. */
  remember?: { slot: Uint8Array; bodyHash: Uint8Array };
};

/**
 * One thing that Postern can do, from which its HTTP route, OpenAPI entry and CLI command are made.
 * `input` is a strict object; path parameters are members of it. `output` describes the answer's body.
 */
export type Operation<I extends z.ZodObject = z.ZodObject, O extends z.ZodType = z.ZodType> = {
  name: string;
  http: `${"GET" | "POST" | "PATCH" | "DELETE"} /v1/${string}`;
  access: Access;
  summary: string;
  /** More than the summary, for the reference. */
  description?: string;
  input: I;
  output: O;
  cli: CliFace;
  /** A POST that makes a resource: 201, and an Idempotency-Key counts. */
  creates?: { secret?: string };
  /** The largest body taken, in bytes; 1 MiB by default. */
  maxBodyBytes?: number;
  /** It may wait: its connection is not cut for being silent. */
  waits?: boolean;
  run: (ctx: Context, input: z.output<I>) => Promise<unknown>;
};

/** Declares an operation; the types of its input reach `run`. */
export function operation<I extends z.ZodObject, O extends z.ZodType>(
  definition: Operation<I, O> & { run: (ctx: Context, input: z.output<I>) => Promise<z.input<O> | Problem> },
): Operation {
  return definition as unknown as Operation;
}

/** The store's form of an Idempotency-Key, where the caller sent one: the status and the body to give again. */
export function rememberAs<T>(ctx: Context, body: (created: T) => string): Remember<T> | undefined {
  return ctx.remember && { ...ctx.remember, answer: (created) => `[201,${body(created)}]` };
}

/** `["GET", "/v1/events/:id"]` of an operation. */
export function routeOf(op: Operation): { method: string; path: string; params: string[] } {
  const [method = "", path = ""] = op.http.split(" ");
  return { method, path, params: [...path.matchAll(/:([a-z_]+)/g)].map((match) => match[1] ?? "") };
}
