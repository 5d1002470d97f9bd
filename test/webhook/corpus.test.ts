import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { isProblem } from "../../src/kernel/problems.ts";
import { classify } from "../../src/webhook/classify.ts";
import { decodeBody } from "../../src/webhook/content-encoding.ts";
import { payloadOf } from "../../src/webhook/payload.ts";
import { schemeFor } from "../../src/webhook/providers/index.ts";
import { verify } from "../../src/webhook/signatures/verify.ts";
import { corpusMissing, readCorpus, readCorpusJson } from "../support/corpus.ts";
import { describeWith, needsCorpus } from "../support/needs.ts";
import { mac, parsed, provider, scheme, transmission } from "./support.ts";

type Entry = {
  file: string;
  headers?: Record<string, string>;
  expected_type?: string | null;
  expected?: string;
  sha256: string;
  id?: string | null;
  stored_gzip?: boolean;
};

const needs = needsCorpus();
const index = (folder: string): Entry[] =>
  corpusMissing ? [] : readCorpusJson<Entry[]>("webhooks", folder, "index.json");

function bodyOf(folder: string, entry: Entry): Uint8Array {
  const stored = readCorpus("webhooks", folder, entry.file);
  return entry.stored_gzip ? gunzipSync(stored) : stored;
}

function classified(kind: string, headers: Record<string, string>, body: Uint8Array) {
  const entry = provider(kind);
  const settings = { dedup: "auto" } as const;
  const sent = transmission(headers, body);
  return classify({
    provider: entry,
    scheme: schemeFor(entry, settings),
    settings,
    transmission: sent,
    decoded: body,
    verified: entry.verifies,
  });
}

/** The stored payload is the body itself, or the body is stored apart as it came. */
function expectSameBytes(json: string | null, body: Uint8Array, sha256: string) {
  const kept = json === null ? body : Buffer.from(json);
  expect(createHash("sha256").update(kept).digest("hex")).toBe(sha256);
}

describeWith(needs)("real GitHub deliveries", () => {
  for (const entry of index("github").filter(({ headers }) => headers?.["X-GitHub-Event"])) {
    test(entry.file, () => {
      const body = bodyOf("github", entry);
      const headers = { ...entry.headers, "X-Hub-Signature-256": `sha256=${mac("s3cret", "hex", body)}` };
      expect(verify(scheme("github"), ["s3cret"], transmission(headers, body), 0)).toEqual({ ok: true });
      const event = classified("github", headers, body);
      expect(event.type).toBe(entry.expected_type ?? "");
      expect(event.dedup?.kind).toBe(entry.headers?.["X-GitHub-Delivery"] ? "id" : "body");
      expect(event.headers).not.toHaveProperty("x-hub-signature-256");
      if (event.payload.form === "json") expectSameBytes(event.payload.json, body, entry.sha256);
      else expect(headers).toHaveProperty("Content-Type", "application/x-www-form-urlencoded");
    });
  }
});

describeWith(needs)("real Stripe events", () => {
  for (const entry of index("stripe")) {
    test(entry.file, () => {
      const body = bodyOf("stripe", entry);
      const headers = { "Content-Type": "application/json; charset=utf-8" };
      const event = classified("stripe", headers, body);
      expect(event.type).toBe(entry.expected_type ?? "webhook.received");
      expect(event.dedup?.kind).toBe(entry.id ? "id" : "body");
      expectSameBytes(event.payload.json, body, entry.sha256);
    });
  }
});

describeWith(needs)("what other senders send, at a source that knows nothing of them", () => {
  for (const entry of index("other")) {
    test(entry.file, async () => {
      const body = bodyOf("other", entry);
      const headers = entry.headers ?? {};
      const decoded = await decodeBody(body, new Headers(headers).get("content-encoding"), 10_485_760);
      if (isProblem(decoded)) throw new Error(`${entry.file}: ${decoded.code}`);
      const { payload, dedup } = classified("unsigned", headers, decoded);
      expect(dedup).not.toBeNull();
      if (payload.form === "json") expect(payload.json ?? "").toBe(Buffer.from(decoded).toString("utf8"));
      else parsed(payload.json);
    });
  }
});

