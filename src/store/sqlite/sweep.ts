import { isProblem } from "../../kernel/problems.ts";
import { type Core, MAX_ATTEMPTS } from "./core.ts";
import { isStorageFailure } from "./failures.ts";
import type { Tx } from "./group-commit.ts";
import type { LeaseRows } from "./lease-rows.ts";
import { type EventRow, S } from "./rows.ts";

/** More due events than this are left to the next transaction, so that a start with a million of them answers at once. */
const STEP = 500;

const RETRY_MS = 1000;

/**
 * Moves on what is due: leases that ran out, retries, delays. It runs at the head of every transaction, so that work
 * sees events as they should be by now; a timer makes a transaction when nothing else does. Where more is due than one
 * step moves, work may meet an event whose time has passed: a settle judges the lease by its own end.
 */
export class Sweep {
  readonly #core: Core;
  readonly #leases: LeaseRows;
  readonly #due;
  readonly #next;
  #armedFor: number | null = null;
  /** The next due time that a transaction saw at its end; undefined where none looked since. */
  #seen: number | null | undefined;
  #cancel: () => void = () => {};
  #stopped = false;

  constructor(core: Core, leases: LeaseRows) {
    this.#core = core;
    this.#leases = leases;
    this.#due = core.db.prepare<EventRow, [number, number]>(
      "SELECT * FROM events WHERE due_at IS NOT NULL AND due_at <= ? + 0 ORDER BY due_at LIMIT ? + 0",
    );
    this.#next = core.db.prepare<{ due: number }, []>(
      "SELECT due_at AS due FROM events WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1",
    );
  }

  /** Moves what is due at this transaction's time. */
  run(tx: Tx): void {
    for (const row of this.#due.all(tx.gate, STEP)) {
      if (row.status === S.claimed) this.#expire(tx, row);
      else if (row.status === S.failed) this.#core.move(tx, row, { status: S.ready, due_at: null });
      else this.#rest(tx, row);
    }
  }

  /** A lease that ran out counts as an attempt; the event is back at once, or dead at the fifth. */
  #expire(tx: Tx, row: EventRow): void {
    const attempts = row.attempts + 1;
    this.#core.move(tx, row, { status: attempts >= MAX_ATTEMPTS ? S.dead : S.ready, due_at: null, attempts });
    const lease = this.#leases.last(row.seq);
    if (lease) this.#leases.end(tx, lease, "expired", null, row);
  }

  /** A delay is over: still `pending` to readers, but claimable from here on. */
  #rest(tx: Tx, row: EventRow): void {
    this.#core.db
      .query<null, [number]>(`UPDATE events SET status = ${S.ready}, due_at = NULL WHERE seq = ?`)
      .run(row.seq);
    this.#core.changed(tx, { ...row, status: S.ready, due_at: null }, false);
  }

  /** Looks for the next due time at the end of a transaction, where that takes no lock of its own. */
  look(): void {
    this.#seen = this.#next.get()?.due ?? null;
  }

  /** After a rollback: what was seen is not so. */
  forget(): void {
    this.#seen = undefined;
  }

  /** Sets the timer for the next due time; called after every commit, and once at the start. */
  arm(): void {
    if (this.#stopped) return;
    try {
      const next = this.#seen === undefined ? (this.#next.get()?.due ?? null) : this.#seen;
      this.#seen = undefined;
      if (next !== this.#armedFor) this.#set(next, next === null ? 0 : next - this.#core.clock.gate());
    } catch (error) {
      if (!isStorageFailure(error)) throw error;
      this.#set(this.#core.clock.gate(), RETRY_MS);
    }
  }

  #set(next: number | null, delay: number): void {
    this.#cancel();
    this.#armedFor = next;
    if (next !== null && !this.#stopped) this.#cancel = this.#core.clock.after(delay, () => void this.#turn());
  }

  /** Makes an empty transaction, whose head does the work. Where the disk refuses it, the next try is a second away. */
  async #turn(): Promise<void> {
    const answer = await this.#core.writer.run(() => null);
    if (isProblem(answer)) this.#set(this.#armedFor, RETRY_MS);
    else {
      this.#armedFor = null;
      this.arm();
    }
  }

  /** Sets no more timers. */
  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }
}
