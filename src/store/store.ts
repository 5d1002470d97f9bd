import type { Id } from "../kernel/ids.ts";
import type { Problem } from "../kernel/problems.ts";
import type {
  Change,
  Claim,
  EventFilter,
  EventRecord,
  EventStatus,
  HistoryEntry,
  KeyRecord,
  LeaseRecord,
  NewEvent,
  ProjectRecord,
  Rejection,
  Remember,
  Remembered,
  SourceRecord,
} from "./types.ts";

/**
 * Everything Postern remembers, in the domain's words. A promise that resolves to something else than a
 * `STORAGE_UNAVAILABLE` problem means: it is on disk. SQLite is the first implementation; all must pass `test/store/conformance.ts`.
 */
export interface Store {
  readonly workspaceId: string;
  readonly projects: ProjectStore;
  readonly keys: KeyStore;
  readonly sources: SourceStore;
  readonly events: EventStore;
  readonly leases: LeaseStore;
  readonly upkeep: UpkeepStore;
  /** Called after every commit with what changed, in order. Answers the function that ends it. */
  onCommit(listener: (changes: readonly Change[]) => void): () => void;
  /** The remembered answer of a creation, if it is younger than 24 hours. */
  remembered(slot: Uint8Array): Promise<Remembered | undefined>;
  /** Remembers an answer that made nothing, such as a 409. */
  rememberAnswer(slot: Uint8Array, bodyHash: Uint8Array, answer: string): Stored<null>;
  /** Why nothing new is taken at this moment, where that is known before it is tried: for work that would be in vain. */
  refusal(): Problem | undefined;
  /** True while writes are taken. */
  writable(): Promise<boolean>;
  close(): Promise<void>;
}

export type Stored<T> = Promise<T | Problem>;

export interface ProjectStore {
  list(): Promise<ProjectRecord[]>;
  /** `NAME_TAKEN` where the slug is used. */
  create(record: ProjectRecord, remember?: Remember<ProjectRecord>): Stored<ProjectRecord>;
  update(id: Id<"prj">, change: Partial<Pick<ProjectRecord, "title" | "slug" | "managed">>): Stored<ProjectRecord>;
  /** Deletes it with all that is its. Answers the keys of blobs that nothing holds any more. */
  delete(id: Id<"prj">): Stored<string[]>;
}

export interface KeyStore {
  list(): Promise<KeyRecord[]>;
  create(record: KeyRecord, remember?: Remember<KeyRecord>): Stored<KeyRecord>;
  update(id: Id<"key">, change: Partial<Omit<KeyRecord, "id" | "project" | "hash" | "kind">>): Stored<KeyRecord>;
}

export interface SourceStore {
  list(): Promise<SourceRecord[]>;
  /** `num` is the store's. `NAME_TAKEN` where the project has such a source. */
  create(record: Omit<SourceRecord, "num">, remember?: Remember<SourceRecord>): Stored<SourceRecord>;
  update(
    id: Id<"src">,
    change: Partial<Omit<SourceRecord, "num" | "id" | "project" | "createdAt">>,
  ): Stored<SourceRecord>;
  /** The source goes, its events stay. */
  delete(id: Id<"src">): Stored<null>;
  /** Adds refused transmissions and keeps the newest 100 of each source. */
  reject(entries: readonly { sourceNum: number; rejection: Rejection }[]): Stored<null>;
  /** Newest first. `before` is a cursor of an earlier page. */
  rejections(
    sourceNum: number,
    page: { limit: number; before?: number },
  ): Promise<{ rows: Rejection[]; next?: number }>;
}

export type ListQuery = EventFilter & {
  project: Id<"prj">;
  statuses: readonly EventStatus[];
  /** Undefined: both. */
  routed?: boolean;
  /** Wall milliseconds: received at or after, received before. */
  since?: number;
  until?: number;
  /** Case-insensitive part of type or source. */
  text?: string;
  limit: number;
  afterSeq?: number;
};

