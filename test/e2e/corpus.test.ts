import { beforeAll, expect, test } from "bun:test";
import { createHash, createHmac } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { corpusMissing, readCorpus, readCorpusJson } from "../support/corpus.ts";
import { describeWith, needsBinary, needsCorpus } from "../support/needs.ts";
import { type Bed, type KeyMade, makeBed, type Shown, type SourceMade } from "./bed.ts";

type Entry = {
  file: string;
  headers?: Record<string, string>;
  expected_type?: string | null;
  sha256: string;
  id?: string | null;
  stored_gzip?: boolean;
  method?: string;
  query?: string;
};

const SECRET = "whsec_a secret of the tests";

const index = (folder: string): Entry[] =>
  corpusMissing ? [] : readCorpusJson<Entry[]>("webhooks", folder, "index.json");

function bodyOf(folder: string, entry: Entry): Uint8Array {
  const stored = readCorpus("webhooks", folder, entry.file);
  return entry.stored_gzip ? new Uint8Array(gunzipSync(stored)) : stored;
}

const mac = (body: Uint8Array, before = "") => createHmac("sha256", SECRET).update(before).update(body).digest("hex");
const sha256 = (bytes: Uint8Array | string) => createHash("sha256").update(bytes).digest("hex");

/** A bomb answers 413 and what cannot be decoded 400; all else is taken. */
const REFUSED: Record<string, number> = { "gzip-truncated.bin": 400, "gzip-bomb-64MiB.bin": 413 };

