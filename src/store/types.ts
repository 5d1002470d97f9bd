import type { Id } from "../kernel/ids.ts";
import type { KeyKind, Scope } from "../kernel/scopes.ts";
import type { Channel } from "../kernel/trust.ts";

/** The life of an event. `pending` covers both what can be claimed now and what was released with a delay. */
export const EVENT_STATUSES = ["pending", "claimed", "failed", "done", "dead"] as const;
export type EventStatus = (typeof EVENT_STATUSES)[number];

/** A body stored apart from the database. */
export type StoredBlob = { key: string; size: number; contentType: string };

/** What an accepted transmission becomes. */
export type NewEvent = {
  project: Id<"prj">;
  source: string;
  channel: Channel;
  type: string;
  verified: boolean;
  /** JSON text of the headers object. */
  headers: string;
  /** JSON text of the payload, or null where `blob` holds it. */
  payload: string | null;
  blob: StoredBlob | null;
  /** Undefined: nothing is a duplicate. */
  dedup?: DedupKey;
};

/**
 * How duplicates of an event are known: within the source of this number, by 16 bytes, for `ttlMs`.
 * `bodyHash` (16 bytes) tells an id that comes again with another body.
 */
export type DedupKey = { sourceNum: number; key: Uint8Array; bodyHash: Uint8Array; ttlMs: number };

/** An event as the store keeps it. Times: `receivedAt` wall milliseconds, `dueAt` gate milliseconds. */
export type EventRecord = {
  seq: number;
  id: Id<"evt">;
  project: Id<"prj">;
  source: string;
  channel: Channel;
  type: string;
  receivedAt: number;
  verified: boolean;
  routed: boolean;
  purged: boolean;
  status: EventStatus;
  attempts: number;
  /** Claimed: when the lease runs out; failed or released with a delay: when it is pending or due again. */
  dueAt: number | null;
  headers: string;
  payload: string | null;
  blob: StoredBlob | null;
};

export type LeaseRecord = { id: Id<"lse">; event: Id<"evt">; holder: string; claimedAt: number; expiresAt: number };
export type Claim = { event: EventRecord; lease: LeaseRecord };

/** Which events a waiter or claimer is interested in; absent members match all. `type` and `source` may be globs. */
export type EventFilter = { source?: string; type?: string; channel?: Channel; verified?: boolean };

/** What the store says of an event that something happened to; after the commit, to whoever listens. */
export type Change = {
  cursor: number;
  seq: number;
  project: Id<"prj">;
  id: Id<"evt">;
  source: string;
  channel: Channel;
  type: string;
  verified: boolean;
  status: EventStatus;
  attempts: number;
  /** True where the event can be claimed from this moment on. */
  ready: boolean;
  /** False where only its being due changed, which no reader of the envelope sees. */
  visible: boolean;
};

/** One line of an event's history. */
export type HistoryEntry = { at: number; kind: string; [detail: string]: unknown };

export type KeyState = "active" | "frozen" | "contained" | "revoked";
export type KeyRecord = {
  id: Id<"key">;
  project: Id<"prj">;
  name: string;
  kind: KeyKind;
  scopes: readonly Scope[];
  hash: Uint8Array;
  state: KeyState;
  /** Wall milliseconds, or null for never. */
  expiresAt: number | null;
  createdAt: number;
  creator: string;
  hidden: boolean;
};

export type ProjectRecord = {
  id: Id<"prj">;
  slug: string;
  title: string;
  createdAt: number;
  managed: boolean;
};

export type SourceRecord = {
  num: number;
  id: Id<"src">;
  project: Id<"prj">;
  name: string;
  channel: "webhook" | "email";
  kind: string;
  /** JSON text of the source's settings. */
  settings: string;
  tokenHash: Uint8Array;
  tokenSealed: Uint8Array;
  /** Sealed JSON text of the source's secrets. */
  secretsSealed: Uint8Array;
  paused: boolean;
  managed: boolean;
  createdAt: number;
};

export type Rejection = { at: number; code: string; reason: string; size: number; remoteAddress: string };

/** Creations that carry an Idempotency-Key remember their answer in the same transaction. */
export type Remember<T> = {
  /** SHA-256 over credential, project, method, path and key. */
  slot: Uint8Array;
  /** SHA-256 over the request's body. */
  bodyHash: Uint8Array;
  /** The answer to give again: its JSON text, a secret left out. */
  answer: (created: T) => string;
};
export type Remembered = { bodyHash: Uint8Array; answer: string };
