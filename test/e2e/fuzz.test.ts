import { afterEach, beforeAll, expect, test } from "bun:test";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { describeWith, needsBinary } from "../support/needs.ts";
import { type Bed, type KeyMade, makeBed, type OpenApi, problemOf, type SourceMade } from "./bed.ts";

/** Set FUZZ_RUNS for a longer search; a failure prints its seed. */
const RUNS = Number(process.env.FUZZ_RUNS ?? 1000);
const LIMIT_MS = 10_000;

/** 5xx that the contract has. */
const DOCUMENTED = ["LOOP_DETECTED", "SOURCE_PAUSED", "STORAGE_UNAVAILABLE", "SHUTTING_DOWN"];

const PACKERS: Record<string, (body: Uint8Array) => Uint8Array> = {
  gzip: (body) => gzipSync(body),
  deflate: (body) => deflateSync(body),
  br: (body) => brotliCompressSync(body),
};

type Attempt = { method: string; path: string; headers: Record<string, string>; body: Uint8Array | undefined };

const text = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ maxLength: 40, unit: "binary" }),
  fc.constantFrom(
    "",
    "\0",
    "\ud800",
    "__proto__",
    "constructor",
    "%",
    "*",
    "?",
    "[",
    "' OR 1=1 --",
    "../../x",
    "\u202e",
    "null",
  ),
);
const json = fc.jsonValue({ maxDepth: 4 });
const scalar = fc.oneof(
  text,
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constantFrom<unknown>(
    null,
    0,
    -1,
    1e308,
    2 ** 53,
    [],
    {},
    "2026-01-01T00:00:00Z",
    "9999-12-31T23:59:60Z",
    "x".repeat(5000),
  ),
);

