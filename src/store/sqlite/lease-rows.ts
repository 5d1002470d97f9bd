import type { Id } from "../../kernel/ids.ts";
import type { SettleAction } from "../store.ts";
import type { EventRecord, LeaseRecord } from "../types.ts";
import type { Core } from "./core.ts";
import type { Tx } from "./group-commit.ts";
import type { EventRow } from "./rows.ts";

/** How a lease ended. */
export type LeaseOutcome = "ack" | "nack" | "release" | "expired" | "revoked";

export type LeaseRow = {
  seq: number;
  num: number;
  id: Id<"lse">;
  holder: string;
  claimed_at: number;
  claimed_gate: number;
  expires: number;
  ended_at: number | null;
  ended_gate: number | null;
  outcome: LeaseOutcome | null;
  settle: string | null;
  status: number | null;
  attempts: number | null;
  due_at: number | null;
};

/** The table of leases: each that ever was, with how it ended and how the event stood then. */
export class LeaseRows {
  readonly #insert;
  readonly #ofEvent;
  readonly #last;
  readonly #named;
  readonly #held;
  readonly #end;
  readonly #extend;
  readonly #remove;
  readonly #due;

  constructor(core: Core) {
    const { db } = core;
    this.#insert = db.prepare<null, [number, number, string, string, number, number, number]>(
      "INSERT INTO leases (seq, num, id, holder, claimed_at, claimed_gate, expires) VALUES (?, ?, ?, ?, ?, ?, ?)",
    );
    this.#ofEvent = db.prepare<LeaseRow, [number]>("SELECT * FROM leases WHERE seq = ? + 0 ORDER BY num");
    this.#last = db.prepare<LeaseRow, [number]>("SELECT * FROM leases WHERE seq = ? + 0 ORDER BY num DESC LIMIT 1");
    this.#named = db.prepare<LeaseRow, [number, string, string]>(
      "SELECT * FROM leases WHERE seq = ? AND holder = ? AND id = ?",
    );
    this.#held = db.prepare<LeaseRow, [number, string]>("SELECT * FROM leases WHERE seq = ? AND holder = ? LIMIT 2");
    this.#end = db.prepare<
      null,
      [number, number, number, number, string, string | null, number, number, number | null]
    >(
      `UPDATE leases SET ended_at = ?3, ended_gate = ?4, outcome = ?5, settle = ?6, status = ?7, attempts = ?8, due_at = ?9
       WHERE seq = ?1 AND num = ?2`,
    );
    this.#extend = db.prepare<null, [number, number, number]>(
      "UPDATE leases SET expires = ?3 WHERE seq = ?1 AND num = ?2",
    );
    this.#remove = db.prepare<null, [number, number]>("DELETE FROM leases WHERE seq = ? AND num = ?");
    this.#due = db.prepare<null, [number, number]>("UPDATE events SET due_at = ?2 WHERE seq = ?1");
  }

  /** Adds the event's next lease. The event's row, which the caller writes, keeps how many there were. */
  add(tx: Tx, row: EventRow, id: Id<"lse">, holder: string, expires: number): void {
    row.leases += 1;
    this.#insert.run(row.seq, row.leases, id, holder, tx.wall, tx.gate, expires);
  }

  ofEvent(seq: number): LeaseRow[] {
    return this.#ofEvent.all(seq);
  }

  /** The event's last lease, live or not. */
  last(seq: number): LeaseRow | undefined {
    return this.#last.get(seq) ?? undefined;
  }

  /** The leases that this holder had on the event: the one named, or two of all. */
  heldBy(seq: number, holder: string, id: Id<"lse"> | undefined): LeaseRow[] {
    if (id === undefined) return this.#held.all(seq, holder);
    const named = this.#named.get(seq, holder, id);
    return named ? [named] : [];
  }

  /** Ends a lease; `row` is the event as it stands after that. */
  end(tx: Tx, lease: LeaseRow, outcome: LeaseOutcome, settle: SettleAction | null, row: EventRow): void {
    const how = settle && settleText(settle);
    this.#end.run(lease.seq, lease.num, tx.wall, tx.gate, outcome, how, row.status, row.attempts, row.due_at);
  }

  extend(lease: LeaseRow, expires: number): void {
    this.#extend.run(lease.seq, lease.num, expires);
    this.#due.run(lease.seq, expires);
  }

  /** Takes a lease back as if it had never been; the caller writes the event's row. */
  remove(row: EventRow, lease: LeaseRow): void {
    this.#remove.run(lease.seq, lease.num);
    row.leases = lease.num - 1;
  }

  record(lease: LeaseRow, event: EventRecord): LeaseRecord {
    return {
      id: lease.id,
      event: event.id,
      holder: lease.holder,
      claimedAt: lease.claimed_at,
      expiresAt: lease.expires,
    };
  }
}

/** How a settle is kept and compared: the same particulars give the same text, in whatever order they came. */
export function settleText(act: SettleAction): string {
  switch (act.action) {
    case "ack":
      return JSON.stringify({ action: act.action, result: act.result });
    case "nack":
      return JSON.stringify({ action: act.action, retry: act.retry, reason: act.reason });
    case "release":
      return JSON.stringify({ action: act.action, delayMs: act.delayMs });
  }
}
