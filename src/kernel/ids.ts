import { randomFillSync } from "node:crypto";

/** The prefixes of Postern's ids, each for one kind of thing. */
export type IdPrefix = "prj" | "src" | "evt" | "key" | "rte" | "dst" | "dlv" | "att" | "sbj" | "req" | "usr" | "lse";

/** A TypeID such as `evt_01jqz…`: prefix, `_`, 26 characters of Crockford base32 of a UUIDv7's 128 bits. */
export type Id<P extends IdPrefix = IdPrefix> = `${P}_${string}`;

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const VALUES = new Int8Array(128).fill(-1);
for (let i = 0; i < ALPHABET.length; i++) VALUES[ALPHABET.charCodeAt(i)] = i;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

const pool = new Uint8Array(4096);
let poolAt = pool.length;
let lastMs = 0;
let counter = 0;

function randomBytes(count: number): Uint8Array {
  if (poolAt + count > pool.length) {
    randomFillSync(pool);
    poolAt = 0;
  }
  poolAt += count;
  return pool.subarray(poolAt - count, poolAt);
}

/**
 * 16 bytes of a UUIDv7 (RFC 9562 section 5.7) for a time in Unix milliseconds.
 * Within a millisecond the 12 bits of rand_a count upwards (method 1), so that ids of one process sort as they were made.
 */
export function uuidV7(ms: number): Uint8Array {
  const id = new Uint8Array(16);
  const random = randomBytes(10);
  if (ms === lastMs) counter = (counter + 1) & 0xfff;
  else [lastMs, counter] = [ms, ((random[8] ?? 0) << 2) & 0x3ff];
  const high = Math.floor(ms / 0x1_0000);
  id[0] = high >>> 24;
  id[1] = high >>> 16;
  id[2] = high >>> 8;
  id[3] = high;
  id[4] = ms >>> 8;
  id[5] = ms;
  id[6] = 0x70 | (counter >>> 8);
  id[7] = counter;
  id.set(random.subarray(0, 8), 8);
  id[8] = 0x80 | ((id[8] ?? 0) & 0x3f);
  return id;
}

const CODES = Buffer.from(ALPHABET, "latin1");
const text = Buffer.alloc(26);

/** The TypeID text of 16 bytes. */
export function typeId<P extends IdPrefix>(prefix: P, bytes: Uint8Array): Id<P> {
  // 128 bits are padded with two zero bits in front to fill 26 characters of five.
  let buffer = 0;
  let bits = 2;
  let at = 0;
  for (let i = 0; i < 16; i++) {
    buffer = ((buffer << 8) | (bytes[i] ?? 0)) & 0x1fff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text[at++] = CODES[(buffer >>> bits) & 31] ?? 0;
    }
  }
  // Written to bytes and read as text at once: a third of the time of adding up single characters.
  return `${prefix}_${text.toString("latin1")}`;
}

/** A new id of this kind for a time in Unix milliseconds. */
export function newId<P extends IdPrefix>(prefix: P, ms: number): Id<P> {
  return typeId(prefix, uuidV7(ms));
}

/** The 16 bytes of a well-formed TypeID of this prefix or of a UUID; undefined for anything else. */
export function idBytes(prefix: IdPrefix, text: string): Uint8Array | undefined {
  if (text.length === 36 && UUID.test(text)) return new Uint8Array(Buffer.from(text.replaceAll("-", ""), "hex"));
  const start = prefix.length + 1;
  if (text.length !== start + 26 || !text.startsWith(`${prefix}_`)) return undefined;
  const bytes = new Uint8Array(16);
  let buffer = VALUES[text.charCodeAt(start)] ?? -1;
  if (buffer < 0 || buffer > 7) return undefined;
  let bits = 3;
  let at = 0;
  for (let i = start + 1; i < text.length; i++) {
    const value = VALUES[text.charCodeAt(i)] ?? -1;
    if (value < 0) return undefined;
    buffer = ((buffer << 5) | value) & 0x1fff;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes[at++] = buffer >>> bits;
    }
  }
  return bytes;
}

/** The canonical TypeID for a TypeID or UUID text, or undefined. */
export function parseId<P extends IdPrefix>(prefix: P, text: string): Id<P> | undefined {
  const bytes = idBytes(prefix, text);
  return bytes && typeId(prefix, bytes);
}

/** The lower-case UUID text of 16 bytes. */
export function uuidText(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
