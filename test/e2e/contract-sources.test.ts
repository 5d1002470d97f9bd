import { beforeAll, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { describeWith, needsBinary } from "../support/needs.ts";
import { type Bed, makeBed, refused, type SourceMade } from "./bed.ts";

const sha256 = (secret: string, body: string) => createHmac("sha256", secret).update(body).digest("hex");
const github = (secret: string, body: string) => ({
  "content-type": "application/json",
  "x-hub-signature-256": `sha256=${sha256(secret, body)}`,
});

describeWith(needsBinary())("sources (contract, section 3)", () => {
  let bed: Bed;

  beforeAll(async () => {
    bed = await makeBed();
  });

  const create = (body: Record<string, unknown>) => bed.post("/v1/sources", { channel: "webhook", ...body });
  const rotate = (source: SourceMade, body: Record<string, unknown> = {}) =>
    bed.post(`/v1/sources/${source.id}/rotate-secret`, body);
  let n = 0;
  const signed = async (source: SourceMade, secret: string) => {
    const body = JSON.stringify({ n: ++n });
    return (await bed.send(source, body, github(secret, body))).status;
  };

  test("a name has its form, is unique in the project, and `postern` is reserved", async () => {
    for (const name of ["a", "0", "a_b-c", "a".repeat(63)]) {
      expect((await create({ name, kind: "unsigned" })).status).toBe(201);
    }
    for (const name of ["", "A", "-a", "_a", "a b", "a.b", "a".repeat(64), "ä", "a\n", 7, null]) {
      refused(await create({ name, kind: "unsigned" }), 422, "INVALID_REQUEST");
    }
    refused(await create({ name: "a", kind: "unsigned" }), 409, "NAME_TAKEN");
    refused(await create({ name: "postern", kind: "unsigned" }), 422, "SOURCE_NAME_RESERVED");
    const { id } = await bed.source();
    refused(await bed.patch(`/v1/sources/${id}`, { name: "postern" }), 422, "SOURCE_NAME_RESERVED");
    refused(await bed.patch(`/v1/sources/${id}`, { name: "a" }), 409, "NAME_TAKEN");
    await bed.post("/v1/projects", { name: "Other", slug: "other" });
    expect(
      (await bed.post("/v1/sources?project=other", { name: "a", channel: "webhook", kind: "unsigned" })).status,
    ).toBe(201);
  });

  test("an unknown kind is refused with the nearest; email is not of this version", async () => {
    const wrong = refused(await create({ name: "k", kind: "strip" }), 422, "INVALID_REQUEST");
    expect(wrong.detail).toContain("`stripe`");
    for (const kind of ["stripe", "github", "hmac_sha256", "standard_webhooks", "unsigned"]) {
      expect(wrong.detail).toContain(kind);
    }
    const email = refused(await create({ name: "mail", channel: "email", kind: "email" }), 422, "INVALID_REQUEST");
    expect(email.errors?.[0]?.path).toBe("channel");
    refused(await create({ name: "mail", channel: "carrier-pigeon", kind: "unsigned" }), 422, "INVALID_REQUEST");
    refused(await create({ name: "none" }), 422, "INVALID_REQUEST");
  });

  test("a setting of another kind, an unknown one and an impossible one are refused", async () => {
    for (const wrong of [
      { kind: "github", header: "x-sig" },
      { kind: "unsigned", secret: "s" },
      { kind: "unsigned", dedupe: "none" },
      { kind: "unsigned", dedup: "sometimes" },
      { kind: "unsigned", rate_limit: { requests: 0, per_seconds: 1 } },
      { kind: "unsigned", rate_limit: { requests: 1 } },
      { kind: "unsigned", type_from: { pointer: "no slash" } },
      { kind: "unsigned", type_from: { header: "authorization" } },
      { kind: "unsigned", type_from: { pointer: "/a", header: "x" } },
      { kind: "hmac_sha256", encoding: "rot13" },
      { kind: "hmac_sha256", signed: "{timestamp}.{body}" },
      { kind: "hmac_sha256", timestamp_header: "x-time" },
      { kind: "hmac_sha256", tolerance_seconds: 0 },
      { kind: "hmac_sha256", header: "x sig" },
    ]) {
      refused(await create({ name: "wrong", ...wrong }), 422, "INVALID_REQUEST");
    }
  });

  test("a secret is generated and shown once, or given and not shown", async () => {
    for (const kind of ["github", "hmac_sha256", "standard_webhooks"]) {
      const made = (await create({ name: `made-${kind}`, kind })).json<SourceMade>();
      expect(made.secret).toMatch(/^\S{24,}$/);
      for (const path of [`/v1/sources/${made.id}`, "/v1/sources?limit=100"]) {
        expect((await bed.get(path)).text).not.toContain(made.secret ?? "");
      }
    }
    const given = await create({ name: "given", kind: "github", secret: "known to us" });
    expect(given.json<SourceMade>().secret).toBeUndefined();
    expect(given.text).not.toContain("known to us");
    for (const secret of ["", "   ", "line\nbreak", "x".repeat(2000)]) {
      const problem = refused(await create({ name: "empty", kind: "github", secret }), 422, "INVALID_REQUEST");
      if (secret.length > 3) expect(JSON.stringify(problem)).not.toContain(secret.slice(0, 50));
    }
  });

  test("where only the provider makes the secret, ingest answers 401 until it is set", async () => {
    const source = await bed.source({ kind: "stripe" });
    expect(source.secret).toBeUndefined();
    const body = JSON.stringify({ id: "evt_1", type: "invoice.paid" });
    const deliver = (secret: string) => {
      const t = Math.floor(Date.now() / 1000);
      return bed.send(source, body, { "stripe-signature": `t=${t},v1=${sha256(secret, `${t}.${body}`)}` });
    };
    refused(await deliver("whsec_real"), 401, "SIGNATURE_INVALID");
    refused(await deliver(""), 401, "SIGNATURE_INVALID");
    refused(await rotate(source), 422, "INVALID_REQUEST");
    expect((await rotate(source, { secret: "whsec_real" })).json()).toMatchObject({ secret_set: true });
    const accepted = await deliver("whsec_real");
    expect(accepted.status).toBe(200);
    expect((await bed.whole(accepted.json<{ id: string }>().id)).event).toMatchObject({
      type: "invoice.paid",
      verified: true,
      trust: "external_untrusted",
    });
  });

  test("rotation: both secrets count for the grace time, with 0 only the new one", async () => {
    const source = await bed.source({ kind: "github", secret: "first" });
    const second = (await rotate(source)).json<{ secret: string; secrets_valid: number }>();
    expect(second.secrets_valid).toBe(2);
    expect(await signed(source, "first")).toBe(200);
    expect(await signed(source, second.secret)).toBe(200);
    expect((await rotate(source, { secret: "third", grace_seconds: 0 })).json()).toMatchObject({ secrets_valid: 1 });
    expect(await signed(source, "first")).toBe(401);
    expect(await signed(source, second.secret)).toBe(401);
    expect(await signed(source, "third")).toBe(200);
    await rotate(source, { secret: "fourth", grace_seconds: 1 });
    expect(await signed(source, "third")).toBe(200);
    await Bun.sleep(1100);
    expect(await signed(source, "third")).toBe(401);
    refused(await rotate(source, { grace_seconds: -1 }), 422, "INVALID_REQUEST");
    refused(await rotate(source, { secret: "" }), 422, "INVALID_REQUEST");
    refused(await rotate(await bed.source()), 422, "INVALID_REQUEST");
  });

  test("rotate-url: a new token, the old one is unknown", async () => {
    const source = await bed.source();
    const next = (await bed.post(`/v1/sources/${source.id}/rotate-url`)).json<SourceMade>();
    expect(next.ingest_url).not.toBe(source.ingest_url);
    refused(await bed.send(source), 404, "NOT_FOUND");
    expect((await bed.send({ path: new URL(next.ingest_url).pathname })).status).toBe(200);
  });

  test("a token has 128 bits at least and contains nothing of an id", async () => {
    const source = await bed.source();
    const token = source.path.slice("/in/".length);
    expect(token).toMatch(/^[A-Za-z0-9_-]{22,}$/);
    expect(token).not.toContain(source.id.slice(-10));
    refused(await bed.send({ path: `/in/${source.id}` }), 404, "NOT_FOUND");
  });

  test("paused: 503 with Retry-After, before anything else; resumed it takes them again", async () => {
    const source = await bed.source({ kind: "github", secret: "s" });
    expect((await bed.post(`/v1/sources/${source.id}/pause`)).json()).toMatchObject({ status: "paused" });
    const answer = await bed.send(source);
    refused(answer, 503, "SOURCE_PAUSED");
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await bed.post(`/v1/sources/${source.id}/resume`)).json()).toMatchObject({ status: "active" });
    expect(await signed(source, "s")).toBe(200);
  });

  test("a deleted source's events stay, and its name is free", async () => {
    const source = await bed.source({ name: "gone" });
    const id = await bed.event(source);
    expect((await bed.remove(`/v1/sources/${source.id}`)).status).toBe(204);
    refused(await bed.send(source), 404, "NOT_FOUND");
    expect((await bed.whole(id)).event.source).toBe("gone");
    expect((await create({ name: "gone", kind: "unsigned" })).status).toBe(201);
  });

  test("rejections: the last 100, newest first, with time, reason, size and address, and no secret or body", async () => {
    const source = await bed.source({ kind: "github", secret: "the-real-secret" });
    const body = "a body with something private";
    for (let i = 0; i < 103; i++) {
      await bed.send(source, `${body} ${i}`, { "x-hub-signature-256": `sha256=${sha256("wrong", String(i))}` });
    }
    await bed.send(source, "{}");
    const path = `/v1/sources/${source.id}/rejections`;
    type Page = { rejections: Record<string, unknown>[]; next_cursor: string | null };
    const answer = await bed.get(`${path}?limit=100`);
    const { rejections, next_cursor } = answer.json<Page>();
    expect([rejections.length, next_cursor]).toEqual([100, null]);
    expect(rejections[0]).toMatchObject({ code: "SIGNATURE_INVALID", size: 2, remote_address: "127.0.0.1" });
    expect(rejections[0]?.reason).toContain("x-hub-signature-256");
    const times = rejections.map(({ time }) => String(time));
    expect(times).toEqual(times.toSorted().toReversed());
    for (const hidden of ["private", "the-real-secret", sha256("wrong", "102"), source.path.slice(4)]) {
      expect(answer.text).not.toContain(hidden);
    }
    const first = (await bed.get(`${path}?limit=60`)).json<Page>();
    const rest = (await bed.get(`${path}?limit=60&cursor=${first.next_cursor}`)).json<Page>();
    expect([...first.rejections, ...rest.rejections]).toEqual(rejections);
  });

  test("a rate limit answers 429 with Retry-After, after authentication, and a change of something else keeps it", async () => {
    const source = await bed.source({
      kind: "github",
      secret: "s",
      rate_limit: { requests: 2, per_seconds: 3600 },
    });
    for (let i = 0; i < 5; i++) expect(await signed(source, "wrong")).toBe(401);
    expect([await signed(source, "s"), await signed(source, "s")]).toEqual([200, 200]);
    const limited = await bed.send(source, "{}", github("s", "{}"));
    refused(limited, 429, "RATE_LIMITED");
    expect(Number(limited.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await signed(source, "wrong")).toBe(401);
    await bed.patch(`/v1/sources/${source.id}`, { name: "renamed-limited" });
    expect(await signed(source, "s")).toBe(429);
    await bed.patch(`/v1/sources/${source.id}`, { rate_limit: null });
    expect(await signed(source, "s")).toBe(200);
  });

  test("allow_get: a GET's query is its form, else 405", async () => {
    const closed = await bed.source();
    const wrong = await bed.daemon.api(`${closed.path}?a=1`);
    refused(wrong, 405, "METHOD_NOT_ALLOWED");
    expect(wrong.headers.get("allow")).toBe("POST, PUT");
    const open = await bed.source({ allow_get: true, type_from: { pointer: "/kind" } });
    const answer = await bed.daemon.api(`${open.path}?kind=up&a=1&a=2&b=%C3%BC+x`);
    expect(answer.status).toBe(200);
    const { event } = await bed.whole(answer.json<{ id: string }>().id);
    expect(event).toMatchObject({ type: "up", payload: { kind: "up", a: ["1", "2"], b: "ü x" } });
    expect((await bed.send(open, '{"kind":"posted"}')).status).toBe(200);
  });

  test("type_from: a pointer into the payload or a header; what it does not find is webhook.received", async () => {
    const typeOf = async (source: SourceMade, body: string, headers: Record<string, string> = {}) =>
      (await bed.whole(await bed.event(source, body, headers))).event.type;
    const pointer = await bed.source({ type_from: { pointer: "/data/0/a~1b" } });
    expect(await typeOf(pointer, '{"data":[{"a/b":"deep.type"}]}')).toBe("deep.type");
    expect(await typeOf(pointer, '{"data":[{"a/b":7}]}')).toBe("webhook.received");
    expect(await typeOf(pointer, '{"data":"x"}')).toBe("webhook.received");
    const header = await bed.source({ type_from: { header: "X-Kind" } });
    expect(await typeOf(header, "{}", { "x-kind": "by.header" })).toBe("by.header");
    expect(await typeOf(header, '{"type":"unread"}')).toBe("webhook.received");
    expect(await typeOf(header, "[]", { "x-kind": "x".repeat(201) })).toBe("webhook.received");
  });

  test("PATCH changes what is named alone, null takes a setting away, kind and channel stay", async () => {
    const source = await bed.source({
      kind: "hmac_sha256",
      secret: "s",
      dedup: "none",
      type_from: { pointer: "/t" },
      header: "x-mine",
      timestamp_header: "x-time",
      signed: "{timestamp}.{body}",
    });
    const settings = async (change: Record<string, unknown>) =>
      (await bed.patch(`/v1/sources/${source.id}`, change)).json<{ settings: Record<string, unknown> }>().settings;
    expect(await settings({ tolerance_seconds: 60 })).toMatchObject({
      dedup: "none",
      type_from: { pointer: "/t" },
      header: "x-mine",
      tolerance_seconds: 60,
    });
    expect(await settings({ type_from: null })).not.toHaveProperty("type_from");
    expect(await settings({ timestamp_header: null, signed: "{body}" })).toMatchObject({ timestamp_header: null });
    for (const wrong of [{ kind: "github" }, { channel: "email" }, { secret: "t" }, { dedup: null }]) {
      refused(await bed.patch(`/v1/sources/${source.id}`, wrong), 422, "INVALID_REQUEST");
    }
    expect((await bed.send(source, "{}", { "x-mine": `sha256=${sha256("s", "{}")}` })).status).toBe(200);
  });

  test("a fresh source of each kind takes a delivery signed with its secret", async () => {
    const t = String(Math.floor(Date.now() / 1000));
    const hmac = await bed.source({ kind: "hmac_sha256" });
    expect(
      (await bed.send(hmac, "{}", { "x-signature-256": `sha256=${sha256(hmac.secret ?? "", "{}")}` })).status,
    ).toBe(200);
    const hub = await bed.source({ kind: "github" });
    expect(await signed(hub, hub.secret ?? "")).toBe(200);
    const standard = await bed.source({ kind: "standard_webhooks" });
    const key = Buffer.from((standard.secret ?? "").replace("whsec_", ""), "base64");
    const deliver = (id: string, body: string) =>
      bed.send(standard, body, {
        "webhook-id": id,
        "webhook-timestamp": t,
        "webhook-signature": `v1,${createHmac("sha256", key).update(`${id}.${t}.${body}`).digest("base64")}`,
      });
    const accepted = await deliver("msg_1", '{"type":"user.created"}');
    expect((await bed.whole(accepted.json<{ id: string }>().id)).event).toMatchObject({
      type: "user.created",
      verified: true,
    });
    const base64 = await bed.source({
      kind: "hmac_sha256",
      encoding: "base64",
      prefix: "",
      header: "x-sig",
      timestamp_header: "x-time",
      signed: "{timestamp}:{body}",
    });
    const mac = (time: string) =>
      createHmac("sha256", base64.secret ?? "")
        .update(`${time}:{}`)
        .digest("base64");
    expect((await bed.send(base64, "{}", { "x-sig": mac(t), "x-time": t })).status).toBe(200);
    for (const off of [-400, 400]) {
      const time = String(Number(t) + off);
      refused(await bed.send(base64, "{}", { "x-sig": mac(time), "x-time": time }), 401, "SIGNATURE_INVALID");
    }
    refused(await bed.send(base64, "{}", { "x-sig": mac(t) }), 401, "SIGNATURE_INVALID");
  });
});
