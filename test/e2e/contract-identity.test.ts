import { beforeAll, expect, test } from "bun:test";
import { describeWith, needsBinary } from "../support/needs.ts";
import { type Bed, type KeyMade, makeBed, refused, until } from "./bed.ts";

const KINDS = ["management", "application", "intake"] as const;

/** Which kinds of key may hold a scope (contract, section 2). */
const SCOPES: Record<string, readonly (typeof KINDS)[number][]> = {
  "inbox:read": ["management", "application"],
  "inbox:write": ["management", "application"],
  "inbox:requeue": ["management", "application"],
  "inbox:raw": ["management"],
  "sources:read": ["management"],
  "sources:write": ["management"],
  "routes:read": ["management"],
  "routes:write": ["management"],
  "keys:read": ["management"],
  "keys:write": ["management"],
  "event_destinations:read": ["management"],
  "event_destinations:write": ["management"],
  "errors:read": ["management", "application"],
  "alerts:read": ["management", "application"],
  "incidents:read": ["management", "application"],
  "signals:write": ["management", "application", "intake"],
  "requests:read": ["management", "application"],
  "requests:write": ["management", "application"],
  "mcp:read": ["management", "application"],
  "mcp:write": ["management", "application"],
};

const heldBy = (kind: (typeof KINDS)[number]) => Object.keys(SCOPES).filter((scope) => SCOPES[scope]?.includes(kind));

type KeyShown = { id: string; scopes: string[]; state: string; created_by: string; expires_at: string | null };

