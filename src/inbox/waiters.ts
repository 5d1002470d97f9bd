import { glob } from "../kernel/glob.ts";
import type { Id } from "../kernel/ids.ts";
import type { Change, EventFilter } from "../store/types.ts";

/** `first`: one that would take the event, so that only the first of its bucket need look. */
type Waiter = { wake: () => void; first: boolean; woken: boolean };
type Bucket = { matches: (change: Change) => boolean; waiters: Set<Waiter> };

/**
 * Who waits for an event to become claimable. A waiter is woken when a matching one does, and looks for itself; it costs
 * memory only. Waiters with the same filter share a bucket, so a change is matched once for all of them.
 */
export class Waiters {
  readonly #projects = new Map<string, Map<string, Bucket>>();
  #count = 0;

  /** How many wait now. */
  get count(): number {
    return this.#count;
  }

  /** Tells the waiters of what became claimable. */
  notify(changes: readonly Change[]): void {
    if (this.#count === 0) return;
    for (const change of changes) {
      if (!change.ready) continue;
      for (const bucket of this.#projects.get(change.project)?.values() ?? []) {
        if (bucket.matches(change)) wakeBucket(bucket);
      }
    }
  }

  /**
   * Looks with `look` until it finds something, now and each time a matching event becomes claimable; undefined once
   * `until` fires. It waits before it looks the first time, so that nothing that comes between is missed.
   * With `takes`, looking takes the event: each change then wakes one such waiter of a bucket, the longest waiting.
   */
  async until<T>(
    wanted: { project: Id<"prj">; filter: EventFilter; takes: boolean },
    until: AbortSignal,
    look: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    let turn = Promise.withResolvers<void>();
    const waiter: Waiter = { first: wanted.takes, woken: false, wake: () => turn.resolve() };
    const { bucket, leave } = this.#enter(wanted.project, wanted.filter, waiter);
    const stop = () => turn.resolve();
    until.addEventListener("abort", stop);
    try {
      while (!until.aborted) {
        waiter.woken = false;
        const found = await look();
        if (found !== undefined || until.aborted) return found;
        await turn.promise;
        turn = Promise.withResolvers<void>();
      }
      return undefined;
    } finally {
      until.removeEventListener("abort", stop);
      leave();
      // Woken, but gone before it looked: the next in line gets the call.
      if (waiter.first && waiter.woken) wakeBucket(bucket);
    }
  }

  #enter(project: Id<"prj">, filter: EventFilter, waiter: Waiter): { bucket: Bucket; leave: () => void } {
    const key = JSON.stringify([filter.source, filter.type, filter.channel, filter.verified]);
    const buckets = this.#projects.get(project) ?? new Map<string, Bucket>();
    const bucket = buckets.get(key) ?? { matches: changeMatcher(filter), waiters: new Set() };
    this.#projects.set(project, buckets.set(key, bucket));
    bucket.waiters.add(waiter);
    this.#count++;
    const leave = () => {
      this.#count--;
      bucket.waiters.delete(waiter);
      if (bucket.waiters.size === 0 && buckets.get(key) === bucket) buckets.delete(key);
      if (buckets.size === 0 && this.#projects.get(project) === buckets) this.#projects.delete(project);
    };
    return { bucket, leave };
  }
}

function wakeBucket(bucket: Bucket): void {
  let taken = false;
  for (const waiter of bucket.waiters) {
    if (waiter.first && (taken || waiter.woken)) continue;
    taken ||= waiter.first;
    waiter.woken = true;
    waiter.wake();
  }
}

function changeMatcher(filter: EventFilter): (change: Change) => boolean {
  const source = filter.source === undefined ? undefined : glob(filter.source);
  const type = filter.type === undefined ? undefined : glob(filter.type);
  return (change) =>
    (source === undefined || source(change.source)) &&
    (type === undefined || type(change.type)) &&
    (filter.channel === undefined || filter.channel === change.channel) &&
    (filter.verified === undefined || filter.verified === change.verified);
}
