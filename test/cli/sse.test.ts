import { expect, test } from "bun:test";
import fc from "fast-check";
import { streamMessages } from "../../src/cli/sse.ts";

function streamOf(chunks: Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
}

const TEXT =
  ': postern\n\nid: 7\nevent: event\ndata: {"é":"日本"}\n\n: beat\n\nid: 8\r\nevent: reset\r\ndata: a\r\ndata: b\r\n\r\nid: 9\ndata: cut off';
const MESSAGES = [
  { id: "7", event: "event", data: '{"é":"日本"}' },
  { id: "8", event: "reset", data: "a\nb" },
];

test("messages come out whole however the stream is cut; comments and an unfinished message do not", async () => {
  const bytes = new TextEncoder().encode(TEXT);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 12 }), async (cuts) => {
      const edges = [0, ...cuts.sort((a, b) => a - b), bytes.length];
      const chunks = edges.slice(1).map((end, at) => bytes.subarray(edges[at], end));
      const found = [];
      for await (const message of streamMessages(streamOf(chunks))) found.push(message);
      expect(found).toEqual(MESSAGES);
    }),
  );
});
