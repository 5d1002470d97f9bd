import { beforeAll, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { describeWith, needsBinary } from "../support/needs.ts";
import { type Bed, makeBed, raw, refused, type SourceMade } from "./bed.ts";

const MAX = 100_000;

const github = (secret: string, body: string | Uint8Array, delivery?: string) => ({
  "content-type": "application/json",
  "x-github-event": "ping",
  "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`,
  ...(delivery === undefined ? {} : { "x-github-delivery": delivery }),
});

describeWith(needsBinary())("ingest (contract, sections 3 and 4)", () => {
  let bed: Bed;
  let open: SourceMade;
  let signed: SourceMade;

  beforeAll(async () => {
    bed = await makeBed({ env: { POSTERN_HTTP__MAX_BODY_BYTES: String(MAX) } });
    open = await bed.source({ name: "open" });
    signed = await bed.source({ name: "signed", kind: "github", secret: "s" });
  });

  type Accepted = { id: string; duplicate: boolean };
  const accept = async (to: SourceMade, body: unknown, headers: Record<string, string> = {}, method = "POST") => {
    const answer = await bed.send(to, body, headers, method);
    expect(answer.status).toBe(200);
    return answer.json<Accepted>();
  };
  const count = async () => {
    const { events } = (await bed.get("/v1/inbox?status=all&limit=100&routed=all")).json<{ events: unknown[] }>();
    return events.length;
  };

  test("200 with exactly an id and duplicate, by POST and PUT", async () => {
    for (const method of ["POST", "PUT"]) {
      const answer = await bed.send(open, `{"by":"${method}"}`, {}, method);
      expect(answer.text).toMatch(/^\{"id":"evt_\w{26}","duplicate":false\}$/);
      expect(answer.headers.get("content-type")).toBe("application/json");
      const { event } = await bed.whole(answer.json<Accepted>().id);
      expect(event).toMatchObject({ source: "open", payload: { by: method }, verified: false, status: "pending" });
    }
  });

  test("another method is 405, an unknown token 404, whatever the body", async () => {
    for (const method of ["GET", "DELETE", "PATCH", "OPTIONS"]) {
      refused(await bed.daemon.api(open.path, { method }), 405, "METHOD_NOT_ALLOWED");
    }
    for (const token of ["nope", "a".repeat(32), "%20", "..%2f..", `${open.path.slice(4)}x`, open.path.slice(4, -1)]) {
      refused(await bed.send({ path: `/in/${token}` }, "x".repeat(MAX + 1)), 404, "NOT_FOUND");
    }
    refused(await bed.send({ path: "/in/" }), 404, "NOT_FOUND");
    refused(await bed.send({ path: `${open.path}/more` }), 404, "NOT_FOUND");
  });

  test("a signature that is missing, wrong, cut, of another body or SHA-1 is 401 and stores nothing", async () => {
    const before = await count();
    const right = github("s", "{}");
    const mac = right["x-hub-signature-256"];
    for (const headers of [
      {},
      { "x-hub-signature-256": "" },
      { "x-hub-signature-256": "sha256=" },
      { "x-hub-signature-256": mac.slice(0, -2) },
      { "x-hub-signature-256": `${mac}00` },
      { "x-hub-signature-256": mac.replace("sha256=", "sha1=") },
      { "x-hub-signature-256": mac.replace("sha256=", "") },
      { "x-hub-signature": `sha1=${createHmac("sha1", "s").update("{}").digest("hex")}` },
      github("s", "{} "),
      github("t", "{}"),
    ]) {
      const problem = refused(
        await bed.send(signed, "{}", headers as Record<string, string>),
        401,
        "SIGNATURE_INVALID",
      );
      expect(JSON.stringify(problem)).not.toContain(mac.slice(7, 20));
    }
    expect(await count()).toBe(before);
    expect((await bed.send(signed, "{}", right)).status).toBe(200);
  });

  test("the signature is over the bytes as sent, white space and escapes and all", async () => {
    for (const body of ['{\n  "a": "\\/\\u00e9",\r\n "b":\t1.10 }\n', '"\u2028"', new Uint8Array([0xff, 0, 1]), ""]) {
      expect((await bed.send(signed, body, github("s", body))).status).toBe(200);
    }
    const zipped = gzipSync('{"zipped":true}');
    const headers = { ...github("s", zipped), "content-encoding": "gzip" };
    const { id } = await accept(signed, zipped, headers);
    expect((await bed.whole(id)).event.payload).toEqual({ zipped: true });
    const other = gzipSync('{"zipped":2}');
    const overPlain = { ...github("s", '{"zipped":2}'), "content-encoding": "gzip" };
    refused(await bed.send(signed, other, overPlain), 401, "SIGNATURE_INVALID");
  });

  test("content encodings: gzip, deflate with and without frame, br, two at once; others 415; broken ones 400", async () => {
    const json = (n: number) => `{"n":${n},"text":"${"x".repeat(500)}"}`;
    const cases: [string, Uint8Array][] = [
      ["gzip", gzipSync(json(1))],
      ["x-gzip", gzipSync(json(2))],
      ["deflate", deflateSync(json(3))],
      ["deflate", deflateRawSync(json(4))],
      ["br", brotliCompressSync(json(5))],
      ["GZIP", gzipSync(json(6))],
      ["gzip, br", brotliCompressSync(gzipSync(json(7)))],
      ["identity", Buffer.from(json(8))],
    ];
    for (const [encoding, body] of cases) {
      const { id } = await accept(open, body, { "content-encoding": encoding, "content-type": "application/json" });
      expect((await bed.whole(id)).event.payload).toMatchObject({ text: "x".repeat(500) });
    }
    refused(await bed.send(open, "x", { "content-encoding": "zstd" }), 415, "UNSUPPORTED_ENCODING");
    refused(
      await bed.send(open, gzipSync(json(9)).subarray(0, 20), { "content-encoding": "gzip" }),
      400,
      "BODY_UNREADABLE",
    );
    refused(await bed.send(open, "not zipped", { "content-encoding": "br" }), 400, "BODY_UNREADABLE");
  });

  test("over the limit, as sent or decoded, is 413", async () => {
    const problem = refused(await bed.send(open, "x".repeat(MAX + 1)), 413, "PAYLOAD_TOO_LARGE");
    expect(problem.detail).toContain("http.max_body_bytes");
    expect((await bed.send(open, "y".repeat(MAX))).status).toBe(200);
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    expect(bomb.length).toBeLessThan(MAX);
    refused(await bed.send(open, bomb, { "content-encoding": "gzip" }), 413, "PAYLOAD_TOO_LARGE");
    expect((await bed.send(open, gzipSync("z".repeat(MAX)), { "content-encoding": "gzip" })).status).toBe(200);
  });

  const chunked = (path: string, chunks: string[], end = "0\r\n\r\n") =>
    raw(bed.daemon.port, [
      `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n`,
      ...chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`),
      end,
    ]);

  test("a body in chunks without a length is whole, and 413 as soon as it is too long", async () => {
    const answer = await chunked(open.path, ['{"in":', '"three', ' chunks"}']);
    expect(answer).toStartWith("HTTP/1.1 200");
    const id = /evt_\w{26}/.exec(answer)?.[0] ?? "";
    expect((await bed.whole(id)).event.payload).toEqual({ in: "three chunks" });
    // It never ends, so only a server that reads no further than needed answers.
    const endless = await chunked(
      open.path,
      Array.from({ length: 5 }, () => "x".repeat(MAX / 4)),
      "",
    );
    expect(endless).toStartWith("HTTP/1.1 413");
    expect(endless).toContain("PAYLOAD_TOO_LARGE");
  });

  test("an announced length over the limit is refused without the body", async () => {
    const answer = await raw(bed.daemon.port, [
      `POST ${open.path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${MAX + 1}\r\nConnection: close\r\n\r\n`,
    ]);
    expect(answer).toStartWith("HTTP/1.1 413");
  });

  test("what has passed through Postern more than five times is 508", async () => {
    expect((await bed.send(open, '{"hop":5}', { "postern-hops": "5" })).status).toBe(200);
    for (const hops of ["6", "1000", "1, 6"]) {
      refused(await bed.send(open, '{"hop":6}', { "postern-hops": hops }), 508, "LOOP_DETECTED");
    }
    expect((await bed.send(open, '{"hop":"?"}', { "postern-hops": "many" })).status).toBe(200);
  });

  test("a signed id that comes again is a duplicate, whatever became of the first", async () => {
    const first = await accept(signed, '{"d":1}', github("s", '{"d":1}', "delivery-1"));
    const agent = await bed.key();
    await bed.claim(first.id, agent.key);
    await bed.post(`/v1/events/${first.id}/ack`, {}, agent.key);
    const again = await accept(signed, '{"d":1}', github("s", '{"d":1}', "delivery-1"));
    expect(again).toEqual({ id: first.id, duplicate: true });
    const other = await accept(signed, '{"d":2}', github("s", '{"d":2}', "delivery-1"));
    expect(other).toEqual({ id: first.id, duplicate: true });
    const { event, history } = await bed.whole(first.id);
    expect(event).toMatchObject({ status: "done", payload: { d: 1 } });
    const duplicates = history.filter(({ kind }) => kind === "duplicate");
    expect(duplicates.map((entry) => entry.other_body ?? false)).toEqual([false, true]);
    for (const { at } of duplicates) expect(at).toMatch(/Z$/);
  });

  test("without an id the body tells, per source", async () => {
    const first = await accept(signed, '{"same":1}', github("s", '{"same":1}'));
    expect(await accept(signed, '{"same":1}', github("s", '{"same":1}'))).toEqual({ id: first.id, duplicate: true });
    expect((await accept(signed, '{"same":2}', github("s", '{"same":2}'))).duplicate).toBe(false);
    const elsewhere = await bed.source({ kind: "github", secret: "s" });
    expect((await accept(elsewhere, '{"same":1}', github("s", '{"same":1}'))).duplicate).toBe(false);
    const keyed = { ...github("s", '{"k":1}'), "idempotency-key": "k1" };
    const one = await accept(signed, '{"k":1}', keyed);
    expect(await accept(signed, '{"k":2}', { ...github("s", '{"k":2}'), "idempotency-key": "k1" })).toEqual({
      id: one.id,
      duplicate: true,
    });
  });

  test("unsigned: an id counts together with the body, so that nobody blocks an event by its id", async () => {
    const id = { "webhook-id": "msg_1" };
    const first = await accept(open, '{"u":1}', id);
    expect(await accept(open, '{"u":1}', id)).toEqual({ id: first.id, duplicate: true });
    const genuine = await accept(open, '{"u":2}', id);
    expect(genuine.duplicate).toBe(false);
    expect((await accept(open, '{"u":1}', { "webhook-id": "msg_2" })).duplicate).toBe(false);
  });

  test("dedup `id` tells by an id alone, `none` nothing", async () => {
    const byId = await bed.source({ kind: "github", secret: "s", dedup: "id" });
    expect((await accept(byId, "{}", github("s", "{}"))).duplicate).toBe(false);
    expect((await accept(byId, "{}", github("s", "{}"))).duplicate).toBe(false);
    expect((await accept(byId, "{}", github("s", "{}", "x"))).duplicate).toBe(false);
    expect((await accept(byId, "{}", github("s", "{}", "x"))).duplicate).toBe(true);
    const never = await bed.source({ kind: "github", secret: "s", dedup: "none" });
    for (let i = 0; i < 2; i++) expect((await accept(never, "{}", github("s", "{}", "x"))).duplicate).toBe(false);
  });

  test("64 of the same at once make one event", async () => {
    const body = '{"crowd":true}';
    const answers = await Promise.all(
      Array.from({ length: 64 }, () => accept(signed, body, github("s", body, "crowd"))),
    );
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
    expect(answers.filter(({ duplicate }) => !duplicate)).toHaveLength(1);
    const { history } = await bed.whole(answers[0]?.id ?? "");
    expect(history.filter(({ kind }) => kind === "duplicate")).toHaveLength(63);
    const { events } = (await bed.get("/v1/inbox?source=signed&status=all&limit=100")).json<{
      events: { id: string }[];
    }>();
    expect(events.filter(({ id }) => id === answers[0]?.id)).toHaveLength(1);
  });

  test("what becomes of transmissions is counted", async () => {
    const before = await bed.daemon.api("/metrics");
    const value = (text: string, outcome: string) =>
      Number(new RegExp(`postern_ingest_total\\{outcome="${outcome}"\\} (\\d+)`).exec(text)?.[1]);
    await accept(open, '{"counted":1}');
    await accept(open, '{"counted":1}');
    await bed.send(signed, "{}");
    const { text } = await bed.daemon.api("/metrics");
    for (const outcome of ["accepted", "duplicate", "refused"]) {
      expect(value(text, outcome) - value(before.text, outcome)).toBe(1);
    }
  });

  test("each transmission is read by its own type", async () => {
    const binary = await accept(open, new Uint8Array([1, 2, 255]), { "content-type": "image/png" });
    const json = await accept(open, '{"after":"binary"}', {
      "content-type": "application/hal+json",
      "accept-encoding": "gzip",
    });
    expect((await bed.whole(binary.id)).event.payload).toEqual({ base64: "AQL/" });
    expect((await bed.whole(json.id)).event.payload).toEqual({ after: "binary" });
  });
});
