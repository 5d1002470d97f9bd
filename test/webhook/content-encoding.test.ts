import { describe, expect, test } from "bun:test";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { isProblem } from "../../src/kernel/problems.ts";
import { decodeBody } from "../../src/webhook/content-encoding.ts";
import { readCorpus } from "../support/corpus.ts";
import { needsCorpus, testWith } from "../support/needs.ts";
import { bytes } from "./support.ts";

const MAX = 10 * 1024 * 1024;
const TEXT = '{"id":"evt_1","data":"xxxxxxxxxxxxxxxxxxxxxxxx"}';

async function decoded(body: Uint8Array, encoding: string | null, max = MAX): Promise<string> {
  const result = await decodeBody(body, encoding, max);
  return isProblem(result) ? result.code : Buffer.from(result).toString();
}

describe("a body's content encoding is undone", () => {
  test.each<[string, Uint8Array]>([
    ["gzip", gzipSync(TEXT)],
    ["X-GZIP", gzipSync(TEXT)],
    ["deflate", deflateSync(TEXT)],
    ["deflate", deflateRawSync(TEXT)],
    ["br", brotliCompressSync(TEXT)],
    ["identity", bytes(TEXT)],
    ["", bytes(TEXT)],
    ["gzip, identity", gzipSync(TEXT)],
    ["deflate, gzip", gzipSync(deflateSync(TEXT))],
    ["gzip,br", brotliCompressSync(gzipSync(TEXT))],
  ])("%s", async (encoding, body) => {
    expect(await decoded(body, encoding)).toBe(TEXT);
  });

  test("a bare deflate stream that begins like a framed one", async () => {
    // Stored blocks let the first two bytes be chosen: 0x78 0x01 is also zlib's commonest frame.
    const stream = Uint8Array.of(0x78, 0x01, 0x00, 0xfe, 0xff, 0x61, 0x01, 0x00, 0x00, 0xff, 0xff);
    expect(await decoded(stream, "deflate")).toBe("a");
  });

  test("an uncoded body is answered as itself, at once", () => {
    const body = bytes(TEXT);
    expect(decodeBody(body, null, MAX)).toBe(body);
  });

  test("an empty body has nothing to undo", async () => {
    expect(await decoded(bytes(""), "gzip")).toBe("");
  });
});

describe("broken and unknown", () => {
  test.each<[string, Uint8Array]>([
    ["gzip", bytes("no gzip at all")],
    ["gzip", gzipSync(TEXT).subarray(0, -5)],
    ["gzip", Buffer.concat([gzipSync(TEXT), bytes("rest")])],
    ["deflate", deflateSync(TEXT).subarray(0, -5)],
    ["deflate", bytes("no deflate at all")],
    ["br", brotliCompressSync(TEXT).subarray(0, -3)],
    ["br", bytes("no brotli at all, really")],
    ["gzip, gzip", gzipSync(TEXT)],
  ])("%s data that is broken or cut off: 400", async (encoding, body) => {
    expect(await decoded(body, encoding)).toBe("BODY_UNREADABLE");
  });

  test.each(["zstd", "compress", "gzip;q=1", "gzip, gzip, gzip", "gzip, utf-8"])("%s: 415", async (encoding) => {
    expect(await decoded(gzipSync(TEXT), encoding)).toBe("UNSUPPORTED_ENCODING");
  });
});

describe("output is bounded", () => {
  test("to the byte", async () => {
    for (const size of [1000, 300_000]) {
      for (const [encoding, body] of [
        ["gzip", gzipSync(Buffer.alloc(size))],
        ["deflate", deflateSync(Buffer.alloc(size))],
        ["deflate", deflateRawSync(Buffer.alloc(size))],
        ["br", brotliCompressSync(Buffer.alloc(size))],
      ] as const) {
        expect((await decoded(body, encoding, size)).length).toBe(size);
        expect(await decoded(body, encoding, size - 1)).toBe("PAYLOAD_TOO_LARGE");
      }
    }
  });

  test("in every step of a list, and as sent", async () => {
    const inner = gzipSync(Buffer.alloc(5_000_000));
    expect(await decoded(gzipSync(inner), "gzip, gzip", 100_000)).toBe("PAYLOAD_TOO_LARGE");
    expect(await decoded(new Uint8Array(11), null, 10)).toBe("PAYLOAD_TOO_LARGE");
  });

  testWith(needsCorpus())("a bomb of 64 MiB stops at the bound", async () => {
    expect(await decoded(readCorpus("webhooks/encodings/gzip-bomb-64MiB.bin"), "gzip")).toBe("PAYLOAD_TOO_LARGE");
  });
});
