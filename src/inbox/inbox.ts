import type { Clock } from "../kernel/clock.ts";
import type { Id } from "../kernel/ids.ts";
import { isProblem, Problem } from "../kernel/problems.ts";
import type { ListQuery, SettleAction, Settled, Store } from "../store/store.ts";
import type { Claim, EventFilter, EventRecord, EventStatus, HistoryEntry, LeaseRecord } from "../store/types.ts";
import { changesOf, type StreamedChange } from "./stream.ts";
import { Waiters } from "./waiters.ts";

/** An ack's `result` may take this many bytes of JSON (contract, section 5). */
export const RESULT_BYTES = 4096;

/** So many events a transaction when many are requeued, so that others get their turn. */
const REQUEUE_STEP = 200;

export type Settle =
  | { action: "ack"; result?: unknown }
  | { action: "nack"; retry?: boolean | undefined; reason?: string | undefined }
  | { action: "release"; delay_seconds?: number | undefined };

/** Ends a wait or stream: its holder lost its right, or there is no more waiting for anyone. */
type Stop = (why: "lost" | "over") => void;

/** The life of events: waiting for them, leasing and settling them, bringing them back. */
export class Inbox {
  readonly waiters = new Waiters();
  readonly #store: Store;
  readonly #clock: Clock;
  /** The waits of each holder, so that a key that stops being active loses them at once. */
  readonly #waits = new Map<string, Set<Stop>>();
  readonly #stop: () => void;

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#stop = store.onCommit((changes) => this.waiters.notify(changes));
  }

  get clock(): Clock {
    return this.#clock;
  }

  /** The first event that can be claimed and matches, at once or when there is one; undefined after the timeout. */
  async wait(
    caller: { project: Id<"prj">; holder: string; signal: AbortSignal },
    filter: EventFilter,
    options: { timeoutMs: number; after?: Id<"evt"> | undefined },
  ): Promise<EventRecord | undefined | Problem> {
    let afterSeq = 0;
    if (options.after !== undefined) {
      const after = await this.get(caller.project, options.after);
      if (isProblem(after)) return after;
      afterSeq = after.seq;
    }
    const look = () => this.#store.events.firstReady(caller.project, filter, afterSeq);
    return this.#until(caller, filter, options.timeoutMs, false, look);
  }

  /** Takes up to `max` of the oldest matching events, waiting for one if asked. A caller who has gone gets none. */
  async claimNext(
    caller: { project: Id<"prj">; holder: string; signal: AbortSignal },
    filter: EventFilter,
    options: { max: number; leaseMs: number; waitMs: number },
  ): Promise<Claim[] | Problem> {
    const { project, holder } = caller;
    const look = async () => {
      const claims = await this.#store.leases.claimNext(project, filter, holder, options.max, options.leaseMs);
      return isProblem(claims) || claims.length > 0 ? claims : undefined;
    };
    const claims = options.waitMs > 0 ? await this.#until(caller, filter, options.waitMs, true, look) : await look();
    if (!claims || isProblem(claims)) return claims ?? [];
    await newsOfCaller();
    return caller.signal.aborted ? this.#takeBack(claims) : claims;
  }

  /** Takes one event. */
  async claim(
    caller: { project: Id<"prj">; holder: string; signal: AbortSignal },
    id: Id<"evt">,
    leaseMs: number,
  ): Promise<Claim | Problem> {
    const claim = await this.#store.leases.claim(caller.project, id, caller.holder, leaseMs);
    if (isProblem(claim)) return claim;
    await newsOfCaller();
    if (!caller.signal.aborted) return claim;
    const gone = await this.#takeBack([claim]);
    return isProblem(gone) ? gone : new Problem("SHUTTING_DOWN", "the caller has gone; the claim was taken back");
  }

  /** Undoes claims whose answer nobody will read. */
  async #takeBack(claims: readonly Claim[]): Promise<Claim[] | Problem> {
    const undone = await this.#store.leases.undo(claims);
    return isProblem(undone) ? undone : [];
  }

  async #until<T>(
    caller: { project: Id<"prj">; holder: string; signal: AbortSignal },
    filter: EventFilter,
    timeoutMs: number,
    takes: boolean,
    look: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const end = new AbortController();
    const abort = () => end.abort();
    let lost = false;
    const leave = this.attend(caller.holder, (why) => {
      lost ||= why === "lost";
      abort();
    });
    caller.signal.addEventListener("abort", abort);
    const cancel = this.#clock.after(timeoutMs, abort);
    try {
      if (caller.signal.aborted) return undefined;
      const found = await this.waiters.until({ project: caller.project, filter, takes }, end.signal, look);
      // Leases that a lost holder took in this very moment are released with its others.
      return lost ? undefined : found;
    } finally {
      cancel();
      caller.signal.removeEventListener("abort", abort);
      leave();
    }
  }

  /** Notes a wait or stream of a holder; `stop` ends it when the holder loses its right or the daemon stops. */
  attend(holder: string, stop: Stop): () => void {
    const waits = this.#waits.get(holder) ?? new Set<Stop>();
    this.#waits.set(holder, waits.add(stop));
    return () => {
      waits.delete(stop);
      if (waits.size === 0 && this.#waits.get(holder) === waits) this.#waits.delete(holder);
    };
  }

  /** The changes of a project's events after a cursor, until `signal` fires. */
  changes(project: Id<"prj">, after: number, signal: AbortSignal): AsyncGenerator<StreamedChange> {
    return changesOf(this.#store, project, after, signal);
  }

  /** Ends the waits of a holder that lost its right, and gives its leases back uncounted. */
  async dismiss(holder: string): Promise<Problem | undefined> {
    for (const stop of [...(this.#waits.get(holder) ?? [])]) stop("lost");
    const released = await this.#store.leases.releaseAll(holder);
    return isProblem(released) ? released : undefined;
  }

  /** Ends every wait politely, as if its time were over. */
  endWaits(): void {
    for (const waits of [...this.#waits.values()]) for (const stop of [...waits]) stop("over");
  }

  async get(project: Id<"prj">, id: Id<"evt">): Promise<EventRecord | Problem> {
    const event = await this.#store.events.get(project, id);
    return event ?? new Problem("NOT_FOUND", `there is no event ${id} in this project`);
  }

  async history(event: EventRecord): Promise<HistoryEntry[]> {
    return this.#store.events.history(event);
  }

  async lease(event: EventRecord): Promise<LeaseRecord | undefined> {
    return this.#store.leases.current(event);
  }

  async list(query: ListQuery): Promise<{ rows: EventRecord[]; next?: number }> {
    return this.#store.events.list(query);
  }

  /** Ends a lease: `RESULT_TOO_LARGE`, `NOT_FOUND`, `LEASE_NOT_HELD`, `LEASE_REQUIRED`, `RELEASE_LIMIT`. */
  async settle(
    caller: { project: Id<"prj">; holder: string },
    id: Id<"evt">,
    lease: Id<"lse"> | undefined,
    settle: Settle,
  ): Promise<Settled | Problem> {
    const act = toAction(settle);
    return isProblem(act) ? act : this.#store.leases.settle(caller.project, id, caller.holder, lease, act);
  }

  async extend(
    caller: { project: Id<"prj">; holder: string },
    id: Id<"evt">,
    lease: Id<"lse"> | undefined,
    leaseMs: number,
  ): Promise<Claim | Problem> {
    return this.#store.leases.extend(caller.project, id, caller.holder, lease, leaseMs);
  }

  async requeue(project: Id<"prj">, id: Id<"evt">, by: string): Promise<EventRecord | Problem> {
    return this.#store.events.requeue(project, id, by);
  }

  /** Brings back every matching event there is at this moment; answers how many. */
  async requeueMany(
    query: Omit<ListQuery, "limit" | "afterSeq" | "routed"> & { statuses: readonly EventStatus[] },
    by: string,
    dry: boolean,
  ): Promise<number | Problem> {
    let matched = 0;
    for (let afterSeq = 0; ; ) {
      const step = await this.#store.events.requeueMany({ ...query, limit: REQUEUE_STEP, afterSeq }, by, dry);
      if (isProblem(step)) return step;
      matched += step.matched;
      if (step.next === undefined) return matched;
      afterSeq = step.next;
    }
  }

  async purge(
    project: Id<"prj">,
    id: Id<"evt">,
    by: string,
  ): Promise<{ event: EventRecord; blob: string | null } | Problem> {
    return this.#store.events.purge(project, id, by);
  }

  close(): void {
    this.#stop();
    this.endWaits();
  }
}

/**
 * Lets the event loop look at the connections once. That a caller has gone is known only then: without it a claim is
 * answered in the very turn that read its request, into a connection that may be closed already.
 */
async function newsOfCaller(): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(resolve));
}

function toAction(settle: Settle): SettleAction | Problem {
  if (settle.action === "nack") {
    return { action: "nack", retry: settle.retry ?? true, reason: settle.reason ?? null };
  }
  if (settle.action === "release") return { action: "release", delayMs: (settle.delay_seconds ?? 0) * 1000 };
  const result = settle.result === undefined ? null : JSON.stringify(settle.result);
  if (result !== null && Buffer.byteLength(result) > RESULT_BYTES) {
    return new Problem(
      "RESULT_TOO_LARGE",
      `\`result\` takes ${Buffer.byteLength(result)} bytes of JSON, at most ${RESULT_BYTES} are kept`,
    );
  }
  return { action: "ack", result };
}
