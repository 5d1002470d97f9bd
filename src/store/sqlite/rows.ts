import { type Id, typeId } from "../../kernel/ids.ts";
import { CHANNELS } from "../../kernel/trust.ts";
import type { EventRecord, EventStatus, StoredBlob } from "../types.ts";

/** An event's status as the table has it: finer than the envelope's, so that partial indexes find what is ready. */
export const S = { ready: 0, delayed: 1, claimed: 2, failed: 3, done: 4, dead: 5, routed: 6 } as const;

const STATUS_OF: readonly EventStatus[] = ["pending", "pending", "claimed", "failed", "done", "dead", "pending"];
const NUMBERS: Readonly<Record<EventStatus, readonly number[]>> = {
  pending: [S.ready, S.delayed, S.routed],
  claimed: [S.claimed],
  failed: [S.failed],
  done: [S.done],
  dead: [S.dead],
};

export function statusOf(number: number): EventStatus {
  const status = STATUS_OF[number];
  if (!status) throw new Error(`unknown status ${number} in the database`);
  return status;
}

export function statusNumbers(statuses: readonly EventStatus[]): number[] {
  return statuses.flatMap((status) => NUMBERS[status]);
}

/** Bits of `events.flags`. */
export const FLAG = { routed: 1, purged: 2 } as const;

/** The narrow row, as every query of events reads it. */
export type EventRow = {
  seq: number;
  id: Uint8Array;
  project: number;
  stream: number;
  status: number;
  flags: number;
  received_at: number;
  due_at: number | null;
  attempts: number;
  releases: number;
  leases: number;
};

export type ContentRow = { headers: string; payload: string | null; blob: string | null };

/** What a stream number stands for. */
export type Stream = {
  num: number;
  project: number;
  source: string;
  channel: number;
  type: string;
  verified: number;
};

export function channelNumber(channel: (typeof CHANNELS)[number]): number {
  return CHANNELS.indexOf(channel);
}

export function channelOf(number: number): (typeof CHANNELS)[number] {
  const channel = CHANNELS[number];
  if (!channel) throw new Error(`unknown channel ${number} in the database`);
  return channel;
}

/** Joins the narrow row, its stream and its content to the record of the store's interface. */
export function eventRecord(
  row: EventRow,
  stream: Stream,
  project: Id<"prj">,
  content: ContentRow | null,
): EventRecord {
  return {
    seq: row.seq,
    id: typeId("evt", row.id),
    project,
    source: stream.source,
    channel: channelOf(stream.channel),
    type: stream.type,
    receivedAt: row.received_at,
    verified: stream.verified === 1,
    routed: (row.flags & FLAG.routed) !== 0,
    purged: (row.flags & FLAG.purged) !== 0,
    status: statusOf(row.status),
    attempts: row.attempts,
    dueAt: row.due_at,
    headers: content?.headers ?? "{}",
    payload: content?.payload ?? null,
    blob: content?.blob ? (JSON.parse(content.blob) as StoredBlob) : null,
  };
}
