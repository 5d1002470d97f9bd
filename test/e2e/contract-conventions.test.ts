import { beforeAll, expect, test } from "bun:test";
import { describeWith, needsBinary } from "../support/needs.ts";
import { type Bed, type KeyMade, makeBed, raw, refused, type SourceMade } from "./bed.ts";

describeWith(needsBinary())("conventions (contract, section 1)", () => {
  let bed: Bed;
  let agent: KeyMade;
  let manager: KeyMade;
  let source: SourceMade;
  let event: string;

  beforeAll(async () => {
    bed = await makeBed();
    agent = await bed.key();
    manager = await bed.key({ kind: "management", preset: "operator" });
    source = await bed.source({ name: "first" });
    event = await bed.event(source);
  });

  const uuidOf = (id: string) => {
    const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
    const bits = [...id.slice(id.indexOf("_") + 1)].reduce((sum, c) => sum * 32n + BigInt(alphabet.indexOf(c)), 0n);
    return bits
      .toString(16)
      .padStart(32, "0")
      .replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  };

  test("ids are TypeIDs of a UUIDv7; every id parameter takes the UUID too", async () => {
    for (const [id, prefix] of [
      [event, "evt"],
      [agent.id, "key"],
      [source.id, "src"],
    ] as const) {
      expect(id).toMatch(new RegExp(`^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`));
      expect(uuidOf(id)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    }
    const byUuid = await bed.whole(uuidOf(event));
    expect(byUuid.event.id).toBe(event);
    expect((await bed.get(`/v1/sources/${uuidOf(source.id)}`)).json()).toMatchObject({ id: source.id });
    expect((await bed.get(`/v1/keys/${uuidOf(agent.id).toUpperCase()}`)).json()).toMatchObject({ id: agent.id });
    const claim = await bed.claim(uuidOf(event), agent.key);
    expect(claim.lease.id).toMatch(/^lse_/);
    const released = await bed.post(
      `/v1/events/${uuidOf(event)}/release`,
      { lease: uuidOf(claim.lease.id) },
      agent.key,
    );
    expect(released.status).toBe(200);
    const waited = await bed.post("/v1/inbox/wait", { timeout_seconds: 0, after: uuidOf(event) }, agent.key);
    expect(waited.json()).toEqual({ event: null });
  });

  test("an id of another kind, a malformed one, and one that is not there are 404", async () => {
    for (const id of [
      source.id,
      "evt_",
      "evt_zzzzzzzzzzzzzzzzzzzzzzzzzz",
      "7",
      "%00",
      "evt_01h455vb4pex5vsknk084sn02q",
    ]) {
      refused(await bed.get(`/v1/events/${id}`), 404, "NOT_FOUND");
    }
  });

  test("times are RFC 3339 in UTC with milliseconds", async () => {
    const { event: shown, history } = await bed.whole(event);
    for (const time of [shown.received_at, history[0]?.at]) {
      expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    }
  });

  test("an unknown field is 422 and the right one is named", async () => {
    const problem = refused(await bed.post(`/v1/events/${event}/claim`, { lease_second: 60 }), 422, "INVALID_REQUEST");
    expect(problem.errors).toEqual([{ path: "lease_second", message: expect.stringContaining("lease_seconds") }]);
    expect(problem.detail).toContain("lease_seconds");
    refused(await bed.get("/v1/inbox?statu=all"), 422, "INVALID_REQUEST");
    const proto = '{"__proto__": {"lease_seconds": 60}, "constructor": 1}';
    expect(refused(await bed.post(`/v1/events/${event}/claim`, proto), 422, "INVALID_REQUEST").errors).toHaveLength(2);
  });

  test("a wrong value says where, and what would be right", async () => {
    const problem = refused(await bed.get("/v1/inbox?status=pendin&limit=101"), 422, "INVALID_REQUEST");
    expect(problem.errors?.map(({ path }) => path).sort()).toEqual(["limit", "status"]);
    expect(problem.detail).toContain("`pending`");
  });

  test("what is not JSON is 400, what is no object is 422, what is too much is 413", async () => {
    for (const body of ["{", "{'a':1}", new Uint8Array([0x7b, 0xff, 0x7d]), "[".repeat(500_000)]) {
      refused(await bed.post("/v1/inbox/claim", body), 400, "INVALID_JSON");
    }
    for (const body of ["[]", "1", "null", '"text"']) {
      refused(await bed.post("/v1/inbox/claim", body), 422, "INVALID_REQUEST");
    }
    const large = refused(await bed.post("/v1/inbox/claim", " ".repeat(1024 * 1024 + 1)), 413, "PAYLOAD_TOO_LARGE");
    expect(large.detail).toContain("1048576 bytes");
    const nested = `{"items":${"[".repeat(20_000)}${"]".repeat(20_000)}}`;
    expect((await bed.post("/v1/inbox/settle", nested)).status).toBeOneOf([400, 422]);
  });

  test("checks come in order: 401, 403, 400, 413, 422, 404, 409", async () => {
    const path = "/v1/events/evt_01h455vb4pex5vsknk084sn02q/ack";
    const narrow = await bed.key({ scopes: ["inbox:read"] });
    const unknown = `pst_app_${"a".repeat(32)}`;
    refused(await bed.call("POST", path, "{", { key: unknown }), 401, "UNAUTHENTICATED");
    refused(await bed.call("POST", path, "{", { key: narrow.key }), 403, "SCOPE_MISSING");
    refused(await bed.call("POST", `${path}?project=nowhere`, "{", { key: narrow.key }), 403, "SCOPE_MISSING");
    refused(await bed.call("POST", path, "{", { key: agent.key }), 400, "INVALID_JSON");
    refused(await bed.call("POST", `${path}?project=nowhere`, "{", { key: agent.key }), 400, "INVALID_JSON");
    refused(await bed.call("POST", path, { nonsense: 1 }, { key: agent.key }), 422, "INVALID_REQUEST");
    refused(await bed.call("POST", path, {}, { key: agent.key }), 404, "NOT_FOUND");
    refused(await bed.call("POST", `${path}?project=nowhere`, {}, { key: agent.key }), 404, "NOT_FOUND");
    refused(await bed.post(`/v1/events/${event}/ack`, {}, agent.key), 409, "LEASE_NOT_HELD");
    refused(await bed.call("POST", "/v1/projects", "{", { key: manager.key }), 403, "NOT_ALLOWED");
    refused(await bed.call("GET", "/v1/events/nonsense?x=1", undefined, { key: unknown }), 401, "UNAUTHENTICATED");
  });

  test("a POST that creates is 201, others and PATCH 200, DELETE 204 without a body", async () => {
    const made = await bed.post("/v1/sources", { name: "short-lived", channel: "webhook", kind: "unsigned" });
    expect(made.status).toBe(201);
    const { id } = made.json<{ id: string }>();
    expect((await bed.post(`/v1/sources/${id}/pause`)).status).toBe(200);
    expect((await bed.patch(`/v1/sources/${id}`, { name: "renamed" })).json()).toMatchObject({ id, name: "renamed" });
    const gone = await bed.remove(`/v1/sources/${id}`);
    expect([gone.status, gone.text]).toEqual([204, ""]);
    refused(await bed.remove(`/v1/sources/${id}`), 404, "NOT_FOUND");
  });

  test("a JSON type without a body is no error", async () => {
    const headers = { "content-type": "application/json" };
    const { id } = await bed.source();
    const paused = await bed.call("POST", `/v1/sources/${id}/pause`, undefined, { headers });
    expect(paused.status).toBe(200);
    expect((await bed.call("DELETE", `/v1/sources/${id}`, undefined, { headers })).status).toBe(204);
  });

  test("an unknown path is 404 and a wrong method 405 with what it takes", async () => {
    refused(await bed.get("/nothing/here"), 404, "NOT_FOUND");
    refused(await bed.get("/v1"), 404, "NOT_FOUND");
    const wrong = await bed.call("PUT", "/v1/inbox", {});
    refused(wrong, 405, "METHOD_NOT_ALLOWED");
    expect(wrong.headers.get("allow")).toContain("GET");
  });

  test("HEAD is GET without its body", async () => {
    const head = await bed.daemon.api("/healthz", { method: "HEAD" });
    expect([head.status, head.text]).toEqual([200, ""]);
  });

  test("every answer has an id of its own, and so has its log line", async () => {
    const answers = [
      await bed.get("/v1/nothing"),
      await bed.get("/v1/inbox", "pst_app_nonsense"),
      await bed.call("POST", "/v1/inbox/claim", "{", { key: agent.key }),
      await bed.daemon.api("/in/nothing", { body: "{}" }),
    ];
    const ids = answers.map(({ headers }) => headers.get("postern-request-id") ?? "");
    expect(new Set(ids).size).toBe(4);
    for (const path of ["/healthz", "/readyz", "/metrics", "/openapi.json", "/docs"]) {
      expect((await bed.daemon.api(path)).headers.get("postern-request-id")).toMatch(/\S/);
    }
    const lines = bed.daemon.output.split("\n").filter((line) => line.startsWith("{"));
    for (const id of ids) expect(lines.filter((line) => JSON.parse(line).request_id === id)).toHaveLength(1);
  });

  test("the Bearer scheme counts in any case, and nothing else does", async () => {
    const as = (authorization: string) => bed.call("GET", "/v1/whoami", undefined, { headers: { authorization } });
    for (const scheme of ["Bearer", "bearer", "BEARER"]) expect((await as(`${scheme} ${agent.key}`)).status).toBe(200);
    for (const wrong of ["Bearer", `Basic ${agent.key}`, agent.key, `Bearer ${agent.key} ${agent.key}`, "Bearer x"]) {
      const answer = await as(wrong);
      refused(answer, 401, "UNAUTHENTICATED");
      expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    }
    const bare = await bed.daemon.api("/v1/whoami");
    refused(bare, 401, "UNAUTHENTICATED");
  });

  test("a host of any length is served", async () => {
    for (const host of ["x", "nas", "a.very.long.name.of.a.host.example:8484"]) {
      const answer = await raw(bed.daemon.port, [
        `GET /healthz HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
      ]);
      expect(answer).toStartWith("HTTP/1.1 200");
    }
  });
});
