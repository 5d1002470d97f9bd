import { promisify } from "node:util";
import {
  brotliDecompress,
  brotliDecompressSync,
  gunzip,
  gunzipSync,
  inflate,
  inflateRaw,
  inflateRawSync,
  inflateSync,
  type ZlibOptions,
} from "node:zlib";
import { Problem } from "../kernel/problems.ts";

/** How one encoding is undone, at once and beside other work. Both throw over `maxOutputLength` and for broken data. */
type Decoder = {
  readonly sync: (data: Uint8Array, options: ZlibOptions) => Uint8Array;
  readonly async: (data: Uint8Array, options: ZlibOptions) => Promise<Uint8Array>;
};

const GZIP: Decoder = { sync: gunzipSync, async: promisify(gunzip) };
const ZLIB: Decoder = { sync: inflateSync, async: promisify(inflate) };
const RAW_DEFLATE: Decoder = { sync: inflateRawSync, async: promisify(inflateRaw) };
const BROTLI: Decoder = { sync: brotliDecompressSync, async: promisify(brotliDecompress) };

/** More than this in a list is nobody's need and everybody's cost. */
const MAX_ENCODINGS = 2;

/**
 * Output that is made at once: well under a millisecond. Handing a small body to another thread takes ten times as
 * long as decoding it; what turns out to be larger is decoded there, so that a bomb holds up nobody.
 */
const AT_ONCE_BYTES = 262_144;

/**
 * Undoes a body's `Content-Encoding`: gzip (also x-gzip), deflate (with zlib's frame, or bare), br, identity, lists of
 * at most two, last applied first (RFC 9110 section 8.4). `maxBytes` (at least 1) bounds the result of each step, and
 * memory with it: 413 `PAYLOAD_TOO_LARGE` beyond it, 400 `BODY_UNREADABLE` for broken data, 415 `UNSUPPORTED_ENCODING`
 * for what else the header names. A body that needs no decoding is the answer itself, not a promise.
 */
export function decodeBody(
  body: Uint8Array,
  contentEncoding: string | null,
  maxBytes: number,
): Uint8Array | Problem | Promise<Uint8Array | Problem> {
  const steps = contentEncoding === null ? [] : parseEncodings(contentEncoding);
  if (steps instanceof Problem) return steps;
  if (body.length > maxBytes) return tooLarge(maxBytes);
  // Senders that compress all they send name the encoding on empty bodies too.
  return steps.length === 0 || body.length === 0 ? body : decodeSteps(body, steps, maxBytes);
}

type Encoding = "gzip" | "deflate" | "br";

function parseEncodings(header: string): Encoding[] | Problem {
  const steps: Encoding[] = [];
  for (const item of header.toLowerCase().split(",")) {
    const name = item.trim();
    if (name === "" || name === "identity") continue;
    if (name === "gzip" || name === "x-gzip") steps.push("gzip");
    else if (name === "deflate" || name === "br") steps.push(name);
    else return new Problem("UNSUPPORTED_ENCODING", "content-encoding can be gzip, deflate, br or identity");
    if (steps.length > MAX_ENCODINGS) {
      return new Problem("UNSUPPORTED_ENCODING", `content-encoding can name at most ${MAX_ENCODINGS} encodings`);
    }
  }
  return steps.reverse();
}

async function decodeSteps(body: Uint8Array, steps: readonly Encoding[], maxBytes: number) {
  let bytes = body;
  for (const step of steps) {
    const decoded = await decodeStep(bytes, step, maxBytes);
    if (decoded instanceof Problem) return decoded;
    bytes = decoded;
  }
  return bytes;
}

async function decodeStep(data: Uint8Array, encoding: Encoding, maxBytes: number): Promise<Uint8Array | Problem> {
  if (encoding === "gzip") return run(GZIP, data, maxBytes);
  if (encoding === "br") return run(BROTLI, data, maxBytes);
  if (!hasZlibFrame(data)) return run(RAW_DEFLATE, data, maxBytes);
  const framed = await run(ZLIB, data, maxBytes);
  const isBroken = framed instanceof Problem && framed.code === "BODY_UNREADABLE";
  // A bare stream may begin with two bytes that look like a frame.
  return isBroken ? run(RAW_DEFLATE, data, maxBytes) : framed;
}

/** The first two bytes of zlib's format (RFC 1950 section 2.2): method 8, and a multiple of 31. */
function hasZlibFrame(data: Uint8Array): boolean {
  const [first = 0, second = 0] = data;
  return (first & 0x0f) === 8 && ((first << 8) | second) % 31 === 0;
}

async function run(decoder: Decoder, data: Uint8Array, maxBytes: number): Promise<Uint8Array | Problem> {
  try {
    return decoder.sync(data, { maxOutputLength: Math.min(maxBytes, AT_ONCE_BYTES) });
  } catch (error) {
    const problem = problemOf(error, maxBytes);
    if (problem.code !== "PAYLOAD_TOO_LARGE" || maxBytes <= AT_ONCE_BYTES) return problem;
  }
  try {
    return await decoder.async(data, { maxOutputLength: maxBytes });
  } catch (error) {
    return problemOf(error, maxBytes);
  }
}

function problemOf(error: unknown, maxBytes: number): Problem {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "ERR_BUFFER_TOO_LARGE") return tooLarge(maxBytes);
  // What zlib and brotli say of their input; anything else is no fault of the body.
  if (!/^(?:Z_DATA_ERROR|Z_BUF_ERROR|Z_NEED_DICT|ERR_.*ERROR_FORMAT_)/.test(code)) throw error;
  return new Problem("BODY_UNREADABLE", "the body is not what its content-encoding says, or it is cut off");
}

function tooLarge(maxBytes: number): Problem {
  return new Problem("PAYLOAD_TOO_LARGE", `the decoded body is over ${maxBytes} bytes (http.max_body_bytes)`);
}
