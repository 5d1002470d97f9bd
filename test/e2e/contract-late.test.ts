import { beforeAll, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { describeWith, needsBinary } from "../support/needs.ts";
import { type Bed, makeBed, raw, refused, type SourceMade } from "./bed.ts";

const SECRET = "late-secret";
const BODY = '{"late":true}';

function signature(text: string): string {
  return `sha256=${createHmac("sha256", SECRET).update(text).digest("hex")}`;
}

describeWith(needsBinary())("what changes while a body is still coming in", () => {
  let bed: Bed;

  beforeAll(async () => {
    bed = await makeBed();
  });

  /** Sends the head and half a body, does `meanwhile`, sends the rest; the answer's first line. */
  async function held(path: string, head: string[], body: string, meanwhile: () => Promise<unknown>): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<string>();
    let answer = "";
    const socket = await Bun.connect({
      hostname: "127.0.0.1",
      port: bed.daemon.port,
      socket: {
        data(_, chunk) {
          answer += chunk.toString();
          if (answer.includes("\r\n")) resolve(answer.split("\r\n")[0] ?? "");
        },
        close: () => resolve(answer),
      },
    });
    const lines = [`POST ${path} HTTP/1.1`, "Host: postern", ...head, `Content-Length: ${body.length}`, "", ""];
    socket.write(lines.join("\r\n") + body.slice(0, 4));
    await Bun.sleep(50);
    await meanwhile();
    socket.write(body.slice(4));
    const first = await promise;
    socket.end();
    return first;
  }

  const signed = (): Promise<SourceMade> => bed.source({ kind: "hmac_sha256", secret: SECRET });
  const pathOf = (source: SourceMade) => new URL(source.ingest_url).pathname;
  const head = [`x-signature-256: ${signature(BODY)}`, "content-type: application/json"];

  test("a source that is paused meanwhile takes nothing more", async () => {
    const source = await signed();
    const line = await held(pathOf(source), head, BODY, () => bed.post(`/v1/sources/${source.id}/pause`));
    expect(line).toContain(" 503 ");
  });

  test("a secret that ends meanwhile counts no more", async () => {
    const source = await signed();
    const rotate = () => bed.post(`/v1/sources/${source.id}/rotate-secret`, { secret: "another", grace_seconds: 0 });
    expect(await held(pathOf(source), head, BODY, rotate)).toContain(" 401 ");
  });

  test("a URL that is rotated or deleted meanwhile is unknown", async () => {
    const rotated = await signed();
    const rotate = () => bed.post(`/v1/sources/${rotated.id}/rotate-url`);
    expect(await held(pathOf(rotated), head, BODY, rotate)).toContain(" 404 ");
    const deleted = await signed();
    expect(await held(pathOf(deleted), head, BODY, () => bed.remove(`/v1/sources/${deleted.id}`))).toContain(" 404 ");
  });

  test("a key that loses its scope meanwhile claims nothing", async () => {
    const key = await bed.key();
    const narrow = () => bed.patch(`/v1/keys/${key.id}`, { scopes: ["inbox:read"] });
    const line = await held("/v1/inbox/claim", [`Authorization: Bearer ${key.key}`], '{"max": 1}', narrow);
    expect(line).toContain(" 403 ");
  });

  test("the signature of a GET covers its query, which is its content", async () => {
    const source = await bed.source({ kind: "hmac_sha256", secret: SECRET, allow_get: true });
    const get = (query: string, text: string) =>
      fetch(`${source.ingest_url}?${query}`, { headers: { "x-signature-256": signature(text) } });
    expect((await get("amount=1", "amount=1")).status).toBe(200);
    expect((await get("amount=1000000", "")).status).toBe(401);
    expect((await get("amount=1000000", "amount=1")).status).toBe(401);
  });

  test("a broken percent-encoding in an ingest URL is not found", async () => {
    for (const path of ["/in/%", "/in/%E0%A4%A"]) {
      const answer = await raw(bed.daemon.port, [
        `POST ${path} HTTP/1.1\r\nHost: postern\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
      ]);
      expect(answer).toContain(" 404 ");
    }
  });

  test("a body of the API that nests too deep is refused with its reason", async () => {
    const source = await bed.source({});
    const key = await bed.key();
    const id = await bed.event(source, "{}");
    await bed.claim(id, key.key);
    const deep = `{"result":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
    refused(await bed.post(`/v1/events/${id}/ack`, deep, key.key), 422, "INVALID_REQUEST");
  });
});
