import { glob } from "../kernel/glob.ts";
import type { Id } from "../kernel/ids.ts";
import type { Change, EventFilter } from "../store/types.ts";

type Waiter = { wake: () => void; woken: boolean };

/** Those with one filter. Of the takers, who would take the event, only the first need look; each longest waiting first. */
type Bucket = { matches: (change: Change) => boolean; takers: Set<Waiter>; lookers: Set<Waiter> };

type Wanted = { project: Id<"prj">; filter: EventFilter; takes: boolean };

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
        if (!bucket.matches(change)) continue;
        for (const looker of bucket.lookers) wake(looker);
        wakeTaker(bucket);
      }
    }
  }

  /**
   * Looks with `look` until it finds something, now and each time a matching event becomes claimable; undefined once
   * `until` fires. It waits before it looks the first time, so that nothing that comes between is missed.
   * With `takes`, looking takes the event: each change then wakes one such waiter of a bucket, the longest waiting.
   */
  async until<T>(wanted: Wanted, until: AbortSignal, look: () => Promise<T | undefined>): Promise<T | undefined> {
    let turn = Promise.withResolvers<void>();
    const waiter: Waiter = { woken: false, wake: () => turn.resolve() };
    const { bucket, leave } = this.#enter(wanted, waiter);
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
      if (wanted.takes && waiter.woken) wakeTaker(bucket);
    }
  }

  #enter({ project, filter, takes }: Wanted, waiter: Waiter): { bucket: Bucket; leave: () => void } {
    const key = JSON.stringify([filter.source, filter.type, filter.channel, filter.verified]);
    const buckets = this.#projects.get(project) ?? new Map<string, Bucket>();
    const bucket = buckets.get(key) ?? { matches: changeMatcher(filter), takers: new Set(), lookers: new Set() };
    this.#projects.set(project, buckets.set(key, bucket));
    const waiters = takes ? bucket.takers : bucket.lookers;
    waiters.add(waiter);
    this.#count++;
    const leave = () => {
      this.#count--;
      waiters.delete(waiter);
      if (bucket.takers.size + bucket.lookers.size === 0 && buckets.get(key) === bucket) buckets.delete(key);
      if (buckets.size === 0 && this.#projects.get(project) === buckets) this.#projects.delete(project);
    };
    return { bucket, leave };
  }
}

function wake(waiter: Waiter): void {
  waiter.woken = true;
  waiter.wake();
}

/** Wakes the longest waiting that is not on its way already, and looks at no more of them. */
function wakeTaker({ takers }: Bucket): void {
  for (const taker of takers) {
    if (taker.woken) continue;
    wake(taker);
    return;
  }
}

/** So many answers a filter remembers: globs are matched against few names, again and again. */
const REMEMBERED = 512;

/** A filter's answer depends on a few names alone, so it is worked out once for each. */
function changeMatcher(filter: EventFilter): (change: Change) => boolean {
  const matches = matcherOf(filter);
  const known = new Map<string, boolean>();
  return (change) => {
    const key = `${change.source} ${change.channel} ${change.verified} ${change.type}`;
    const before = known.get(key);
    if (before !== undefined) return before;
    if (known.size >= REMEMBERED) known.clear();
    const answer = matches(change);
    known.set(key, answer);
    return answer;
  };
}

function matcherOf(filter: EventFilter): (change: Change) => boolean {
  const source = filter.source === undefined ? undefined : glob(filter.source);
  const type = filter.type === undefined ? undefined : glob(filter.type);
  return (change) =>
    (source === undefined || source(change.source)) &&
    (type === undefined || type(change.type)) &&
    (filter.channel === undefined || filter.channel === change.channel) &&
    (filter.verified === undefined || filter.verified === change.verified);
}
