import { rfc3339 } from "../../kernel/clock.ts";
import type { SettleAction } from "../store.ts";
import type { EventRecord, HistoryEntry } from "../types.ts";
import type { Core } from "./core.ts";
import type { LeaseRow, LeaseRows } from "./lease-rows.ts";
import { statusOf } from "./rows.ts";

type NoteRow = { lease: number; at: number; gate: number; kind: string; detail: string };

/** A line with the place it has in the order of things: gate time, and of two at the same, the one with fewer leases before it. */
type Placed = { gate: number; lease: number; entry: HistoryEntry };

/** What happened to an event, oldest first: its arrival, its leases with how they ended, and what was noted beside. */
export function historyOf(core: Core, leases: LeaseRows, event: EventRecord): HistoryEntry[] {
  const notes = core.db
    .query<NoteRow, [number]>("SELECT lease, at, gate, kind, detail FROM history WHERE seq = ? + 0 ORDER BY num")
    .all(event.seq)
    .map(({ detail, at, kind, ...place }): Placed => {
      return { ...place, entry: { ...(JSON.parse(detail) as object), at, kind } };
    });
  const lines = [...leases.ofEvent(event.seq).flatMap((lease) => leaseEntries(core, lease)), ...notes];
  lines.sort((a, b) => a.gate - b.gate || a.lease - b.lease);
  return [{ at: event.receivedAt, kind: "received" }, ...lines.map(({ entry }) => entry)];
}

function leaseEntries(core: Core, row: LeaseRow): Placed[] {
  const { id: lease, holder: by } = row;
  const claimed = { at: row.claimed_at, kind: "claimed", lease, by };
  const begin = { gate: row.claimed_gate, lease: row.num, entry: claimed };
  if (row.outcome === null || row.ended_at === null || row.ended_gate === null) return [begin];
  const retryAt = row.due_at === null ? {} : { retry_at: rfc3339(core.wallNow(row.due_at)) };
  const status = row.status === null ? {} : { status: statusOf(row.status), attempts: row.attempts };
  const ended = { at: row.ended_at, kind: KIND[row.outcome], lease, by, ...status, ...retryAt, ...particulars(row) };
  return [begin, { gate: row.ended_gate, lease: row.num, entry: ended }];
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