/** What the edge bodies become; all others are JSON and keep their text. */
const FORMS: Record<string, "form" | "text" | "binary" | "refused"> = {
  "empty-body.bin": "text",
  "empty-body-no-content-type.bin": "text",
  "whitespace-only.json": "text",
  // ASCII in UTF-16 or UTF-32 without a byte order mark is no JSON, but its bytes are UTF-8: NULs between letters.
  "utf16be.json": "text",
  "utf32le.json": "text",
  "latin1-declared.json": "binary",
  "invalid-utf8.json": "binary",
  "overlong-utf8.json": "binary",
  "number-leading-zero.json": "text",
  "nan-infinity.json": "text",
  "trailing-comma-comments.json": "text",
  "single-quotes.json": "text",
  "trailing-garbage.json": "text",
  "gzip-without-header.bin": "binary",
  "gzip-truncated.bin": "refused",
  "gzip-bomb-64MiB.bin": "refused",
  "png.bin": "binary",
  "all-256-bytes.bin": "binary",
  "protobuf.bin": "binary",
  "text-plain.txt": "text",
  "text-crlf-mixed.txt": "text",
  "json-as-text-plain.txt": "text",
  "form-simple.txt": "form",
  "form-bad-escapes.txt": "form",
  "form-brackets-proto.txt": "form",
  "form-10k-params.txt": "form",
  "multipart.bin": "form",
  "multipart-wrong-boundary.bin": "binary",
  "multipart-no-boundary-param.bin": "binary",
  "xml-xxe.xml": "text",
  "xml-billion-laughs.xml": "text",
  "soap.xml": "text",
};

describeWith(needs)("the edge bodies", () => {
  for (const entry of index("encodings")) {
    test(`${entry.file}: ${entry.expected}`, async () => {
      const body = bodyOf("encodings", entry);
      const headers = entry.headers ?? {};
      const decoded = await decodeBody(body, new Headers(headers).get("content-encoding"), 10_485_760);
      const form = FORMS[entry.file] ?? "json";
      if (isProblem(decoded)) {
        expect(form).toBe("refused");
        return;
      }
      const { payload, type } = classified("standard_webhooks", headers, decoded);
      expect(payload.form).toBe(form as typeof payload.form);
      expect(type).toMatch(/^[^\p{C}]{1,200}$/u);
      if (form === "json" && payload.json !== null) {
        const text = Buffer.from(decoded).toString("utf8");
        expect(payload.json).toBe(text.replace(/^\ufeff/, ""));
      }
      if (form === "binary") expect(parsed(payload.json)).toEqual({ base64: Buffer.from(decoded).toString("base64") });
      expect("isAdmin" in {}).toBe(false);
    });
  }

  test("a form and its parts, read exactly", () => {
    const simple = readCorpus("webhooks/encodings/form-simple.txt");
    expect(parsed(payloadOf(simple, "application/x-www-form-urlencoded").json)).toEqual({
      a: ["1", "3"],
      b: "two",
      empty: "",
      novalue: "",
      你: "好",
      plus: "a b+c",
    });
    const multipart = readCorpus("webhooks/encodings/multipart.bin");
    expect(parsed(payloadOf(multipart, "multipart/form-data; boundary=AaB03x").json)).toMatchObject({
      payload: '{"id":"evt_mp"}',
      file: { filename: "ünï.txt", content_type: "text/plain", base64: "aGVsbG8=" },
      bin: { filename: "../../etc/passwd", content_type: "application/octet-stream" },
    });
  });
});

describeWith(needs)("the JSON test suite", () => {
  type Case = { name: string; base64?: string; gzip_base64?: string };
  const cases = corpusMissing ? [] : readCorpusJson<Case[]>("webhooks/encodings/jsontestsuite-packed.json");

  for (const { name, base64, gzip_base64 } of cases) {
    test(name, () => {
      const packed = Buffer.from(gzip_base64 ?? base64 ?? "", "base64");
      const body = gzip_base64 === undefined ? packed : gunzipSync(packed);
      const { json, form } = payloadOf(body, "application/json");
      if (name.startsWith("y_")) expect(form).toBe("json");
      if (name.startsWith("n_")) expect(form).not.toBe("json");
      if (form === "json")
        expect(json).toBe(
          Buffer.from(body)
            .toString("utf8")
            .replace(/^\ufeff/, ""),
        );
      else parsed(json);
    });
  }
});
