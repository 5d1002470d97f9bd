import { randomFillSync } from "node:crypto";

/** One entry as it lies in memory and in the log: key, event and body hash of 16 bytes each, then source and end. */
const ENTRY_BYTES = 60;
const EVENT_AT = 16;
const BODY_AT = 32;
const SOURCE_AT = 48;
const EXPIRES_AT = 52;

const FIRST_CAPACITY = 256;

/** More than a generation has entries. */
const WIDE = 2 ** 21;

/** What is remembered of a key: the first event, its body's hash, and the gate time up to which it holds. */
export type Known = { source: number; key: Uint8Array; event: Uint8Array; body: Uint8Array; expires: number };

/** So that nobody who chooses bodies can choose where their keys fall. */
const [SEED_A = 0, SEED_B = 0, SEED_C = 0, SEED_D = 0] = randomFillSync(new Uint32Array(4));

/**
 * A run of remembered keys: entries in the order they came, in one buffer that can be written out as it is, and a table
 * of hashes that finds them. What came last can be taken back. About 70 bytes an entry, none of them objects.
 */
export class DuplicateGeneration {
  #count = 0;
  #bytes = new Uint8Array(FIRST_CAPACITY * ENTRY_BYTES);
  #view = new DataView(this.#bytes.buffer);
  /** Entry number + 1, or 0; at most half full. */
  #slots = new Int32Array(FIRST_CAPACITY * 2);

  get count(): number {
    return this.#count;
  }

  /** The entry of a key that still holds at this gate time; of one that ran out and came again, the later. */
  find(source: number, key: Uint8Array, gate: number): Known | undefined {
    if (this.#count === 0) return undefined;
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let slot = hash(source, key, 0) & mask; ; slot = (slot + 1) & mask) {
      const number = slots[slot];
      if (!number) return undefined;
      const at = (number - 1) * ENTRY_BYTES;
      if (!this.#is(at, source, key) || this.#view.getFloat64(at + EXPIRES_AT) <= gate) continue;
      return this.entry(number - 1);
    }
  }

  entry(number: number): Known {
    const at = number * ENTRY_BYTES;
    const bytes = this.#bytes;
    return {
      source: this.#view.getUint32(at + SOURCE_AT),
      key: bytes.subarray(at, at + EVENT_AT),
      event: bytes.subarray(at + EVENT_AT, at + BODY_AT),
      body: bytes.subarray(at + BODY_AT, at + SOURCE_AT),
      expires: this.#view.getFloat64(at + EXPIRES_AT),
    };
  }

  add({ source, key, event, body, expires }: Known): void {
    this.#room(1);
    const at = this.#count * ENTRY_BYTES;
    this.#bytes.set(key, at);
    this.#bytes.set(event, at + EVENT_AT);
    this.#bytes.set(body, at + BODY_AT);
    this.#view.setUint32(at + SOURCE_AT, source);
    this.#view.setFloat64(at + EXPIRES_AT, expires);
    this.#index(this.#count++);
  }

  /** Adds entries that were written out by `written`. */
  load(bytes: Uint8Array): void {
    const added = bytes.length / ENTRY_BYTES;
    this.#room(added);
    this.#bytes.set(bytes, this.#count * ENTRY_BYTES);
    for (let i = 0; i < added; i++) this.#index(this.#count++);
  }

  /** The entries from this number on, as bytes to write out. */
  written(from: number): Uint8Array {
    return this.#bytes.subarray(from * ENTRY_BYTES, this.#count * ENTRY_BYTES);
  }

  /** Takes back what came after the first `count` entries. */
  truncate(count: number): void {
    // Last in, first out: nothing that stays was put behind what goes.
    while (this.#count > count) this.#slots[this.#slotOf(--this.#count)] = 0;
  }

  /** The entries' numbers in the order of their keys' first four bytes: near enough to the table's order. */
  ordered(): Uint32Array {
    // Key and number in one float of 53 bits: such an array is sorted in a millisecond.
    const places = new Float64Array(this.#count);
    for (let i = 0; i < places.length; i++) places[i] = (word(this.#bytes, i * ENTRY_BYTES) >>> 0) * WIDE + i;
    places.sort();
    const order = new Uint32Array(places.length);
    for (let i = 0; i < order.length; i++) {
      const place = places[i] ?? 0;
      order[i] = place - Math.floor(place / WIDE) * WIDE;
    }
    return order;
  }

  #is(at: number, source: number, key: Uint8Array): boolean {
    if (this.#view.getUint32(at + SOURCE_AT) !== source) return false;
    const bytes = this.#bytes;
    for (let i = 0; i < EVENT_AT; i++) if (bytes[at + i] !== key[i]) return false;
    return true;
  }

  #index(number: number): void {
    const at = number * ENTRY_BYTES;
    const mask = this.#slots.length - 1;
    let slot = hash(this.#view.getUint32(at + SOURCE_AT), this.#bytes, at) & mask;
    while (this.#slots[slot]) slot = (slot + 1) & mask;
    this.#slots[slot] = number + 1;
  }

  #slotOf(number: number): number {
    const at = number * ENTRY_BYTES;
    const mask = this.#slots.length - 1;
    let slot = hash(this.#view.getUint32(at + SOURCE_AT), this.#bytes, at) & mask;
    while (this.#slots[slot] !== number + 1) slot = (slot + 1) & mask;
    return slot;
  }

  /** Makes room for so many more. */
  #room(more: number): void {
    const had = this.#slots.length / 2;
    let capacity = had;
    while (this.#count + more > capacity) capacity *= 2;
    if (capacity === had) return;
    const bytes = new Uint8Array(capacity * ENTRY_BYTES);
    bytes.set(this.written(0));
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer);
    this.#slots = new Int32Array(capacity * 2);
    for (let i = 0; i < this.#count; i++) this.#index(i);
  }
}

function hash(source: number, bytes: Uint8Array, at: number): number {
  let h = Math.imul(source ^ SEED_D, 0x9e3779b1);
  h = Math.imul(h ^ word(bytes, at) ^ SEED_A, 0x85ebca6b);
  h = Math.imul((h ^ (h >>> 15)) + (word(bytes, at + 4) ^ SEED_B), 0xc2b2ae35);
  h = Math.imul((h ^ (h >>> 13)) + (word(bytes, at + 8) ^ SEED_C), 0x27d4eb2f);
  h = Math.imul((h ^ (h >>> 15)) + word(bytes, at + 12), 0x165667b1);
  return (h ^ (h >>> 16)) >>> 0;
}

function word(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0);
}
