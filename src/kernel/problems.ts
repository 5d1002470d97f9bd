/**
 * Every error code of Postern, defined once: its HTTP status and its title (RFC 9457).
 * The HTTP door, OpenAPI, the CLI and the agent's manual all read this table.
 */
export const PROBLEMS = {
  UNAUTHENTICATED: [401, "A valid API key is needed"],
  SIGNATURE_INVALID: [401, "The signature does not verify"],
  SCOPE_MISSING: [403, "The key lacks a scope"],
  KEY_FROZEN: [403, "The key is frozen"],
  KEY_CONTAINED: [403, "The key is contained"],
  KEY_REVOKED: [403, "The key is revoked"],
  KEY_EXPIRED: [403, "The key has expired"],
  OWNER_SUSPENDED: [403, "The person behind the key is suspended"],
  NOT_ALLOWED: [403, "This credential may not do that"],
  LINK_INVALID: [403, "The link is not valid or has run out"],
  INVALID_JSON: [400, "The body is not valid JSON"],
  HOST_INVALID: [400, "The Host header names no host"],
  BODY_UNREADABLE: [400, "The body cannot be decoded"],
  PAYLOAD_TOO_LARGE: [413, "The body is too large"],
  UNSUPPORTED_ENCODING: [415, "The content encoding is not supported"],
  RANGE_INVALID: [416, "The range lies outside the content"],
  INVALID_REQUEST: [422, "The request is not valid"],
  RESULT_TOO_LARGE: [422, "The result is too large"],
  SOURCE_NAME_RESERVED: [422, "The source name is reserved"],
  NOT_FOUND: [404, "There is no such thing here"],
  METHOD_NOT_ALLOWED: [405, "The method is not allowed here"],
  EVENT_NOT_CLAIMABLE: [409, "The event cannot be claimed now"],
  EVENT_NOT_REQUEUABLE: [409, "The event cannot be requeued now"],
  EVENT_ROUTED: [409, "The event is pushed by a route"],
  EVENT_LEASED: [409, "A lease holds the event"],
  LEASE_NOT_HELD: [409, "The lease is not held"],
  LEASE_REQUIRED: [409, "Name the lease"],
  RELEASE_LIMIT: [409, "The event was released too often"],
  NAME_TAKEN: [409, "The name is taken"],
  STATE_CONFLICT: [409, "The present state does not allow that"],
  MANAGED_BY_CONFIG: [409, "The configuration file manages this"],
  IDEMPOTENCY_MISMATCH: [409, "The idempotency key was used with another body"],
  IDEMPOTENCY_IN_PROGRESS: [409, "The first request with this idempotency key is still running"],
  LOOP_DETECTED: [508, "The event has passed through Postern too often"],
  RATE_LIMITED: [429, "Too many requests"],
  SOURCE_PAUSED: [503, "The source is paused"],
  STORAGE_UNAVAILABLE: [503, "The store cannot take it now"],
  SHUTTING_DOWN: [503, "The daemon is stopping"],
  INTERNAL: [500, "Something went wrong inside Postern"],
} as const satisfies Record<string, readonly [status: number, title: string]>;

/** A stable, upper snake case error code. */
export type ProblemCode = keyof typeof PROBLEMS;

/** One invalid place of a request: a path such as `subscriptions.0.type` and what is wrong there. */
export type FieldError = { path: string; message: string };

/**
 * An expected failure, as a value: functions return it, bugs throw.
 * `detail` says what is wrong and what to do; it never holds a secret or outside content.
 * `extra` are further members of the answer (`scope`, `event_status`); `headers` go with it over HTTP.
 */
export class Problem {
  readonly code: ProblemCode;
  readonly detail: string;
  readonly errors: readonly FieldError[] | undefined;
  readonly extra: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: ProblemCode,
    detail: string,
    more: { errors?: readonly FieldError[]; extra?: Record<string, unknown>; headers?: Record<string, string> } = {},
  ) {
    this.code = code;
    this.detail = detail;
    this.errors = more.errors;
    this.extra = more.extra ?? {};
    this.headers = more.headers ?? {};
  }

  /** The HTTP status of this code. */
  get status(): number {
    return PROBLEMS[this.code][0];
  }

  /** The body of an `application/problem+json` answer (RFC 9457). */
  toJSON(): Record<string, unknown> {
    const [status, title] = PROBLEMS[this.code];
    return {
      type: `urn:postern:problem:${this.code.toLowerCase().replaceAll("_", "-")}`,
      title,
      status,
      detail: this.detail,
      code: this.code,
      ...this.extra,
      ...(this.errors ? { errors: this.errors } : {}),
    };
  }
}

/** True when a call came back with an expected failure. */
export function isProblem(value: unknown): value is Problem {
  return value instanceof Problem;
}

/** A 422 for one field. */
export function invalid(path: string, message: string): Problem {
  return new Problem("INVALID_REQUEST", path ? `${path}: ${message}` : message, { errors: [{ path, message }] });
}