describeWith(needsBinary())("whatever is sent, there is no 500, no hang and no crash", () => {
  let bed: Bed;
  let doc: OpenApi;
  let agent: KeyMade;
  let manager: KeyMade;
  let sources: SourceMade[];
  let events: string[];

  beforeAll(async () => {
    bed = await makeBed();
    doc = (await bed.daemon.api("/openapi.json")).json<OpenApi>();
    agent = await bed.key();
    manager = await bed.key({ kind: "management", preset: "operator" });
    sources = [
      await bed.source({ allow_get: true, type_from: { pointer: "/a/0" } }),
      await bed.source({ type_from: { header: "x-t" }, dedup: "none" }),
      await bed.source({ kind: "github" }),
      await bed.source({ kind: "stripe" }),
      await bed.source({ kind: "standard_webhooks" }),
      await bed.source({ kind: "hmac_sha256", timestamp_header: "x-time", signed: "{timestamp}.{body}" }),
    ];
    await bed.post(`/v1/sources/${sources[3]?.id}/rotate-secret`, { secret: "whsec_x" });
    events = [];
    for (let n = 0; n < 5; n++) events.push(await bed.event(sources[0] as SourceMade));
  });

  afterEach(async () => {
    expect((await bed.daemon.api("/readyz")).status).toBe(200);
    expect(bed.daemon.output).not.toContain("failed by a bug");
  });

  /** Sends it and says what must never be. */
  async function mustStand({ method, path, headers, body }: Attempt, unix = false): Promise<void> {
    const base = unix ? "http://localhost" : bed.daemon.url;
    const answer = await fetch(`${base}${path}`, {
      method,
      headers: headersOf(headers),
      redirect: "manual",
      signal: AbortSignal.timeout(LIMIT_MS),
      ...(body === undefined || method === "GET" || method === "HEAD" ? {} : { body: body as Bun.BodyInit }),
      ...(unix ? { unix: `${bed.daemon.dataDir}/postern.sock` } : {}),
    });
    const shown = await answer.text();
    if (answer.status >= 500) expect(DOCUMENTED).toContain(JSON.parse(shown).code);
    // What is no HTTP the runtime's parser refuses with a bare 400, before our code.
    const unparsed = answer.status === 400 && shown === "" && !answer.headers.has("postern-request-id");
    if (answer.status >= 400 && method !== "HEAD" && !unparsed) {
      const bytes = new TextEncoder().encode(shown);
      problemOf({ status: answer.status, headers: answer.headers, text: shown, bytes, json: () => JSON.parse(shown) });
    }
  }

  /** What `fetch` takes as a header: what it does not is left out. */
  function headersOf(given: Record<string, string>): Headers {
    const headers = new Headers();
    for (const [name, value] of Object.entries(given)) {
      try {
        headers.set(name, value);
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
      }
    }
    return headers;
  }

  const check = (attempts: fc.Arbitrary<Attempt>, unix = false) =>
    fc.assert(
      fc.asyncProperty(attempts, (attempt) => mustStand(attempt, unix)),
      { numRuns: RUNS },
    );

  const bytesOf = (value: unknown) =>
    new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value));

  test("any body, type and encoding to sources of every kind", async () => {
    const body = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      json.map(bytesOf),
      text.map(bytesOf),
      fc.webQueryParameters().map(bytesOf),
      fc.integer({ min: 1, max: 20_000 }).map((n) => bytesOf(`${"[".repeat(n)}${"]".repeat(n)}`)),
      text.map((value) => bytesOf(`--b\r\nContent-Disposition: form-data; name="${value}"\r\n\r\n${value}\r\n--b--`)),
    );
    const packed = fc
      .tuple(body, fc.constantFrom("gzip", "deflate", "br", "identity", "gzip, br", "zstd", "", ",,"), fc.boolean())
      .map(([plain, encoding, honest]) => {
        const pack = PACKERS[encoding];
        return { encoding, body: honest && pack ? pack(plain) : plain };
      });
    const type = fc.oneof(
      text,
      fc.constantFrom(
        "application/json",
        "text/plain; charset=utf-16",
        "text/plain; charset=nonsense",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=b",
        "multipart/form-data",
        "application/xml",
        "image/png",
      ),
    );
    const attempt = fc.record({
      source: fc.nat(5),
      method: fc.constantFrom("POST", "POST", "PUT", "GET", "DELETE", "HEAD", "OPTIONS"),
      packed,
      type,
      extra: fc.dictionary(
        fc.constantFrom(
          "x-t",
          "idempotency-key",
          "webhook-id",
          "postern-hops",
          "x-forwarded-for",
          "x-time",
          "webhook-timestamp",
          "stripe-signature",
          "webhook-signature",
          "x-hub-signature-256",
          "x-signature-256",
          "x-github-event",
          "x-github-delivery",
          "connection",
          "cookie",
        ),
        text,
      ),
      query: fc.oneof(fc.constant(""), fc.webQueryParameters()),
    });
    await check(
      attempt.map(({ source, method, packed: { encoding, body: sent }, type: contentType, extra, query }) => ({
        method,
        path: `${sources[source]?.path}${query && `?${query}`}`,
        headers: { ...extra, "content-type": contentType, "content-encoding": encoding },
        body: sent,
      })),
    );
  });

  test("any fields to every operation", async () => {
    const operations = Object.entries(doc.paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, operation]) =>
        operation.operationId ? [{ path, method, operation }] : [],
      ),
    );
    expect(operations.length).toBeGreaterThan(30);
    const attempt = fc.constantFrom(...operations).chain(({ path, method, operation }) => {
      const { parameters = [], requestBody } = operation as unknown as Described;
      const fields = Object.keys(requestBody?.content["application/json"].schema.properties ?? {});
      const query = parameters.filter((one) => one.in === "query").map(({ name }) => name);
      const members = [...fields, "__proto__", "extra"];
      return fc.record({
        method: fc.constant(method.toUpperCase()),
        path: pathOf(path, query),
        headers: fc.record({
          "idempotency-key": fc.constantFrom("", "k", "k2", "\u00ff"),
          "last-event-id": fc.constantFrom("", "0", "9".repeat(15), "x"),
        }),
        body: fc.oneof(
          fc.dictionary(fc.constantFrom(...members), fc.oneof(scalar, json), { maxKeys: 4 }).map(bytesOf),
          json.map(bytesOf),
          text.map(bytesOf),
          fc.constant(undefined),
        ),
      });
    });
    // Waits would each take their time.
    const quick = attempt.filter(
      ({ path }) => !path.startsWith("/v1/inbox/wait") && !path.startsWith("/v1/inbox/claim"),
    );
    await check(quick, true);
    const keyed = fc.tuple(quick, fc.boolean()).map(([one, isAgent]) => ({
      ...one,
      headers: { ...one.headers, authorization: `Bearer ${isAgent ? agent.key : manager.key}` },
    }));
    await check(keyed.filter(({ path }) => !/\/v1\/keys\/[^/?]+\/|^\/v1\/projects/.test(path)));
  });

  const pathOf = (template: string, query: string[]) =>
    fc
      .tuple(
        fc.oneof(fc.constantFrom(...events, ...sources.map(({ id }) => id)), text.map(encodeURIComponentSafe)),
        fc.dictionary(
          fc.constantFrom(...(query.length > 0 ? query : ["x"]), "x"),
          fc.oneof(text, fc.integer().map(String)),
          { maxKeys: 3 },
        ),
      )
      .map(([id, fields]) => {
        const pairs = Object.entries(fields).map(([name, value]) => `${name}=${encodeURIComponentSafe(value)}`);
        return `${template.replace(/\{\w+\}/, id || "x")}${pairs.length > 0 ? `?${pairs.join("&")}` : ""}`;
      });

  test("any method and path", async () => {
    const segment = fc.oneof(
      fc.constantFrom(
        "v1",
        "in",
        "inbox",
        "events",
        "sources",
        "keys",
        "projects",
        "stream",
        "docs",
        "..",
        ".",
        "",
        "%2e%2e",
        "%00",
        "healthz",
      ),
      text.map(encodeURIComponentSafe),
      fc.webSegment(),
    );
    await check(
      fc.record({
        method: fc.constantFrom(
          "GET",
          "POST",
          "PUT",
          "PATCH",
          "DELETE",
          "HEAD",
          "OPTIONS",
          "QUERY",
          "PROPFIND",
          "M-SEARCH",
        ),
        path: fc
          .tuple(fc.array(segment, { maxLength: 6 }), fc.oneof(fc.constant(""), fc.webQueryParameters()))
          .map(([segments, query]) => `/${segments.join("/")}${query && `?${query}`}`)
          .filter((path) => !path.startsWith("/v1/stream") && !path.startsWith("//")),
        headers: fc.dictionary(
          fc.constantFrom(
            "authorization",
            "accept",
            "content-type",
            "range",
            "if-none-match",
            "expect",
            "x-http-method-override",
            "origin",
            "cookie",
            "upgrade",
          ),
          text,
        ),
        body: fc.oneof(fc.uint8Array({ maxLength: 100 }), fc.constant(undefined)),
      }),
    );
  });
});

type Described = {
  parameters?: { in: string; name: string }[];
  requestBody?: { content: { "application/json": { schema: { properties?: object } } } };
};

/** A lone surrogate has no UTF-8, so it stands as the replacement character. */
function encodeURIComponentSafe(value: string): string {
  return encodeURIComponent(value.toWellFormed());
}
