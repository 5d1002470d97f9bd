import { createHash } from "node:crypto";
import { closeSync, fsyncSync, openSync, readSync, writeSync } from "node:fs";

/** One file of an archive: its name, and its bytes in pieces. `mtime` is in Unix seconds. */
export type TarEntry = { name: string; size: number; mtime: number; chunks: Iterable<Uint8Array> };

const BLOCK = 512;
const PIECE = 1024 * 1024;

/** Writes files one after the other as a POSIX archive (ustar, IEEE 1003.1), to a new file that only its owner may read. */
export class TarWriter {
  readonly #file: number;

  constructor(path: string) {
    this.#file = openSync(path, "wx", 0o600);
  }

  /** Adds a file and answers its SHA-256 in hex. */
  add({ name, size, mtime, chunks }: TarEntry): string {
    writeAll(this.#file, headerOf(name, size, mtime));
    const hash = createHash("sha256");
    let written = 0;
    for (const chunk of chunks) {
      writeAll(this.#file, chunk);
      hash.update(chunk);
      written += chunk.length;
    }
    if (written !== size) throw new Error(`${name} changed while it was read`);
    writeAll(this.#file, new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK));
    return hash.digest("hex");
  }

  /** Ends the archive with its two empty blocks, and answers once it is on disk. */
  end(): void {
    writeAll(this.#file, new Uint8Array(2 * BLOCK));
    fsyncSync(this.#file);
    closeSync(this.#file);
  }

  /** Gives up: the file is left as it is. */
  abandon(): void {
    closeSync(this.#file);
  }
}

/** A file's bytes in pieces. */
export function* piecesOf(path: string): Generator<Uint8Array> {
  const file = openSync(path, "r");
  try {
    const piece = new Uint8Array(PIECE);
    for (let read = readSync(file, piece); read > 0; read = readSync(file, piece)) yield piece.subarray(0, read);
  } finally {
    closeSync(file);
  }
}

/** The files of an archive in their order; each one's pieces must be read before the next. Throws where it is damaged or cut off. */
export function* tarEntries(path: string): Generator<TarEntry> {
  const file = openSync(path, "r");
  try {
    for (;;) {
      const header = exactly(file, BLOCK);
      if (header.every((byte) => byte === 0)) return;
      const { name, size, mtime } = readHeader(header);
      let left = size;
      const chunks = (function* () {
        while (left > 0) {
          const piece = exactly(file, Math.min(left, PIECE));
          left -= piece.length;
          yield piece;
        }
      })();
      yield { name, size, mtime, chunks };
      for (const _ of chunks);
      exactly(file, (BLOCK - (size % BLOCK)) % BLOCK);
    }
  } finally {
    closeSync(file);
  }
}

function writeAll(file: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
}

function exactly(file: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; ) {
    const read = readSync(file, bytes, at, length - at, null);
    if (read === 0) throw new Error("the archive is cut off");
    at += read;
  }
  return bytes;
}

const text = new TextEncoder();

function headerOf(name: string, size: number, mtime: number): Uint8Array {
  if (name.length > 100) throw new Error(`${name} is too long a name for the archive`);
  const header = new Uint8Array(BLOCK);
  const put = (at: number, value: string) => header.set(text.encode(value), at);
  put(0, name);
  put(100, "0000600\0");
  put(108, "0000000\0");
  put(116, "0000000\0");
  putSize(header, size);
  put(136, `${mtime.toString(8).padStart(11, "0")}\0`);
  put(148, " ".repeat(8));
  put(156, "0");
  put(257, "ustar\u000000");
  put(148, `${checksum(header).toString(8).padStart(6, "0")}\0 `);
  return header;
}

/** Octal up to 8 GiB; beyond it the number itself, big-endian with the highest bit set, as GNU tar and BSD tar have it. */
function putSize(header: Uint8Array, size: number): void {
  if (size < 0o77777777777) header.set(text.encode(`${size.toString(8).padStart(11, "0")}\0`), 124);
  else {
    const view = new DataView(header.buffer, header.byteOffset);
    view.setUint8(124, 0x80);
    view.setBigUint64(128, BigInt(size));
  }
}

function readHeader(header: Uint8Array): { name: string; size: number; mtime: number } {
  const field = (at: number, length: number) =>
    new TextDecoder().decode(header.subarray(at, at + length)).replace(/\0.*$/s, "");
  const stated = Number.parseInt(field(148, 8).trim(), 8);
  const blank = header.slice();
  blank.fill(32, 148, 156);
  if (stated !== checksum(blank)) throw new Error("the archive is damaged, or no archive at all");
  if (!["0", ""].includes(field(156, 1))) throw new Error("it holds what is no plain file");
  const view = new DataView(header.buffer, header.byteOffset);
  const size = view.getUint8(124) & 0x80 ? Number(view.getBigUint64(128)) : Number.parseInt(field(124, 12), 8);
  if (!Number.isSafeInteger(size) || size < 0) throw new Error("the archive is damaged");
  return { name: field(0, 100), size, mtime: Number.parseInt(field(136, 12), 8) };
}

function checksum(header: Uint8Array): number {
  return header.reduce((sum, byte) => sum + byte, 0);
}
