import { rfc3339 } from "../../kernel/clock.ts";
import type { SettleAction } from "../store.ts";
import type { EventRecord, HistoryEntry } from "../types.ts";
import type { Core } from "./core.ts";
import type { LeaseRow, LeaseRows } from "./lease-rows.ts";
import { statusOf } from "./rows.ts";

/** What happened to an event, oldest first: its arrival, its leases with how they ended, and what was noted beside. */
export function historyOf(core: Core, leases: LeaseRows, event: EventRecord): HistoryEntry[] {
  const notes = core.db
    .query<{ at: number; kind: string; detail: string }, [number]>(
      "SELECT at, kind, detail FROM history WHERE seq = ? ORDER BY num",
    )
    .all(event.seq)
    .map(({ at, kind, detail }): HistoryEntry => ({ ...(JSON.parse(detail) as object), at, kind }));
  const claims = leases.ofEvent(event.seq).flatMap((lease) => leaseEntries(core, lease));
  return [{ at: event.receivedAt, kind: "received" }, ...merged(claims, notes)];
}

/** Both are in the order in which they happened, which a step of the wall clock must not turn round: merged, not sorted. */
function merged(claims: readonly HistoryEntry[], notes: readonly HistoryEntry[]): HistoryEntry[] {
  const entries: HistoryEntry[] = [];
  let next = 0;
  for (const claim of claims) {
    for (let note = notes[next]; note && note.at < claim.at; note = notes[++next]) entries.push(note);
    entries.push(claim);
  }
  return [...entries, ...notes.slice(next)];
}

function leaseEntries(core: Core, lease: LeaseRow): HistoryEntry[] {
  const claimed = { at: lease.claimed_at, kind: "claimed", lease: lease.id, by: lease.holder };
  if (lease.outcome === null || lease.ended_at === null) return [claimed];
  const retryAt = lease.due_at === null ? {} : { retry_at: rfc3339(core.wallNow(lease.due_at)) };
  const status = lease.status === null ? {} : { status: statusOf(lease.status), attempts: lease.attempts };
  const ended = { at: lease.ended_at, kind: KIND[lease.outcome], lease: lease.id, by: lease.holder };
  return [claimed, { ...ended, ...status, ...retryAt, ...particulars(lease) }];
}

const KIND = {
  ack: "acked",
  nack: "nacked",
  release: "released",
  expired: "lease_expired",
  revoked: "lease_revoked",
} as const;

function particulars(lease: LeaseRow): object {
  if (lease.settle === null) return {};
  const act = JSON.parse(lease.settle) as SettleAction;
  if (act.action === "ack") return act.result === null ? {} : { result: JSON.parse(act.result) };
  if (act.action === "nack") return { retry: act.retry, ...(act.reason === null ? {} : { reason: act.reason }) };
  return { delay_seconds: act.delayMs / 1000 };
}
