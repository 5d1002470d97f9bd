import { describe, expect, test } from "bun:test";
import { type EnvelopeForm, envelope } from "../../src/inbox/envelope.ts";
import { Envelope } from "../../src/inbox/index.ts";
import { encodeJson } from "../../src/kernel/json.ts";
import type { EventRecord } from "../../src/store/types.ts";

const RECORD: EventRecord = {
  ...{ seq: 1, id: "evt_01h455vb4pex5vsknk084sn02q", project: "prj_01h455vb4pex5vsknk084sn02q" },
  ...{ source: "billing", channel: "webhook", type: "invoice.paid", receivedAt: 1_791_364_364_120, verified: true },
  ...{ routed: false, purged: false, status: "failed", attempts: 2, dueAt: 5, blob: null },
  ...{ headers: '{"x-b":"2","content-type":"application/json"}', payload: '{"n":1.10,"a":1,"a":2}' },
};
const LISTED: EnvelopeForm = { form: "listed" };
const WHOLE: EnvelopeForm = { form: "whole", link: ({ id }) => `http://127.0.0.1/${id}` };
const BLOB = { key: "0".repeat(32), size: 300_000, contentType: "text/plain" };

/** An envelope as a client gets it. */
function sent(record: Partial<EventRecord>, how: EnvelopeForm): Record<string, unknown> {
  return JSON.parse(encodeJson(envelope({ ...RECORD, ...record } as EventRecord, how)));
}

test("an envelope is exactly 19 fields in their order, whatever the event holds", () => {
  const fields = [
    ...["id", "project", "source", "channel", "type", "received_at", "verified", "trust", "reply_to", "headers"],
    ...["payload", "payload_url", "payload_truncated", "payload_purged", "html_url", "attachments"],
    ...["attachments_blocked", "status", "attempts"],
  ];
  for (const record of [
    {},
    { blob: BLOB, payload: null },
    { purged: true, payload: null },
    { channel: "system" as const },
  ]) {
    for (const how of [LISTED, WHOLE]) {
      const event = sent(record, how);
      expect(Object.keys(event)).toEqual(fields);
      expect(Envelope.strict().safeParse(event).success).toBe(true);
    }
  }
  expect(Object.keys(Envelope.shape)).toEqual(fields);
});

test("headers and payload stand in it byte for byte", () => {
  const text = encodeJson(envelope(RECORD, WHOLE));
  expect(text).toContain(`"headers":${RECORD.headers},"payload":${RECORD.payload},`);
  expect(sent({}, WHOLE)).toMatchObject({
    ...{ received_at: "2026-10-07T09:12:44.120Z", status: "failed", attempts: 2, trust: "external_untrusted" },
    ...{ payload_truncated: false, payload_url: null, reply_to: null },
  });
});

test("what Postern writes itself is trusted, and nothing else is, verified or not", () => {
  expect(sent({ channel: "system" }, LISTED).trust).toBe("postern");
  for (const channel of ["webhook", "email"] as const) {
    expect(sent({ channel, verified: true }, LISTED).trust).toBe("external_untrusted");
  }
});

describe("a payload over 8,192 bytes of JSON is left out of lists", () => {
  // Two bytes are the quotes.
  test.each([
    ["ASCII at the limit", "x".repeat(8190), false],
    ["ASCII over it", "x".repeat(8191), true],
    ["two bytes a letter, at the limit", "é".repeat(4095), false],
    ["two bytes a letter, over it", "é".repeat(4096), true],
    ["three bytes a letter, over it", "語".repeat(2731), true],
    ["three bytes a letter, within", "語".repeat(2730), false],
    ["four bytes a pair, over it", "📮".repeat(2048), true],
    ["four bytes a pair, within", "📮".repeat(2047), false],
  ])("%s", (_, text, truncated) => {
    const payload = JSON.stringify(text);
    expect(Buffer.byteLength(payload) > 8192).toBe(truncated);
    expect(sent({ payload }, LISTED)).toMatchObject({ payload_truncated: truncated, payload: truncated ? null : text });
    expect(sent({ payload }, WHOLE)).toMatchObject({ payload_truncated: false, payload: text });
  });
});

test("a body stored apart is null everywhere, with a fresh link where the event is whole", () => {
  expect(sent({ payload: null, blob: BLOB }, LISTED)).toMatchObject({
    ...{ payload: null, payload_truncated: true, payload_url: null },
  });
  expect(sent({ payload: null, blob: BLOB }, WHOLE)).toMatchObject({
    ...{ payload: null, payload_truncated: false, payload_url: `http://127.0.0.1/${RECORD.id}` },
  });
});

test("a purged event says so, and has neither payload nor link", () => {
  for (const how of [LISTED, WHOLE]) {
    expect(sent({ payload: null, purged: true }, how)).toMatchObject({
      ...{ payload: null, payload_purged: true, payload_truncated: false, payload_url: null },
    });
  }
});
