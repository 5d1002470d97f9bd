import type { Database } from "bun:sqlite";
import { DuplicateGeneration, type Known } from "./duplicate-generation.ts";

/**
 * So many keys are gathered in memory before they are sorted into the table: 65,536 less what one transaction may bring
 * beyond, so that a buffer that doubles ends there. Two such generations are about 9 MB.
 */
const GATHERED = 65_536 - 512;

/** For each key that a transaction adds, so many older ones go into the table: ready long before the next are. */
const MERGED_PER_KEY = 2;

/** So many rows of the log are deleted in one transaction. */
const LOG_STEP = 256;

/** So many rows of the log are read at a time. */
const LOG_PAGE = 4096;

type LogRow = { num: number; entries: Uint8Array };
type Older = { keys: DuplicateGeneration; lastNum: number };

/** The order in which a generation goes into the table, and how far it has come. */
type Merge = { order: Uint32Array; next: number };

/** Where a merge will stand: from which place it goes on, and whether its part of the log is gone too. */
type Ahead = { next?: number; done: boolean };
const STANDING: Ahead = { done: false };

/**
 * The memory of duplicates. A key is a hash, so that each new one falls on another page of a table ordered by key: with a
 * large table a write of a whole page an event. So new keys are appended to a log, one row a transaction, and held in
 * memory; when enough have gathered they go into the table in the order of their keys, several a page, a few with each
 * later transaction. Then their part of the log is deleted.
 *
 * After a crash anywhere the log is read again and what it has goes into the table again, which changes nothing there.
 */
export class DuplicateMemory {
  readonly #gathered: number;
  readonly #inTable;
  readonly #append;
  readonly #merge;
  readonly #forgetLog;
  readonly #older: Older[] = [];
  #newest = new DuplicateGeneration();
  /** How many of the newest stand in the log, and in which row the last of them does. */
  #logged = 0;
  #lastNum = 0;
  /** The way of the oldest generation into the table; undefined before it begins. */
  #merging: Merge | undefined;
  /** Where that way stands when the transaction under way is durable. */
  #ahead: Ahead = STANDING;

  /** Reads the log. `gathered`: how many keys make a generation. */
  constructor(db: Database, gathered = GATHERED) {
    this.#gathered = gathered;
    this.#inTable = db.prepare<Known, [Uint8Array, number, number]>(
      "SELECT source, key, event, body, expires FROM duplicates WHERE key = ? AND source = ? AND expires > ?",
    );
    this.#append = db.prepare<null, [number, Uint8Array]>("INSERT INTO duplicates_log (num, entries) VALUES (?, ?)");
    // What is read from the log again may be older than what stands in the table; then it ends earlier.
    this.#merge = db.prepare<null, [Uint8Array, number, Uint8Array, Uint8Array, number]>(
      `INSERT INTO duplicates (key, source, event, body, expires) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET event = excluded.event, body = excluded.body, expires = excluded.expires
       WHERE excluded.expires > expires`,
    );
    this.#forgetLog = db.prepare<null, [number, number]>(
      "DELETE FROM duplicates_log WHERE num IN (SELECT num FROM duplicates_log WHERE num <= ? + 0 ORDER BY num LIMIT ? + 0)",
    );
    this.#load(db);
  }

  /** What is remembered of a key and still holds at this gate time. */
  find(source: number, key: Uint8Array, gate: number): Known | undefined {
    const recent = this.#newest.find(source, key, gate);
    if (recent) return recent;
    for (const { keys } of this.#older) {
      const found = keys.find(source, key, gate);
      if (found) return found;
    }
    return this.#inTable.get(key, source, gate) ?? undefined;
  }

  /** Remembers a key that `find` does not know; on disk with the transaction's end. */
  add(known: Known): void {
    this.#newest.add(known);
  }

  /** At the end of a transaction: writes what it added, and takes some of what is older on its way. */
  write(gate: number): void {
    const added = this.#newest.count - this.#logged;
    if (added === 0) return;
    this.#append.run(this.#lastNum + 1, this.#newest.written(this.#logged));
    this.#ahead = this.#mergeSome(added * MERGED_PER_KEY, gate);
  }

  /** Once it is durable. */
  written(): void {
    const { count } = this.#newest;
    if (count === this.#logged) return;
    this.#lastNum++;
    this.#logged = count;
    if (this.#merging && this.#ahead.next !== undefined) this.#merging.next = this.#ahead.next;
    if (this.#ahead.done) {
      this.#older.shift();
      this.#merging = undefined;
    }
    this.#ahead = STANDING;
    this.#freezeIfFull();
  }

  /** A mark to go back to when what comes after it is rolled back. */
  mark(): number {
    return this.#newest.count;
  }

  back(mark: number): void {
    this.#newest.truncate(mark);
    this.#ahead = STANDING;
  }

  /** How many keys are held in memory. */
  get held(): number {
    return this.#older.reduce((sum, { keys }) => sum + keys.count, this.#newest.count);
  }

  #mergeSome(count: number, gate: number): Ahead {
    const [oldest] = this.#older;
    if (!oldest) return STANDING;
    this.#merging ??= { order: oldest.keys.ordered(), next: 0 };
    const { order, next } = this.#merging;
    const end = Math.min(order.length, next + count);
    for (const number of order.subarray(next, end)) {
      const { key, source, event, body, expires } = oldest.keys.entry(number);
      if (expires > gate) this.#merge.run(key, source, event, body, expires);
    }
    if (end < order.length) return { next: end, done: false };
    return { next: end, done: this.#forgetLog.run(oldest.lastNum, LOG_STEP).changes < LOG_STEP };
  }

  #freezeIfFull(): void {
    if (this.#newest.count < this.#gathered) return;
    this.#older.push({ keys: this.#newest, lastNum: this.#lastNum });
    this.#newest = new DuplicateGeneration();
    this.#logged = 0;
  }

  #load(db: Database): void {
    const read = db.prepare<LogRow, [number, number]>(
      "SELECT num, entries FROM duplicates_log WHERE num > ? + 0 ORDER BY num LIMIT ? + 0",
    );
    for (;;) {
      const rows = read.all(this.#lastNum, LOG_PAGE);
      for (const { num, entries } of rows) {
        this.#newest.load(entries);
        this.#lastNum = num;
        this.#logged = this.#newest.count;
        this.#freezeIfFull();
      }
      if (rows.length < LOG_PAGE) return;
    }
  }
}
