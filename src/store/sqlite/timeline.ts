import type { Core } from "./core.ts";

const META = "clock_regress_ms";

/**
 * Where in the sequence of events a wall time lies, in about twenty probes. Arrival order is time order except where
 * the machine's clock was set back; the largest such step is remembered and allowed for, so that no event is missed:
 * a probe that is older than `time − step` has only older events before it.
 */
export class Timeline {
  readonly #core: Core;
  readonly #at;
  readonly #last;
  #highest: number;
  #regress: number;
  #stale = false;

  constructor(core: Core) {
    this.#core = core;
    const { db } = core;
    this.#at = db.prepare<{ seq: number; received_at: number }, [number]>(
      "SELECT seq, received_at FROM events WHERE seq >= ? + 0 ORDER BY seq LIMIT 1",
    );
    this.#last = db.prepare<{ seq: number; received_at: number }, []>(
      "SELECT seq, received_at FROM events ORDER BY seq DESC LIMIT 1",
    );
    [this.#highest, this.#regress] = this.#read();
  }

  /** The latest arrival there may have been, and the largest step back. */
  #read(): [highest: number, regress: number] {
    const { db } = this.#core;
    const stored = db.query<{ value: string }, [string]>("SELECT value FROM meta WHERE name = ?").get(META);
    const regress = Number(stored?.value ?? 0);
    return [(this.#last.get()?.received_at ?? 0) + regress, regress];
  }

  /** After a rollback: what the transaction noted is gone. */
  forget(): void {
    this.#stale = true;
  }

  /** Notes an arrival; inside its transaction. */
  arrived(wall: number): void {
    if (this.#stale) [this.#highest, this.#regress] = this.#read();
    this.#stale = false;
    if (wall >= this.#highest) this.#highest = wall;
    else if (this.#highest - wall > this.#regress) {
      this.#regress = this.#highest - wall;
      this.#core.db
        .query<null, [string, string]>("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)")
        .run(META, String(this.#regress));
    }
  }

  /** All events before the answered sequence number were received before `wall`. */
  from(wall: number): number {
    return this.#search((receivedAt) => receivedAt < wall - this.#regress);
  }

  /** All events from the answered sequence number on were received at `wall` or after. */
  until(wall: number): number {
    return this.#search((receivedAt) => receivedAt < wall + this.#regress);
  }

  #search(before: (receivedAt: number) => boolean): number {
    let low = 0;
    let high = (this.#last.get()?.seq ?? 0) + 1;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const row = this.#at.get(middle);
      if (row && row.seq < high && before(row.received_at)) low = row.seq + 1;
      else high = middle;
    }
    return low;
  }
}
