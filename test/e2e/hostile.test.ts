import { afterEach, beforeAll, expect, test } from "bun:test";
import { describeWith, needsBinary } from "../support/needs.ts";
import { type Bed, type KeyMade, makeBed, raw, type SourceMade } from "./bed.ts";

describeWith(needsBinary())("what no honest client sends", () => {
  let bed: Bed;
  let open: SourceMade;
  let agent: KeyMade;
  let token: string;

  beforeAll(async () => {
    bed = await makeBed({ env: { POSTERN_LOG__LEVEL: "debug" } });
    open = await bed.source();
    agent = await bed.key();
    token = open.path.slice("/in/".length);
  });

  afterEach(async () => {
    expect((await bed.daemon.api("/readyz")).status).toBe(200);
    expect(bed.daemon.output).not.toContain("failed by a bug");
  });

  const send = (text: string | Uint8Array, untilMs = 300) => raw(bed.daemon.port, [text], { untilMs });
  const statusOf = (answer: string) => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
  const post = (path: string, lines: string[], body = "") =>
    send([`POST ${path} HTTP/1.1`, "Host: x", ...lines, "Connection: close", "", body].join("\r\n"));

  test("broken requests are refused or cut off, never a 5xx and never an event", async () => {
    const before = (await bed.daemon.api("/metrics")).text.match(/outcome="accepted"\} (\d+)/)?.[1];
    const chunked = "Transfer-Encoding: chunked";
    const answers = await Promise.all([
      send("\r\n\r\n"),
      send("\0\0\0\0\r\n\r\n"),
      send("GET\r\n\r\n"),
      send(`GET /${"a".repeat(100_000)} HTTP/1.1\r\nHost: x\r\n\r\n`),
      send(`GET / HTTP/1.1\r\nHost: x\r\nX: ${"a".repeat(200_000)}\r\n\r\n`),
      send(`GET / HTTP/1.1\r\nHost: x\r\n${"X-A: b\r\n".repeat(5000)}\r\n`),
      send("GET /healthz HTTP/1.1\r\nHost: x\r\nX: a\0b\r\n\r\n"),
      send("GET /healthz HTTP/1.1\r\nHost: x\r\nX : a\r\n\r\n"),
      send("GET /healthz HTTP/1.1\nHost: x\n\n"),
      post(open.path, ["Content-Length: 5", "Content-Length: 6"], "hello!"),
      post(open.path, ["Content-Length: -1"], "x"),
      post(open.path, ["Content-Length: 1e3"], "x"),
      post(open.path, ["Content-Length: 99999999999999999999"], "x"),
      post(open.path, ["Content-Length: 5", chunked], "5\r\nhello\r\n0\r\n\r\n"),
      post(open.path, [chunked], "zz\r\nhello\r\n0\r\n\r\n"),
      post(open.path, [chunked], "-5\r\nhello\r\n0\r\n\r\n"),
      post(open.path, [chunked], "ffffffffffffffffff\r\nhello\r\n0\r\n\r\n"),
      post(open.path, [chunked], "5\r\nhel"),
      post(open.path, ["Content-Length: 100"], "cut off"),
      send(Buffer.concat([Buffer.from([0x16, 3, 1, 2, 0]), Buffer.alloc(512, 1)])),
      send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    ]);
    // 505: another version of HTTP, told by the runtime before our code.
    for (const answer of answers) expect([500, 501, 502, 503, 504]).not.toContain(statusOf(answer));
    for (const answer of answers) expect(answer).not.toContain('"duplicate":false');
    const after = (await bed.daemon.api("/metrics")).text.match(/outcome="accepted"\} (\d+)/)?.[1];
    expect(after).toBe(before as string);
  });

  test("a request is not smuggled in another one's body", async () => {
    const inner = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    const answer = await send(
      `POST /v1/nothing HTTP/1.1\r\nHost: x\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`,
    );
    expect(answer.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    const both = await send(
      `POST ${open.path} HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inner}`,
    );
    expect(both).not.toContain("alive");
  });

  test("a body that was refused unread is no request either", async () => {
    const inner = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n".repeat(50);
    const answer = await send(`POST ${open.path} HTTP/1.1\r\nHost: x\r\nContent-Length: 20000000\r\n\r\n${inner}`);
    expect(statusOf(answer)).toBe(413);
    expect(answer).not.toContain("alive");
  });

  test("HEAD of the stream ends at once", async () => {
    const signal = AbortSignal.timeout(5000);
    const answer = await bed.daemon.api("/v1/stream", { method: "HEAD", key: agent.key, signal });
    expect([answer.status, answer.text]).toEqual([200, ""]);
    expect(answer.headers.get("content-type")).toBe("text/event-stream");
  });

  test("headers that dribble in are taken, and hold up nobody", async () => {
    const text = `POST ${open.path} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`;
    const slow = raw(bed.daemon.port, text.match(/.{1,16}/gs) ?? [], { betweenMs: 10 });
    for (let n = 0; n < 10; n++) expect((await bed.daemon.api("/healthz")).status).toBe(200);
    expect(statusOf(await slow)).toBe(200);
  });

  test("100-continue is answered", async () => {
    const head = `POST ${open.path} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 11\r\nConnection: close\r\n\r\n`;
    const answer = await raw(bed.daemon.port, [head, '{"hold":"on'.slice(0, 11)], { betweenMs: 50 });
    expect(answer).toMatch(/HTTP\/1\.1 200/);
  });

  test("requests in a row on one connection are answered in their order", async () => {
    const one = (path: string, end = "") => `GET ${path} HTTP/1.1\r\nHost: x\r\n${end}\r\n`;
    const answer = await send(one("/healthz") + one("/v1/nothing") + one("/healthz", "Connection: close\r\n"), 2000);
    expect([...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(["200", "404", "200"]);
  });

  test("a path is what it is: another spelling finds nothing, but for the dots and escapes of RFC 3986", async () => {
    for (const path of [
      `//in/${token}`,
      `/in//${token}`,
      `/in/${token}%00`,
      `/in/%2e%2e/${token}`,
      `/in/..%2f${token}`,
      `/%69n/${token}`,
      `/In/${token}`,
      `/x/y/z/${token}`,
      `/${token}`,
      `/v1/events/${token}`,
      `/v1/sources/${token}/pause`,
      `/in/${[...token].map((c) => `%${c.charCodeAt(0).toString(16)}`).join("")}/x`,
      `/in/${agent.key}`,
    ]) {
      const status = statusOf(await post(path, ["Content-Length: 2"], "{}"));
      expect({ path, refused: [400, 401, 404, 405].includes(status) }).toEqual({ path, refused: true });
    }
    for (const path of [
      `/in/${token}/`,
      `http://elsewhere.example${open.path}`,
      `/../in/${token}`,
      `/./in/${token}`,
      `/v1/../in/${token}`,
      `/v1/%2e%2e/in/${token}`,
      `${open.path}?q=${agent.key}`,
      `${open.path}#${token}`,
      `/in/${[...token].map((c) => `%${c.charCodeAt(0).toString(16)}`).join("")}`,
    ]) {
      expect(statusOf(await post(path, ["Content-Length: 2"], "{}"))).toBeLessThan(500);
    }
  });

  test("a Host that is no host is refused on every path, and a request of HTTP/1.0 needs none", async () => {
    for (const host of ["", "a/b?c#d", `x/in/${token}`, "u:p@x", "[::", "x:99999", "a b", "//"]) {
      for (const [method, path] of [
        ["GET", "/healthz"],
        ["POST", open.path],
        ["POST", "/v1/sources"],
        ["GET", "/v1/stream"],
        ["GET", "/v1/events/x/payload?expires=1"],
      ] as const) {
        const auth = `Authorization: Bearer ${agent.key}\r\nIdempotency-Key: k\r\n`;
        const answer = await send(
          `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\n${auth}Content-Length: 0\r\nConnection: close\r\n\r\n`,
          1000,
        );
        // What the runtime makes a URL of is served; all else is 400, be it the runtime's or ours.
        expect([500, 0]).not.toContain(statusOf(answer));
        if (statusOf(answer) === 400 && answer.includes("{")) expect(answer).toContain("HOST_INVALID");
        if (["", "a/b?c#d", "//"].includes(host))
          expect({ host, path, status: statusOf(answer) }).toEqual({ host, path, status: 400 });
        if (path === "/v1/stream" && statusOf(answer) === 200) expect(answer).toContain("text/event-stream");
      }
    }
    expect(statusOf(await send("GET /healthz HTTP/1.0\r\n\r\n"))).toBe(200);
  }, 60_000);

  test("no log line ever shows a token of an ingest URL or a key", async () => {
    for (const method of ["GET", "POST", "HEAD", "PATCH", "QUERY"]) {
      for (const path of [open.path, `//in/${token}`, `/a/${token}`, `/%69n/${token}`, `/in/${token.slice(0, -1)}`]) {
        await send(`${method} ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
      }
    }
    await send(`POST ${open.path} HTTP/1.1\r\nHost: a/b\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
    await bed.get("/v1/inbox", agent.key);
    await bed.get(`/v1/inbox?q=${agent.key}`, agent.key);
    await bed.call("GET", "/v1/inbox", undefined, { headers: { authorization: `Bearer x${agent.key}` } });
    const decoded = bed.daemon.output.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
    for (const text of [bed.daemon.output, decoded]) {
      expect(text).toContain('"/v1/inbox"'.slice(1, -1));
      expect(text).not.toContain(token.slice(0, 12));
      expect(text).not.toContain(agent.key.slice(8, 20));
    }
  });
});
