import { parse } from "smol-toml";
import type { KeyPath } from "./path.ts";

/** A place in a file, both counted from 1, the column in UTF-16 units. */
export type Position = { line: number; column: number };

/** Where each key and each list element of a TOML text stands. */
export class Positions {
  readonly #places = new Map<string, Position>();

  /** The first place where a path was written counts. */
  add(path: KeyPath, position: Position): void {
    const id = JSON.stringify(path);
    if (!this.#places.has(id)) this.#places.set(id, position);
  }

  /** Where this very path stands. */
  at(path: KeyPath): Position | undefined {
    return this.#places.get(JSON.stringify(path));
  }

  /** Where the path stands, or else the nearest table or list around it. */
  near(path: KeyPath): Position | undefined {
    for (let length = path.length; length > 0; length--) {
      const found = this.at(path.slice(0, length));
      if (found) return found;
    }
    return undefined;
  }
}

/** Finds every key of a text that `smol-toml` has parsed without an error. */
export function locate(toml: string): Positions {
  const positions = new Positions();
  new Locator(toml, positions).document();
  return positions;
}

type WrittenKey = { name: string; at: number };

/** Reads TOML only as far as needed to know what is a key and what is inside a value. */
class Locator {
  readonly #text: string;
  readonly #positions: Positions;
  /** How many `[[table]]` headers each array of tables has had. */
  readonly #elements = new Map<string, number>();
  #at = 0;
  #line = 1;
  #lineStart = 0;
  #counted = 0;

  constructor(text: string, positions: Positions) {
    this.#text = text;
    this.#positions = positions;
    if (text.charCodeAt(0) === 0xfeff) this.#at = 1;
  }

  document(): void {
    let table: KeyPath = [];
    for (this.#skipBlank(); this.#at < this.#text.length; this.#skipBlank()) {
      if (this.#text[this.#at] === "[") table = this.#header();
      else this.#pair(table);
    }
  }

  /** `[a.b]` or `[[a.b]]`: the path of the table that follows. */
  #header(): KeyPath {
    const repeated = this.#text[this.#at + 1] === "[";
    this.#at += repeated ? 2 : 1;
    const keys = this.#key("]");
    if (repeated) this.#at++;
    const path: (string | number)[] = [];
    for (const [index, { name, at }] of keys.entries()) {
      path.push(name);
      this.#mark(path, at);
      const last = index === keys.length - 1;
      const id = JSON.stringify(path);
      if (last && repeated) this.#elements.set(id, (this.#elements.get(id) ?? 0) + 1);
      const count = this.#elements.get(id);
      if (count === undefined) continue;
      path.push(count - 1);
      this.#mark(path, at);
    }
    return path;
  }

  /** `a.b = value`, in a table that stands at `base`. */
  #pair(base: KeyPath): void {
    const path = [...base];
    for (const { name, at } of this.#key("=")) {
      path.push(name);
      this.#mark(path, at);
    }
    this.#skipBlank();
    this.#value(path);
  }

  #key(end: string): WrittenKey[] {
    const keys: WrittenKey[] = [];
    while (this.#at < this.#text.length) {
      const char = this.#text[this.#at] ?? "";
      if (char === end) {
        this.#at++;
        break;
      }
      const at = this.#at;
      if (char === '"' || char === "'") {
        this.#string();
        keys.push({ name: quotedName(this.#text.slice(at, this.#at)), at });
      } else if (BARE.test(char)) {
        while (BARE.test(this.#text[this.#at] ?? "")) this.#at++;
        keys.push({ name: this.#text.slice(at, this.#at), at });
      } else this.#at++;
    }
    return keys;
  }

  #value(path: KeyPath): void {
    const char = this.#text[this.#at];
    if (char === '"' || char === "'") this.#string();
    else if (char === "[") this.#list(path);
    else if (char === "{") this.#inlineTable(path);
    else while (this.#at < this.#text.length && !ENDS_SCALAR.test(this.#text[this.#at] ?? "")) this.#at++;
  }

  #list(path: KeyPath): void {
    this.#at++;
    for (let index = 0; this.#inside("]"); index++) {
      this.#mark([...path, index], this.#at);
      this.#value([...path, index]);
    }
  }

  #inlineTable(path: KeyPath): void {
    this.#at++;
    while (this.#inside("}")) this.#pair(path);
  }

  /** Moves to the next member, or past the end. */
  #inside(end: string): boolean {
    this.#skipBlank();
    while (this.#text[this.#at] === ",") {
      this.#at++;
      this.#skipBlank();
    }
    if (this.#at >= this.#text.length) return false;
    if (this.#text[this.#at] !== end) return true;
    this.#at++;
    return false;
  }

  #string(): void {
    const quote = this.#text[this.#at] ?? "";
    const long = this.#text.startsWith(quote.repeat(3), this.#at);
    const end = long ? quote.repeat(3) : quote;
    this.#at += end.length;
    while (this.#at < this.#text.length && !this.#text.startsWith(end, this.#at)) {
      this.#at += quote === '"' && this.#text[this.#at] === "\\" ? 2 : 1;
    }
    this.#at += end.length;
    // Up to two quotes may stand right before the closing three.
    for (let more = 0; long && more < 2 && this.#text[this.#at] === quote; more++) this.#at++;
  }

  #skipBlank(): void {
    while (this.#at < this.#text.length) {
      const char = this.#text[this.#at] ?? "";
      if (char === "#") {
        const end = this.#text.indexOf("\n", this.#at);
        this.#at = end === -1 ? this.#text.length : end;
      } else if (BLANK.test(char)) this.#at++;
      else return;
    }
  }

  #mark(path: KeyPath, at: number): void {
    for (; this.#counted < at; this.#counted++) {
      if (this.#text[this.#counted] !== "\n") continue;
      this.#line++;
      this.#lineStart = this.#counted + 1;
    }
    this.#positions.add(path, { line: this.#line, column: at - this.#lineStart + 1 });
  }
}

const BARE = /^[A-Za-z0-9_-]$/;
const BLANK = /^[ \t\r\n]$/;
const ENDS_SCALAR = /^[,\]}#\n]$/;

function quotedName(written: string): string {
  if (written.startsWith("'") || !written.includes("\\")) return written.slice(1, -1);
  const { name } = parse(`name = ${written}`);
  return typeof name === "string" ? name : written;
}