export type Accepted = { id: Id<"evt">; duplicate: boolean };

export interface EventStore {
  /** One atomic insert with its duplicate check; a duplicate answers the first event's id. */
  accept(event: NewEvent): Stored<Accepted>;
  get(project: Id<"prj">, id: Id<"evt">): Promise<EventRecord | undefined>;
  /** An event of any project, for links that stand for their own right. */
  find(id: Id<"evt">): Promise<EventRecord | undefined>;
  /** Oldest first. `next` is where the following page begins; absent at the end. A page may be short and still have a next. */
  list(query: ListQuery): Promise<{ rows: EventRecord[]; next?: number }>;
  /** The first event that can be claimed now and matches, after `afterSeq` if given. */
  firstReady(project: Id<"prj">, filter: EventFilter, afterSeq?: number): Promise<EventRecord | undefined>;
  history(event: EventRecord): Promise<HistoryEntry[]>;
  requeue(project: Id<"prj">, id: Id<"evt">, by: string): Stored<EventRecord>;
  /** Up to `limit` of the matching events, from `afterSeq` on; dry: counts only. */
  requeueMany(
    query: Omit<ListQuery, "limit" | "routed"> & { limit: number },
    by: string,
    dry: boolean,
  ): Stored<{ matched: number; next?: number }>;
  /** Deletes the content. `EVENT_LEASED` while a lease holds. Answers the blob's key that must go. */
  purge(project: Id<"prj">, id: Id<"evt">, by: string): Stored<{ event: EventRecord; blob: string | null }>;
  /** Changes of a project after a cursor, oldest first, at most `limit`; each with the event as it was then. */
  changesAfter(project: Id<"prj">, cursor: number, limit: number): Promise<{ cursor: number; event: EventRecord }[]>;
  /** The newest change's cursor, and the oldest that can be resumed from. */
  changeCursors(): Promise<{ oldest: number; newest: number }>;
}

export type SettleAction =
  | { action: "ack"; result: string | null }
  | { action: "nack"; retry: boolean; reason: string | null }
  | { action: "release"; delayMs: number };

/** An event as it stood after a settle, with the gate time at which it is due again. */
export type Settled = { event: EventRecord; retryAt: number | null };

export interface LeaseStore {
  claim(project: Id<"prj">, id: Id<"evt">, holder: string, leaseMs: number): Stored<Claim>;
  /** Up to `max` of the oldest matching events, atomically; possibly none. */
  claimNext(project: Id<"prj">, filter: EventFilter, holder: string, max: number, leaseMs: number): Stored<Claim[]>;
  /** Takes a claim back as if it had never been, where it is still live. */
  undo(claims: readonly Claim[]): Stored<null>;
  settle(
    project: Id<"prj">,
    id: Id<"evt">,
    holder: string,
    lease: Id<"lse"> | undefined,
    act: SettleAction,
  ): Stored<Settled>;
  extend(
    project: Id<"prj">,
    id: Id<"evt">,
    holder: string,
    lease: Id<"lse"> | undefined,
    leaseMs: number,
  ): Stored<Claim>;
  /** The live lease of an event. */
  current(event: EventRecord): Promise<LeaseRecord | undefined>;
  /** Releases every live lease of a holder, uncounted. */
  releaseAll(holder: string): Stored<number>;
}

export type RetentionLimits = { payloadBefore: number; settledBefore: number; changesBefore: number };

export interface UpkeepStore {
  /** One small step of retention; `more` tells whether another is due. Times are wall milliseconds. */
  retain(limits: RetentionLimits, step: number): Stored<{ blobs: string[]; more: boolean }>;
  /** Counts for metrics, by project and status. */
  counts(): Promise<{ project: Id<"prj">; status: EventStatus; count: number }[]>;
  /** Which of these blobs an event still holds. */
  heldBlobs(keys: readonly string[]): Promise<Set<string>>;
}
