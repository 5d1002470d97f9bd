import type { RetentionLimits } from "../store.ts";
import type { Core } from "./core.ts";
import type { Tx } from "./group-commit.ts";
import { deleteEventRows } from "./projects.ts";
import { forgetAnswers } from "./remember.ts";
import { purgeContent } from "./requeue.ts";
import { type EventRow, S } from "./rows.ts";

const PURGED_TO = "purged_to_seq";

/** Of the memory of duplicates a step looks at so many times its size, for few have run out. */
const DUPLICATES_LOOKED_AT = 10;

/** Before and after every key of 16 bytes. */
const FIRST_KEY = new Uint8Array();
const LAST_KEY = new Uint8Array(17).fill(255);

/**
 * Retention, one small step a transaction, so that ingest never waits long. It walks events by age: contents first,
 * then settled events whole. An event with a lease is left for a later round.
 */
export class Retention {
  readonly #core: Core;
  /** Where this round's walk over settled events, and over the memory of duplicates, has come to. */
  #settledSeq = 0;
  #duplicate: Uint8Array = FIRST_KEY;

  constructor(core: Core) {
    this.#core = core;
  }

  /** Times are wall milliseconds. `more`: another step is worth making now. */
  step(tx: Tx, limits: RetentionLimits, step: number): { blobs: string[]; more: boolean } {
    const purged = this.#purge(tx, limits.payloadBefore, step);
    const deleted = this.#deleteSettled(limits.settledBefore, step);
    const changes = this.#forgetChanges(limits.changesBefore, step);
    const duplicates = this.#forgetDuplicates(tx.gate, step);
    forgetAnswers(this.#core.db, tx.gate);
    const more = purged.more || deleted.more || changes || duplicates;
    return { blobs: [...purged.blobs, ...deleted.blobs], more };
  }

  #purge(tx: Tx, before: number, step: number): { blobs: string[]; more: boolean } {
    const { db } = this.#core;
    const stored = db.query<{ value: string }, [string]>("SELECT value FROM meta WHERE name = ?").get(PURGED_TO);
    const from = Number(stored?.value ?? 0);
    let to = from;
    const rows = db
      .query<EventRow, [number, number]>("SELECT * FROM events WHERE seq > ? + 0 ORDER BY seq LIMIT ? + 0")
      .all(to, step);
    const blobs: string[] = [];
    let stopped = false;
    for (const row of rows) {
      stopped = row.received_at >= before || row.status === S.claimed;
      if (stopped) break;
      const blob = purgeContent(this.#core, tx, row);
      if (blob) blobs.push(blob);
      to = row.seq;
    }
    // A step that finds nothing to do writes nothing, and so waits for no disk.
    if (to > from) db.query("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)").run(PURGED_TO, String(to));
    return { blobs, more: !stopped && rows.length === step };
  }

  #deleteSettled(before: number, step: number): { blobs: string[]; more: boolean } {
    const rows = this.#core.db
      .query<EventRow & { settled_at: number | null }, [number, number]>(
        `SELECT *, (SELECT max(ended_at) FROM leases WHERE leases.seq = events.seq) AS settled_at
         FROM events WHERE seq > ? + 0 ORDER BY seq LIMIT ? + 0`,
      )
      .all(this.#settledSeq, step);
    const old = rows.filter((row) => Math.max(row.received_at, row.settled_at ?? 0) < before);
    const gone = old.filter((row) => row.status === S.done || row.status === S.dead).map((row) => row.seq);
    const more = rows.length === step && rows.some((row) => row.received_at < before);
    this.#settledSeq = more ? (rows.at(-1)?.seq ?? 0) : 0;
    return { blobs: deleteEventRows(this.#core, gone), more };
  }

  /** Changes are kept in the order of their time: the old ones are the first. */
  #forgetChanges(before: number, step: number): boolean {
    const { db } = this.#core;
    const rows = db
      .query<{ cursor: number; at: number }, [number]>("SELECT cursor, at FROM changes ORDER BY cursor LIMIT ? + 0")
      .all(step);
    const young = rows.findIndex((row) => row.at >= before);
    const old = young < 0 ? rows : rows.slice(0, young);
    const last = old.at(-1);
    if (last) db.query<null, [number]>("DELETE FROM changes WHERE cursor <= ?").run(last.cursor);
    return old.length === step;
  }

  /**
   * Walks the whole table once a round; it is ordered by key, not by age, so that arrivals cost one index less. What is
   * in the log only is bounded, and looked at when it goes into the table.
   * What belongs to a source that is gone can match nothing any more.
   */
  #forgetDuplicates(gate: number, step: number): boolean {
    const { db } = this.#core;
    const looked = step * DUPLICATES_LOOKED_AT;
    const last = db
      .query<{ key: Uint8Array }, [Uint8Array, number]>(
        "SELECT key FROM duplicates WHERE key > ? ORDER BY key, source LIMIT 1 OFFSET ? + 0",
      )
      .get(this.#duplicate, looked - 1);
    db.query<null, [Uint8Array, Uint8Array, number]>(
      `DELETE FROM duplicates WHERE key > ? AND key <= ?
       AND (expires <= ? OR source NOT IN (SELECT num FROM sources))`,
    ).run(this.#duplicate, last?.key ?? LAST_KEY, gate);
    const more = last !== null;
    this.#duplicate = last?.key ?? FIRST_KEY;
    return more;
  }
}
