import { type Id, newId } from "../../kernel/ids.ts";
import { Problem } from "../../kernel/problems.ts";
import type { Stored } from "../store.ts";
import type { Claim, EventFilter } from "../types.ts";
import type { Core } from "./core.ts";
import type { Tx } from "./group-commit.ts";
import type { LeaseRows } from "./lease-rows.ts";
import type { ReadyQueue } from "./ready.ts";
import { type EventRow, FLAG, S, statusOf } from "./rows.ts";

/** Taking leases. */
export class Claims {
  readonly #core: Core;
  readonly #leases: LeaseRows;
  readonly #ready: ReadyQueue;

  constructor(core: Core, leases: LeaseRows, ready: ReadyQueue) {
    this.#core = core;
    this.#leases = leases;
    this.#ready = ready;
  }

  one(project: Id<"prj">, id: Id<"evt">, holder: string, leaseMs: number): Stored<Claim> {
    return this.#core.writer.run((tx) => {
      const row = this.#core.row(project, id);
      if (!row) return noSuchEvent(id);
      if (row.flags & FLAG.routed) {
        return new Problem("EVENT_ROUTED", "a route pushes this event; requeue it with to=inbox to claim it");
      }
      if (row.status !== S.ready) return this.#notClaimable(row);
      return this.#lease(tx, row, holder, leaseMs);
    });
  }

  next(project: Id<"prj">, filter: EventFilter, holder: string, max: number, leaseMs: number): Stored<Claim[]> {
    return this.#core.writer.run((tx) =>
      this.#ready.first(project, filter, max).map((row) => this.#lease(tx, row, holder, leaseMs)),
    );
  }

  /** Takes claims back that their caller never saw. */
  undo(claims: readonly Claim[]): Stored<null> {
    return this.#core.writer.run((tx) => {
      for (const { event, lease } of claims) {
        const row = this.#core.row(event.project, event.id);
        const last = row && this.#leases.last(row.seq);
        if (!row || row.status !== S.claimed || last?.id !== lease.id) continue;
        this.#leases.remove(row, last);
        this.#core.move(tx, row, { status: S.ready, due_at: null });
      }
      return null;
    });
  }

  #lease(tx: Tx, row: EventRow, holder: string, leaseMs: number): Claim {
    const id = newId("lse", tx.wall);
    const expires = tx.gate + leaseMs;
    this.#leases.add(tx, row, id, holder, expires);
    this.#core.move(tx, row, { status: S.claimed, due_at: expires });
    const event = this.#core.record(row);
    return { event, lease: { id, event: event.id, holder, claimedAt: tx.wall, expiresAt: expires } };
  }

  #notClaimable(row: EventRow): Problem {
    const status = statusOf(row.status);
    const due = row.due_at === null ? "" : ` until ${new Date(this.#core.wallNow(row.due_at)).toISOString()}`;
    const why = {
      pending: `it was released and is not due${due}`,
      claimed: `a lease holds it${due}`,
      failed: `it waits for its retry${due}`,
      done: "it is done; requeue it to work on it again",
      dead: "it is dead; requeue it to work on it again",
    }[status];
    return new Problem("EVENT_NOT_CLAIMABLE", why, { extra: { event_status: status } });
  }
}

export function noSuchEvent(id: string): Problem {
  return new Problem("NOT_FOUND", `there is no event ${id} in this project`);
}
