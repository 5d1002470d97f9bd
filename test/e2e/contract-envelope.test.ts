import { beforeAll, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { describeWith, needsBinary } from "../support/needs.ts";
import {
  type Bed,
  type ClaimShown,
  ENVELOPE,
  type KeyMade,
  makeBed,
  refused,
  type Shown,
  type SourceMade,
} from "./bed.ts";

const JSON_TYPE = { "content-type": "application/json" };

describeWith(needsBinary())("the event (contract, section 4)", () => {
  let bed: Bed;
  let open: SourceMade;
  let agent: KeyMade;

  beforeAll(async () => {
    bed = await makeBed();
    open = await bed.source({ name: "open", dedup: "none" });
    agent = await bed.key();
  });

  const whole = async (body: unknown, headers: Record<string, string> = {}) =>
    (await bed.whole(await bed.event(open, body, headers))).event;

  test("exactly the 19 fields, in their order, in every answer that shows an event", async () => {
    const id = await bed.event(open);
    const post = (path: string, body: unknown = {}) => bed.post(path, body, agent.key);
    const shown: object[] = [];
    const event = (answer: { json: <T>() => T }) => shown.push(answer.json<{ event: object }>().event);
    shown.push(...(await bed.get("/v1/inbox?status=all&limit=1")).json<{ events: object[] }>().events);
    event(await post("/v1/inbox/wait", { timeout_seconds: 0 }));
    event(await post(`/v1/events/${id}/claim`));
    event(await post(`/v1/events/${id}/extend`, { lease_seconds: 60 }));
    event(await bed.get(`/v1/events/${id}`));
    event(await post(`/v1/events/${id}/release`));
    const [claim] = (await post("/v1/inbox/claim")).json<{ claims: ClaimShown[] }>().claims;
    shown.push(claim?.event ?? {});
    event(await post(`/v1/events/${id}/nack`, { retry: false, lease: claim?.lease.id }));
    event(await bed.post(`/v1/events/${id}/requeue`));
    const { lease } = await bed.claim(id, agent.key);
    const settled = await post("/v1/inbox/settle", { items: [{ id, action: "ack", lease: lease.id }] });
    shown.push(...settled.json<{ results: { event: object }[] }>().results.map((one) => one.event));
    event(await bed.post(`/v1/events/${id}/purge`));
    expect(shown).toHaveLength(11);
    for (const one of shown) expect(Object.keys(one)).toEqual(ENVELOPE);
    expect((shown[0] as Shown).id).toBe(id);
    expect(shown[0]).toMatchObject({
      source: "open",
      channel: "webhook",
      type: "webhook.received",
      verified: false,
      trust: "external_untrusted",
      reply_to: null,
      payload_url: null,
      payload_truncated: false,
      payload_purged: false,
      html_url: null,
      attachments: [],
      attachments_blocked: [],
      status: "pending",
      attempts: 0,
    });
  });

  test("JSON keeps every token's text, in every answer", async () => {
    for (const json of [
      '{"big":9007199254740993,"bigger":123456789012345678901234567890,"price":1.10,"zero":-0,"exp":1E400,"plus":1e+2}',
      '{"z":1,"a":2,"z":3,"":{"10":1,"9":2}}',
      '{"escapes":"\\/ \\u00e9 \\ud83d\\ude00 \\ud800 \\u0000 \\u2028","raw":"é😀\u2028"}',
      '{ "white" : [ 1 ,\t2 ] }',
      '{"__proto__":{"x":1},"constructor":null}',
      "[1.0,2.50]",
      '"text"',
      "null",
      "12.340",
      "true",
    ]) {
      const id = await bed.event(open, json, JSON_TYPE);
      const inside = `"payload":${json},"payload_url":null,"payload_truncated":false`;
      expect((await bed.get(`/v1/events/${id}`)).text).toContain(inside);
      expect((await bed.post(`/v1/events/${id}/claim`, {}, agent.key)).text).toContain(inside);
      expect((await bed.get("/v1/inbox?status=claimed&limit=100")).text).toContain(inside);
      expect((await bed.post(`/v1/events/${id}/ack`, {}, agent.key)).text).toContain(inside);
    }
    expect("x" in {}).toBe(false);
  });

  test("line breaks in JSON stay, but for the stream's", async () => {
    const json = '{\r\n  "a": 1,\n\n  "b": "c"\r}';
    const stream = await fetch(`${bed.daemon.url}/v1/stream`, { headers: { authorization: `Bearer ${agent.key}` } });
    const reader = stream.body?.getReader();
    await reader?.read();
    const id = await bed.event(open, json, JSON_TYPE);
    expect((await bed.get(`/v1/events/${id}`)).text).toContain(`"payload":${json},`);
    const text = new TextDecoder().decode((await reader?.read())?.value);
    expect(text).toMatch(/^id: \d+\nevent: event\ndata: \{"event":\{[^\r\n]*\}\}\n\n$/);
    expect(JSON.parse(text.split("\ndata: ")[1] ?? "").event.payload).toEqual({ a: 1, b: "c" });
    await reader?.cancel();
  });

  test("a body is JSON, a form, text or base64 by what it says and what it is", async () => {
    const cases: [string | undefined, string | Uint8Array, unknown][] = [
      ["application/json", '{"a":1}', { a: 1 }],
      ["application/vnd.x+json; charset=utf-8", "[1]", [1]],
      ["text/json", "{}", {}],
      [undefined, '{"no":"type"}', { no: "type" }],
      [undefined, "plain words", { text: "plain words" }],
      [undefined, new Uint8Array([0xff, 0xfe]), { base64: "//4=" }],
      ["application/json", "not json", { text: "not json" }],
      ["application/json", new Uint8Array([0xff]), { base64: "/w==" }],
      ["application/json", "", { text: "" }],
      ["application/x-www-form-urlencoded", "a=1&a=2&b=x+y&c", { a: ["1", "2"], b: "x y", c: "" }],
      ["text/plain; charset=iso-8859-1", new Uint8Array([0xe9]), { text: "é" }],
      ["text/plain", '{"json":"in text"}', { text: '{"json":"in text"}' }],
      ["application/xml", "<a/>", { text: "<a/>" }],
      ["application/octet-stream", "bytes", { base64: "Ynl0ZXM=" }],
    ];
    for (const [type, body, payload] of cases) {
      // `fetch` adds a type of its own to text, never to bytes.
      const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
      expect((await whole(bytes, type === undefined ? {} : { "content-type": type })).payload).toEqual(payload);
    }
    const form = new FormData();
    form.append("metadata", '{"theme":"dark"}');
    form.append("file", new File(["hi"], "../../etc/passwd", { type: "text/plain" }));
    const multipart = new Response(form);
    const type = multipart.headers.get("content-type") ?? "";
    expect((await whole(new Uint8Array(await multipart.arrayBuffer()), { "content-type": type })).payload).toEqual({
      metadata: '{"theme":"dark"}',
      file: { filename: "../../etc/passwd", content_type: expect.stringContaining("text/plain"), base64: "aGk=" },
    });
  });

  test("headers are kept in lower case, without credentials, signatures and what is the connection's", async () => {
    const dropped = {
      Authorization: "Bearer gone-1",
      Cookie: "gone=2",
      "Proxy-Authorization": "gone-3",
      "X-Hub-Signature-256": "gone-4",
      "X-My-Token": "gone-5",
      "X-Api-Key": "gone-6",
      "X-Some-Key": "gone-7",
      "X-Auth-Thing": "gone-8",
      "X-Session-Id": "gone-9",
      "X-Password": "gone-10",
      TE: "gone-11",
      "X-Hmac": "gone-12",
      "X-Jwt": "gone-13",
      "X-Credential": "gone-14",
      "X-Secret": "gone-15",
      "X-Apikey-Id": "gone-16",
    };
    const kept = {
      "X-Event": "kept",
      "Idempotency-Key": "kept-too",
      "Content-Type": "application/json",
      "X-Keyed": "k",
    };
    const { headers } = await whole("{}", { ...dropped, ...kept });
    expect(headers).toMatchObject({
      "x-event": "kept",
      "idempotency-key": "kept-too",
      "content-type": "application/json",
      "x-keyed": "k",
    });
    expect(JSON.stringify(headers)).not.toContain("gone");
    expect(headers).not.toHaveProperty("connection");
    for (const name of Object.keys(headers)) expect(name).toBe(name.toLowerCase());
    const own = await bed.source({ kind: "hmac_sha256", header: "x-mac", secret: "s", prefix: "" });
    const mac = createHmac("sha256", "never").update("{}").digest("hex");
    await bed.send(own, "{}", { "x-mac": mac });
    const id = await bed.event(own, "{}", { "x-mac": createHmac("sha256", "s").update("{}").digest("hex") });
    expect((await bed.whole(id)).event.headers).not.toHaveProperty("x-mac");
  });

  test("a payload over 8,192 bytes is left out of all but claim and get", async () => {
    const json = (bytes: number) => `{"t":"${"x".repeat(bytes - 8)}"}`;
    const fits = await bed.event(open, json(8192), JSON_TYPE);
    const over = await bed.event(open, json(8193), JSON_TYPE);
    const wide = await bed.event(open, `{"t":"${"é".repeat(4100)}"}`, JSON_TYPE);
    const listed = async (id: string) => {
      const { events } = (await bed.get("/v1/inbox?status=all&limit=100")).json<{ events: Shown[] }>();
      return events.find((event) => event.id === id);
    };
    expect(await listed(fits)).toMatchObject({ payload_truncated: false, payload: { t: "x".repeat(8184) } });
    for (const id of [over, wide]) {
      expect(await listed(id)).toMatchObject({ payload_truncated: true, payload: null, payload_url: null });
      const { event } = await bed.whole(id);
      expect([event.payload_truncated, event.payload === null]).toEqual([false, false]);
      const claim = await bed.claim(id, agent.key);
      expect([claim.event.payload_truncated, claim.event.payload === null]).toEqual([false, false]);
      const acked = (await bed.post(`/v1/events/${id}/ack`, {}, agent.key)).json<{ event: Shown }>();
      expect([acked.event.payload_truncated, acked.event.payload]).toEqual([true, null]);
    }
  });

  test("a body over 262,144 bytes lies apart, behind a signed link to its bytes", async () => {
    const edge = await whole(`{"t":"${"x".repeat(262_136)}"}`, JSON_TYPE);
    expect([edge.payload_url, edge.payload === null]).toEqual([null, false]);
    const body = `{ "t" : "${"y".repeat(262_144)}" }`;
    const id = await bed.event(open, body, JSON_TYPE);
    const { events } = (await bed.get("/v1/inbox?limit=100")).json<{ events: Shown[] }>();
    expect(events.find((event) => event.id === id)).toMatchObject({
      payload: null,
      payload_truncated: true,
      payload_url: null,
    });
    const { event } = await bed.whole(id);
    expect(event).toMatchObject({ payload: null, payload_truncated: false });
    const claim = await bed.claim(id, agent.key);
    expect(claim.event).toMatchObject({ payload: null, payload_truncated: false });
    for (const link of [event.payload_url ?? "", claim.event.payload_url ?? ""]) {
      expect(link).toStartWith(bed.daemon.url);
      const answer = await fetch(link);
      expect(await answer.text()).toBe(body);
      expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/json"]);
      expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
      expect(answer.headers.get("content-disposition")).toStartWith("attachment");
      expect(answer.headers.get("accept-ranges")).toBe("bytes");
    }
    const type = await whole(`<html>${"z".repeat(262_144)}`, { "content-type": "text/html" });
    expect((await fetch(type.payload_url ?? "")).headers.get("content-type")).toBe("text/html");
  });

  test("the link takes range requests", async () => {
    const body = Array.from({ length: 40_000 }, (_, n) => String(n).padStart(7, "0")).join("");
    const event = await whole(body, { "content-type": "application/octet-stream" });
    const link = event.payload_url ?? "";
    const range = async (value: string) => {
      const answer = await fetch(link, { headers: { range: value } });
      return { status: answer.status, range: answer.headers.get("content-range"), text: await answer.text() };
    };
    const size = body.length;
    expect(await range("bytes=0-6")).toEqual({ status: 206, range: `bytes 0-6/${size}`, text: "0000000" });
    expect(await range("bytes=7-13")).toEqual({ status: 206, range: `bytes 7-13/${size}`, text: "0000001" });
    expect(await range("bytes=-7")).toEqual({
      status: 206,
      range: `bytes ${size - 7}-${size - 1}/${size}`,
      text: "0039999",
    });
    const tail = await range(`bytes=${size - 7}-`);
    expect([tail.status, tail.text]).toEqual([206, "0039999"]);
    expect((await range(`bytes=${size - 1}-999999999`)).text).toBe("9");
    for (const value of [`bytes=${size}-`, "bytes=-0"]) {
      expect(await range(value)).toMatchObject({ status: 416, range: `bytes */${size}` });
    }
    for (const value of ["bytes=", "lines=1-2", "bytes=0-1,3-4", "bytes=a-b", "bytes=5-1"]) {
      expect([200, 416]).toContain((await range(value)).status);
    }
    const head = await fetch(link, { method: "HEAD" });
    expect([head.status, head.headers.get("content-length")]).toEqual([200, String(size)]);
  });

  test("a link that was changed, belongs to another event or has run out is 403", async () => {
    const one = await whole("a".repeat(300_000));
    const two = await whole("b".repeat(300_000));
    const link = new URL(one.payload_url ?? "");
    const path = (url: URL) => `${url.pathname}${url.search}`;
    const changed = (change: (url: URL) => void) => {
      const url = new URL(link);
      change(url);
      return path(url);
    };
    for (const wrong of [
      changed((url) => url.searchParams.set("expires", String(Number(url.searchParams.get("expires")) + 1))),
      changed((url) => url.searchParams.set("signature", "AAAA")),
      changed((url) => url.searchParams.delete("signature")),
      changed((url) => url.searchParams.set("expires", "1000")),
      changed((url) => {
        url.pathname = url.pathname.replace(one.id, two.id);
      }),
      changed((url) => {
        url.search = "";
      }),
    ]) {
      const answer = await bed.daemon.api(wrong);
      refused(answer, 403, "LINK_INVALID");
    }
    const expires = Number(link.searchParams.get("expires")) - Date.now() / 1000;
    expect(expires).toBeGreaterThan(3500);
    expect(expires).toBeLessThanOrEqual(3600);
  });

  test("purged: payload, link and stored bytes are gone, the event stays", async () => {
    const event = await whole("c".repeat(300_000));
    const answer = await bed.post(`/v1/events/${event.id}/purge`);
    expect(answer.json<{ event: Shown }>().event).toMatchObject({
      payload: null,
      payload_purged: true,
      payload_url: null,
    });
    expect((await fetch(event.payload_url ?? "")).status).toBe(404);
    const { event: after } = await bed.whole(event.id);
    expect(after).toMatchObject({ id: event.id, payload: null, payload_purged: true, payload_truncated: false });
    const small = await bed.event(open, '{"small":"private"}');
    await bed.post(`/v1/events/${small}/purge`);
    expect((await bed.get(`/v1/events/${small}`)).text).not.toContain("private");
  });

  test("a type is 1 to 200 printable characters, else webhook.received", async () => {
    const hub = await bed.source({ kind: "github", secret: "s" });
    let n = 0;
    const typeOf = async (event: string | null, action: unknown, form = false) => {
      const json = JSON.stringify({ action, n: ++n });
      const body = form ? `payload=${encodeURIComponent(json)}` : json;
      const headers = {
        "content-type": form ? "application/x-www-form-urlencoded" : "application/json",
        "x-hub-signature-256": `sha256=${createHmac("sha256", "s").update(body).digest("hex")}`,
        ...(event === null ? {} : { "x-github-event": event }),
      };
      return (await bed.whole(await bed.event(hub, body, headers))).event.type;
    };
    expect(await typeOf("issues", "opened")).toBe("issues.opened");
    expect(await typeOf("issues", "opened", true)).toBe("issues.opened");
    expect(await typeOf("push", undefined)).toBe("push");
    expect(await typeOf("push", 7)).toBe("push");
    expect(await typeOf(null, "opened")).toBe("webhook.received");
    expect(await typeOf("issues", "line\nbreak")).toBe("webhook.received");
    expect(await typeOf("issues", "x".repeat(200))).toBe("webhook.received");
    expect(await typeOf("x".repeat(200), undefined)).toBe("x".repeat(200));
  });
});