describeWith(needsBinary(), needsCorpus())("what real senders send, through the running daemon", () => {
  let bed: Bed;
  let agent: KeyMade;

  beforeAll(async () => {
    bed = await makeBed();
    agent = await bed.key();
  });

  /** The payload's own text out of an answer with one event, every byte as it was sent. */
  function payloadText(answer: string): string {
    const start = answer.indexOf('"payload":') + '"payload":'.length;
    return answer.slice(start, answer.lastIndexOf(',"payload_url":'));
  }

  /** What `GET /v1/events/{id}` and a claim show of the payload, or the stored bytes where it lies apart. */
  async function payloadsOf(id: string): Promise<{ event: Shown; bytes: Uint8Array[] }> {
    const answers = [await bed.get(`/v1/events/${id}`), await bed.post(`/v1/events/${id}/claim`, {}, agent.key)];
    const bytes: Uint8Array[] = [];
    for (const answer of answers) {
      const { payload_url } = answer.json<{ event: Shown }>().event;
      const whole = payload_url === null ? undefined : await fetch(payload_url);
      bytes.push(whole ? await whole.bytes() : new TextEncoder().encode(payloadText(answer.text)));
    }
    const { event } = await bed.whole(id);
    return { event, bytes };
  }

  /** Sends an entry of the index twice: once it arrives, as the index says, and the second time it is a duplicate. */
  async function arrives(source: SourceMade, entry: Entry, body: Uint8Array, headers: Record<string, string>) {
    const first = await bed.send(source, body, headers);
    expect({ file: entry.file, status: first.status }).toEqual({ file: entry.file, status: 200 });
    const { id, duplicate } = first.json<{ id: string; duplicate: boolean }>();
    const again = (await bed.send(source, body, headers)).json();
    expect(again).toEqual({ id, duplicate: true });
    return { id, duplicate };
  }

  test("every GitHub delivery arrives, is typed, and comes back byte for byte", async () => {
    const source = await bed.source({ name: "github", kind: "github", secret: SECRET });
    const entries = index("github").filter(({ headers }) => headers?.["X-GitHub-Event"]);
    expect(entries.length).toBeGreaterThan(80);
    for (const entry of entries) {
      const body = bodyOf("github", entry);
      const signed = { ...entry.headers, "x-hub-signature-256": `sha256=${mac(body)}` };
      const { id, duplicate } = await arrives(source, entry, body, signed);
      expect({ file: entry.file, duplicate }).toEqual({ file: entry.file, duplicate: false });
      const { event, bytes } = await payloadsOf(id);
      expect({ type: event.type, verified: event.verified }).toEqual({
        type: entry.expected_type ?? "",
        verified: true,
      });
      const isForm = entry.headers?.["Content-Type"]?.includes("urlencoded");
      for (const shown of bytes) if (!isForm) expect([entry.file, sha256(shown)]).toEqual([entry.file, entry.sha256]);
      if (isForm) expect(event.payload).toHaveProperty("payload");
    }
  }, 60_000);

  test("every Stripe event arrives, is typed, and comes back byte for byte", async () => {
    const source = await bed.source({ name: "stripe", kind: "stripe", secret: SECRET });
    const entries = index("stripe");
    expect(entries.length).toBeGreaterThan(60);
    const seen = new Map<string, string>();
    for (const entry of entries) {
      const body = bodyOf("stripe", entry);
      const at = Math.floor(Date.now() / 1000);
      const headers = {
        "content-type": "application/json; charset=utf-8",
        "stripe-signature": `t=${at},v1=${mac(body, `${at}.`)},v0=${"0".repeat(64)}`,
      };
      const { id, duplicate } = await arrives(source, entry, body, headers);
      // Fixtures of different files carry the same id, which makes them the same event to Stripe.
      const known = entry.id ? seen.get(entry.id) : undefined;
      expect({ file: entry.file, duplicate }).toEqual({ file: entry.file, duplicate: known !== undefined });
      if (known !== undefined) {
        expect(id).toBe(known);
        continue;
      }
      if (entry.id) seen.set(entry.id, id);
      const { event, bytes } = await payloadsOf(id);
      expect({ type: event.type, verified: event.verified }).toEqual({
        type: entry.expected_type ?? "webhook.received",
        verified: true,
      });
      for (const shown of bytes) expect([entry.file, sha256(shown)]).toEqual([entry.file, entry.sha256]);
    }
    expect(seen.size).toBeGreaterThan(20);
  }, 60_000);

  test("whatever another sender sends to an unsigned source is taken and told as the contract says", async () => {
    const source = await bed.source({ name: "other", allow_get: true });
    const entries = index("other");
    expect(entries.length).toBeGreaterThan(100);
    for (const entry of entries) {
      const body = bodyOf("other", entry);
      const isGet = entry.method === "GET";
      const answer = isGet
        ? await bed.daemon.api(`${source.path}?${entry.query ?? "status=up"}`, { headers: entry.headers ?? {} })
        : await bed.send(source, body, entry.headers ?? {});
      expect({ file: entry.file, status: answer.status }).toEqual({ file: entry.file, status: 200 });
      if (isGet) continue;
      const { id } = answer.json<{ id: string }>();
      const { event, bytes } = await payloadsOf(id).catch((error: Error) => {
        throw new Error(`${entry.file}: ${error.message}`);
      });
      expect(event).toMatchObject({ verified: false, trust: "external_untrusted" });
      for (const [name, value] of Object.entries(entry.headers ?? {})) {
        if (!/signature|token|secret|key|auth|hmac/i.test(name)) continue;
        if (value.length > 8) expect(JSON.stringify(event.headers)).not.toContain(value);
      }
      const type = entry.headers?.["Content-Type"] ?? "";
      const text = Buffer.from(body).toString("utf8");
      if (/json/i.test(type)) for (const shown of bytes) expect(Buffer.from(shown).toString()).toBe(text);
      else if (/urlencoded|multipart/i.test(type)) expect(Object.keys(event.payload as object)).not.toEqual(["text"]);
      else if (/^text|xml/i.test(type)) expect(event.payload).toEqual({ text });
    }
  }, 60_000);

  test("the edge bodies get their answers, never a 5xx", async () => {
    const source = await bed.source({ name: "edges", dedup: "none" });
    for (const entry of index("encodings")) {
      const body = bodyOf("encodings", entry);
      const answer = await bed.send(source, body, entry.headers ?? {});
      const status = REFUSED[entry.file] ?? 200;
      expect({ file: entry.file, status: answer.status }).toEqual({ file: entry.file, status });
      if (status !== 200) continue;
      const { id } = answer.json<{ id: string }>();
      const whole = await bed.daemon.operator(`/v1/events/${id}`);
      expect(whole.status).toBe(200);
      const text = Buffer.from(body)
        .toString("utf8")
        .replace(/^\ufeff/, "");
      const apart = /"payload_url":"([^"]+)"/.exec(whole.text)?.[1];
      if (apart) expect(sha256(await (await fetch(apart)).bytes())).toBe(sha256(body));
      else if (/"payload":\{"(text|base64)":/.test(whole.text) && !entry.headers?.["Content-Encoding"]) {
        const { text: shown, base64 } = whole.json<{ event: { payload: Record<string, string> } }>().event.payload;
        const kept = base64 === undefined ? Buffer.from(shown ?? "") : Buffer.from(base64, "base64");
        const isUtf8 = !/charset=(?!utf-8)/i.test(entry.headers?.["Content-Type"] ?? "");
        if (isUtf8) expect([entry.file, sha256(kept)]).toEqual([entry.file, entry.sha256]);
      } else if (/json/i.test(entry.headers?.["Content-Type"] ?? "") && !entry.headers?.["Content-Encoding"]) {
        expect(payloadText(whole.text.slice(0, whole.text.lastIndexOf(',"lease":')))).toBe(text);
      }
    }
    expect((await bed.daemon.api("/readyz")).status).toBe(200);
    expect(bed.daemon.output).not.toContain("failed by a bug");
  }, 60_000);

  test("the JSON test suite: what is JSON stays, what is not becomes text or base64", async () => {
    type Case = { name: string; base64?: string; gzip_base64?: string };
    const source = await bed.source({ name: "suite", dedup: "none" });
    for (const { name, base64, gzip_base64 } of readCorpusJson<Case[]>(
      "webhooks/encodings/jsontestsuite-packed.json",
    )) {
      const packed = Buffer.from(gzip_base64 ?? base64 ?? "", "base64");
      const body = new Uint8Array(gzip_base64 === undefined ? packed : gunzipSync(packed));
      const answer = await bed.send(source, body, { "content-type": "application/json" });
      expect({ name, status: answer.status }).toEqual({ name, status: 200 });
      const { id } = answer.json<{ id: string }>();
      const { text } = await bed.daemon.operator(`/v1/events/${id}`);
      const kept = payloadText(text.slice(0, text.lastIndexOf(',"lease":')));
      const same = kept === Buffer.from(body).toString("utf8");
      if (name.startsWith("y_")) expect({ name, same }).toEqual({ name, same: true });
      if (name.startsWith("n_"))
        expect({ name, form: /^\{"(?:text|base64)":"/.test(kept) }).toEqual({ name, form: true });
    }
  }, 60_000);

  test("signatures of our own kinds that carry no time", async () => {
    type Vector = {
      secret?: string;
      headers: Record<string, string>;
      body?: string;
      body_base64?: string;
      valid: boolean;
      ambiguous?: boolean;
    };
    const vectors = readCorpusJson<Vector[]>("signatures", "github.json").filter(({ secret }) => secret);
    const sources = new Map<string, SourceMade>();
    let tried = 0;
    for (const vector of vectors) {
      const { secret = "", headers, body = "", body_base64, valid, ambiguous } = vector;
      if (ambiguous || Object.values(headers).some((value) => /[^\x20-\x7e]/.test(value))) continue;
      const source = sources.get(secret) ?? (await bed.source({ kind: "github", secret, dedup: "none" }));
      sources.set(secret, source);
      const bytes = body_base64 === undefined ? new TextEncoder().encode(body) : Buffer.from(body_base64, "base64");
      const answer = await bed.send(source, new Uint8Array(bytes), headers);
      expect([JSON.stringify(vector).slice(0, 300), answer.status]).toEqual([
        JSON.stringify(vector).slice(0, 300),
        valid ? 200 : 401,
      ]);
      tried++;
    }
    expect(tried).toBeGreaterThan(5);
  });
});
