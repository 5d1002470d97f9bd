import type { Id } from "../../kernel/ids.ts";
import { isProblem, Problem } from "../../kernel/problems.ts";
import type { SettleAction, Settled, Stored } from "../store.ts";
import type { Claim } from "../types.ts";
import { noSuchEvent } from "./claim.ts";
import { type Core, MAX_ATTEMPTS } from "./core.ts";
import type { Tx } from "./group-commit.ts";
import { type LeaseRow, type LeaseRows, settleText } from "./lease-rows.ts";
import { type EventRow, S, statusOf } from "./rows.ts";

/** An event may be released this often between its arrival or requeue and the next (contract, section 5). */
const MAX_RELEASES = 20;

/** Between claim and the end of a lease, however often it is extended. */
const MAX_HOLD_MS = 12 * 60 * 60 * 1000;

/** So many leases are taken away in one transaction. */
const RELEASE_STEP = 500;

/** How long a failed event rests: `min(30 s × 2^(attempts − 1), 1 h)`, `attempts` counting this failure. */
function retryDelayMs(attempts: number): number {
  return Math.min(30_000 * 2 ** (attempts - 1), 3_600_000);
}

/** Ending and prolonging leases. Only the holder of a live lease may; whoever comes late changes nothing. */
export class Settling {
  readonly #core: Core;
  readonly #leases: LeaseRows;
  readonly #liveOf;

  constructor(core: Core, leases: LeaseRows) {
    this.#core = core;
    this.#leases = leases;
    // By way of what is claimed now, which is little, and not of all leases there ever were.
    this.#liveOf = core.db.prepare<EventRow, [string, number]>(
      `SELECT events.* FROM projects
       CROSS JOIN events ON events.project = projects.num AND events.status = ${S.claimed}
       CROSS JOIN leases ON leases.seq = events.seq AND leases.num = events.leases
       WHERE leases.holder = ? AND leases.outcome IS NULL LIMIT ?`,
    );
  }

  settle(
    project: Id<"prj">,
    id: Id<"evt">,
    holder: string,
    leaseId: Id<"lse"> | undefined,
    act: SettleAction,
  ): Stored<Settled> {
    return this.#core.writer.run((tx) => {
      const row = this.#core.row(project, id);
      if (!row) return noSuchEvent(id);
      const lease = this.#held(row, holder, leaseId);
      if (lease instanceof Problem) return lease;
      if (lease.outcome !== null) return this.#again(row, lease, act);
      if (lease.expires <= tx.gate) return notHeld(row, "the lease has run out");
      return this.#end(tx, row, lease, act);
    });
  }

  extend(
    project: Id<"prj">,
    id: Id<"evt">,
    holder: string,
    leaseId: Id<"lse"> | undefined,
    leaseMs: number,
  ): Stored<Claim> {
    return this.#core.writer.run((tx) => {
      const row = this.#core.row(project, id);
      if (!row) return noSuchEvent(id);
      const lease = this.#held(row, holder, leaseId);
      if (lease instanceof Problem) return lease;
      if (lease.outcome !== null || lease.expires <= tx.gate) return notHeld(row, "the lease has ended");
      const expires = Math.min(tx.gate + leaseMs, lease.claimed_gate + MAX_HOLD_MS);
      this.#leases.extend(lease, expires);
      row.due_at = expires;
      const event = this.#core.record(row);
      return { event, lease: this.#leases.record({ ...lease, expires }, event) };
    });
  }

  /** The lease that a settle speaks of: the one named, or the only one this holder ever had on the event. */
  #held(row: EventRow, holder: string, leaseId: Id<"lse"> | undefined): LeaseRow | Problem {
    const [only, another] = this.#leases.heldBy(row.seq, holder, leaseId);
    if (leaseId !== undefined) return only ?? notHeld(row, "this key never held that lease of this event");
    if (!only) return notHeld(row, "this key never held a lease of this event; claim it first");
    if (!another) return only;
    return new Problem(
      "LEASE_REQUIRED",
      "this key has held several leases of this event: name the one meant in `lease`",
      {
        extra: { event_status: statusOf(row.status) },
      },
    );
  }

  #end(tx: Tx, row: EventRow, lease: LeaseRow, act: SettleAction): Settled | Problem {
    if (act.action === "release" && row.releases >= MAX_RELEASES) {
      return new Problem(
        "RELEASE_LIMIT",
        `the event was released ${MAX_RELEASES} times: ack it, nack it, or let it be`,
        {
          extra: { event_status: statusOf(row.status) },
        },
      );
    }
    this.#core.move(tx, row, after(row, act, tx.gate));
    this.#leases.end(tx, lease, act.action, act, row);
    return { event: this.#core.record(row), retryAt: row.due_at };
  }

  /** The same settle with the same lease gets the same answer: agents retry. Another one comes too late. */
  #again(row: EventRow, lease: LeaseRow, act: SettleAction): Settled | Problem {
    if (lease.settle !== settleText(act)) {
      const how = { ack: "acked", nack: "nacked", release: "released", expired: "expired", revoked: "taken away" };
      return notHeld(
        row,
        `the lease was ${how[lease.outcome ?? "expired"]} before${lease.outcome === act.action ? ", with other particulars" : ""}`,
      );
    }
    const then = { ...row, status: lease.status ?? row.status, attempts: lease.attempts ?? 0, due_at: lease.due_at };
    return { event: this.#core.record(then), retryAt: lease.due_at };
  }

  /** Takes every live lease of a holder away, uncounted, in steps. */
  async releaseAll(holder: string): Stored<number> {
    for (let total = 0; ; ) {
      const released = await this.#core.writer.run((tx) => this.#releaseSome(tx, holder));
      if (isProblem(released)) return released;
      total += released;
      if (released < RELEASE_STEP) return total;
    }
  }

  #releaseSome(tx: Tx, holder: string): number {
    const rows = this.#liveOf.all(holder, RELEASE_STEP);
    for (const row of rows) {
      const lease = this.#leases.last(row.seq);
      this.#core.move(tx, row, { status: S.ready, due_at: null });
      if (lease) this.#leases.end(tx, lease, "revoked", null, row);
    }
    return rows.length;
  }
}

function after(row: EventRow, act: SettleAction, gate: number): Partial<EventRow> {
  if (act.action === "ack") return { status: S.done, due_at: null };
  if (act.action === "release") {
    return act.delayMs > 0
      ? { status: S.delayed, due_at: gate + act.delayMs, releases: row.releases + 1 }
      : { status: S.ready, due_at: null, releases: row.releases + 1 };
  }
  const attempts = row.attempts + 1;
  if (!act.retry || attempts >= MAX_ATTEMPTS) return { status: S.dead, due_at: null, attempts };
  return { status: S.failed, due_at: gate + retryDelayMs(attempts), attempts };
}

function notHeld(row: EventRow, why: string): Problem {
  return new Problem("LEASE_NOT_HELD", why, { extra: { event_status: statusOf(row.status) } });
}