describeWith(needsBinary())("keys and projects (contract, section 2)", () => {
  let bed: Bed;
  let manager: KeyMade;

  beforeAll(async () => {
    bed = await makeBed();
    manager = await bed.key({ kind: "management", preset: "operator" });
  });

  const shown = async (id: string) => (await bed.get(`/v1/keys/${id}`)).json<KeyShown>();
  const create = (body: Record<string, unknown>, key?: string) => bed.post("/v1/keys", { name: "x", ...body }, key);

  test("a token names its kind, has 160 bits at least and is shown once", async () => {
    for (const [kind, spelled] of [
      ["management", "mgmt"],
      ["application", "app"],
      ["intake", "intake"],
    ] as const) {
      const made = await create({ kind, preset: "operator" });
      const { id, key } = made.json<KeyMade>();
      expect(key).toMatch(new RegExp(`^pst_${spelled}_[A-Za-z0-9_-]{27,}$`));
      for (const path of [`/v1/keys/${id}`, "/v1/keys?limit=100"]) {
        expect((await bed.get(path)).text).not.toContain(key.slice(-12));
      }
    }
  });

  test("each scope may be held by the kinds of its row, and by no other", async () => {
    for (const [scope, kinds] of Object.entries(SCOPES)) {
      for (const kind of KINDS) {
        const made = await create({ kind, scopes: [scope] });
        if (kinds.includes(kind)) expect(made.status).toBe(201);
        else refused(made, 422, "INVALID_REQUEST");
      }
    }
    const twice = await create({ kind: "application", scopes: ["inbox:read", "inbox:read"] });
    expect(twice.status === 422 || twice.json<KeyShown>().scopes.length === 1).toBe(true);
    const wrong = refused(await create({ kind: "application", scopes: ["inbox:reed"] }), 422, "INVALID_REQUEST");
    expect(wrong.detail).toContain("inbox:read");
  });

  test("a preset stands for its scopes; exactly one of scopes and preset is given", async () => {
    const scopesOf = async (kind: string, preset: string) =>
      (await create({ kind, preset })).json<KeyShown>().scopes.toSorted();
    const agent = heldBy("application").filter((scope) => scope !== "inbox:requeue");
    expect(await scopesOf("application", "agent")).toEqual(agent.toSorted());
    for (const kind of KINDS) expect(await scopesOf(kind, "operator")).toEqual(heldBy(kind).toSorted());
    for (const kind of KINDS) expect(await scopesOf(kind, "reporter")).toEqual(["signals:write"]);
    for (const wrong of [{}, { scopes: ["inbox:read"], preset: "agent" }, { scopes: [] }, { preset: "agents" }]) {
      refused(await create({ kind: "application", ...wrong }), 422, "INVALID_REQUEST");
    }
  });

  test("only the operator makes management keys", async () => {
    refused(await create({ kind: "management", scopes: ["inbox:read"] }, manager.key), 403, "NOT_ALLOWED");
    expect((await create({ kind: "application", scopes: ["inbox:read"] }, manager.key)).status).toBe(201);
  });

  test("a key made by a key is never wider or longer lived than its maker", async () => {
    const end = new Date(Date.now() + 3_600_000).toISOString();
    const narrow = await bed.key({ kind: "management", scopes: ["keys:write", "inbox:read"], expires_at: end });
    const app = (scopes: string[], more = {}) => create({ kind: "application", scopes, ...more }, narrow.key);
    expect((await app(["inbox:read", "inbox:write"])).status).toBeOneOf([403, 422]);
    const later = new Date(Date.now() + 7_200_000).toISOString();
    expect((await app(["inbox:read"], { expires_at: later })).status).toBeOneOf([403, 422]);
    const made = await app(["inbox:read"], { expires_at: end });
    expect(made.status).toBe(201);
    const child = made.json<KeyShown & KeyMade>();
    expect(child.created_by).toBe(narrow.id);
    expect(
      (await bed.patch(`/v1/keys/${child.id}`, { scopes: ["inbox:read", "inbox:write"] }, narrow.key)).status,
    ).toBeOneOf([403, 422]);
    expect((await bed.get("/v1/inbox", child.key)).status).toBe(200);
    await bed.post(`/v1/keys/${narrow.id}/freeze`);
    refused(await bed.get("/v1/inbox", child.key), 403, "KEY_FROZEN");
    await bed.post(`/v1/keys/${narrow.id}/thaw`);
    expect((await bed.get("/v1/inbox", child.key)).status).toBe(200);
    await bed.remove(`/v1/keys/${narrow.id}`);
    refused(await bed.get("/v1/inbox", child.key), 403, "KEY_REVOKED");
  });

  test("every operation asks for its scope and names it", async () => {
    const id = "evt_01h455vb4pex5vsknk084sn02q";
    const none = await bed.key({ kind: "management", scopes: ["signals:write"] });
    const wanted: Record<string, [string, string][]> = {
      "inbox:read": [
        ["GET", "/v1/inbox"],
        ["POST", "/v1/inbox/wait"],
        ["GET", `/v1/events/${id}`],
        ["GET", `/v1/events/${id}/history`],
        ["GET", "/v1/stream"],
      ],
      "inbox:write": [
        ["POST", "/v1/inbox/claim"],
        ["POST", "/v1/inbox/settle"],
        ...["claim", "ack", "nack", "extend", "release"].map((verb): [string, string] => [
          "POST",
          `/v1/events/${id}/${verb}`,
        ]),
      ],
      "inbox:requeue": [
        ["POST", "/v1/inbox/requeue"],
        ["POST", `/v1/events/${id}/requeue`],
        ["POST", `/v1/events/${id}/purge`],
      ],
      "sources:read": [
        ["GET", "/v1/sources"],
        ["GET", "/v1/sources/x"],
        ["GET", "/v1/sources/x/rejections"],
      ],
      "sources:write": [
        ["POST", "/v1/sources"],
        ["PATCH", "/v1/sources/x"],
        ["DELETE", "/v1/sources/x"],
        ...["rotate-secret", "rotate-url", "pause", "resume"].map((verb): [string, string] => [
          "POST",
          `/v1/sources/x/${verb}`,
        ]),
      ],
      "keys:read": [
        ["GET", "/v1/keys"],
        ["GET", "/v1/keys/x"],
      ],
      "keys:write": [
        ["POST", "/v1/keys"],
        ["PATCH", "/v1/keys/x"],
        ["DELETE", "/v1/keys/x"],
        ...["freeze", "thaw", "contain", "lift", "revoke"].map((verb): [string, string] => [
          "POST",
          `/v1/keys/x/${verb}`,
        ]),
      ],
    };
    for (const [scope, calls] of Object.entries(wanted)) {
      for (const [method, path] of calls) {
        const answer = await bed.call(method, path, method === "GET" ? undefined : "{", { key: none.key });
        expect(refused(answer, 403, "SCOPE_MISSING").scope).toBe(scope);
      }
    }
    for (const method of ["GET", "POST"]) {
      refused(await bed.call(method, "/v1/projects", undefined, { key: manager.key }), 403, "NOT_ALLOWED");
    }
  });

  test("states: frozen, contained, revoked and expired each answer with their code", async () => {
    const key = await bed.key();
    const move = (verb: string, by?: string) => bed.post(`/v1/keys/${key.id}/${verb}`, undefined, by);
    const uses = () => bed.get("/v1/inbox", key.key);
    expect((await move("freeze", manager.key)).json()).toMatchObject({ state: "frozen" });
    refused(await uses(), 403, "KEY_FROZEN");
    expect((await move("freeze")).status).toBe(200);
    expect((await move("thaw", manager.key)).json()).toMatchObject({ state: "active" });
    expect((await uses()).status).toBe(200);
    expect((await move("contain", manager.key)).json()).toMatchObject({ state: "contained" });
    refused(await uses(), 403, "KEY_CONTAINED");
    refused(await move("thaw"), 409, "STATE_CONFLICT");
    refused(await move("lift", manager.key), 403, "NOT_ALLOWED");
    expect((await move("lift")).json()).toMatchObject({ state: "active" });
    expect((await move("revoke", manager.key)).json()).toMatchObject({ state: "revoked" });
    refused(await uses(), 403, "KEY_REVOKED");
    for (const verb of ["thaw", "freeze", "contain", "lift"]) refused(await move(verb), 409, "STATE_CONFLICT");
    const brief = await bed.key({ expires_at: new Date(Date.now() + 400).toISOString() });
    await until(async () => (await bed.get("/v1/inbox", brief.key)).status === 403);
    refused(await bed.get("/v1/inbox", brief.key), 403, "KEY_EXPIRED");
    expect((await shown(brief.id)).state).toBe("expired");
    refused(
      await create({ kind: "application", preset: "agent", expires_at: "2020-01-01T00:00:00Z" }),
      422,
      "INVALID_REQUEST",
    );
  });

  test("DELETE revokes and hides", async () => {
    const key = await bed.key();
    expect((await bed.remove(`/v1/keys/${key.id}`, manager.key)).status).toBe(204);
    refused(await bed.get(`/v1/keys/${key.id}`), 404, "NOT_FOUND");
    expect((await bed.get("/v1/keys?limit=100")).text).not.toContain(key.id);
    refused(await bed.get("/v1/inbox", key.key), 403, "KEY_REVOKED");
  });

  test("no key edits, thaws or lifts itself", async () => {
    for (const [method, path, body] of [
      ["PATCH", `/v1/keys/${manager.id}`, { name: "me" }],
      ["POST", `/v1/keys/${manager.id}/thaw`, undefined],
      ["POST", `/v1/keys/${manager.id}/lift`, undefined],
    ] as const) {
      refused(await bed.call(method, path, body, { key: manager.key }), 403, "NOT_ALLOWED");
    }
  });

  test("losing `active` ends the key's waits and streams at once and releases its leases uncounted", async () => {
    const source = await bed.source();
    for (const verb of ["freeze", "contain", "revoke"]) {
      const key = await bed.key();
      const id = await bed.event(source);
      await bed.claim(id, key.key, { lease_seconds: 3600 });
      const waiting = bed.post("/v1/inbox/wait", { timeout_seconds: 300, type: "never.*" }, key.key);
      const claiming = bed.post("/v1/inbox/claim", { wait_seconds: 300, type: "never.*" }, key.key);
      const stream = await fetch(`${bed.daemon.url}/v1/stream`, { headers: { authorization: `Bearer ${key.key}` } });
      const streamed = stream.text();
      await until(async () => (await bed.daemon.api("/metrics")).text.includes("postern_waiters 2"));
      await bed.post(`/v1/keys/${key.id}/${verb}`);
      await Promise.all([waiting, claiming, streamed]);
      const { event, lease } = await bed.whole(id);
      expect([event.status, event.attempts, lease]).toEqual(["pending", 0, null]);
      const other = await bed.key();
      expect((await bed.claim(id, other.key)).event.id).toBe(id);
    }
  });

  test("a key belongs to one project and sees nothing of another's", async () => {
    const made = await bed.post("/v1/projects", { name: "Side", slug: "side" });
    expect(made.status).toBe(201);
    const { id: project } = made.json<{ id: string }>();
    const source = await bed.source({ name: "there" }, "side");
    const id = await bed.event(source);
    const key = await bed.key();
    for (const [method, path] of [
      ["GET", `/v1/events/${id}`],
      ["POST", `/v1/events/${id}/claim`],
      ["POST", `/v1/events/${id}/ack`],
      ["GET", "/v1/inbox?project=side"],
      ["GET", `/v1/inbox?project=${project}`],
      ["GET", "/v1/inbox?project=nowhere"],
    ] as const) {
      refused(await bed.call(method, path, undefined, { key: key.key }), 404, "NOT_FOUND");
    }
    refused(await bed.get(`/v1/sources/${source.id}`, manager.key), 404, "NOT_FOUND");
    expect((await bed.get("/v1/inbox?project=default", key.key)).status).toBe(200);
    for (const named of ["side", project]) {
      expect((await bed.get(`/v1/events/${id}?project=${named}`)).json()).toMatchObject({ event: { id, project } });
    }
    refused(await bed.get(`/v1/events/${id}`), 404, "NOT_FOUND");
    const sideKey = await bed.key({}, "side");
    expect((await bed.get(`/v1/events/${id}`, sideKey.key)).status).toBe(200);
  });

  test("deleting a project removes all that is its", async () => {
    await bed.post("/v1/projects", { name: "Doomed", slug: "doomed" });
    const source = await bed.source({}, "doomed");
    const big = await bed.event(source, { text: "x".repeat(300_000) });
    const key = await bed.key({}, "doomed");
    const link = (await bed.whole(big, "?project=doomed")).event.payload_url ?? "";
    expect((await fetch(link)).status).toBe(200);
    expect((await bed.patch("/v1/projects/doomed", { name: "Renamed" })).json()).toMatchObject({
      slug: "doomed",
      name: "Renamed",
    });
    expect((await bed.remove("/v1/projects/doomed")).status).toBe(204);
    refused(await bed.get("/v1/projects/doomed"), 404, "NOT_FOUND");
    refused(await bed.get("/v1/inbox", key.key), 401, "UNAUTHENTICATED");
    refused(await bed.send(source), 404, "NOT_FOUND");
    expect((await fetch(link)).status).toBe(404);
    refused(await bed.post("/v1/projects", { slug: "default" }), 409, "NAME_TAKEN");
  });
});
