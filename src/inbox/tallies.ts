import type { Id } from "../kernel/ids.ts";
import type { Store } from "../store/store.ts";
import type { EventStatus } from "../store/types.ts";

type Tally = { project: Id<"prj">; status: EventStatus; count: number };

/** How old a count may be: a scrape must not walk a million events each time. */
const KEPT_MS = 15_000;

/** Counts of events by project and status. */
export class Tallies {
  readonly #store: Store;
  readonly #now: () => number;
  #last: { at: number; tallies: Promise<Tally[]> } | undefined;

  /** `now` is gate time in milliseconds. */
  constructor(store: Store, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  /** The counts, at most 15 seconds old; who asks while they are counted gets the same. */
  async all(): Promise<readonly Tally[]> {
    const at = this.#now();
    if (this.#last && at - this.#last.at < KEPT_MS) return this.#last.tallies;
    const last = { at, tallies: this.#store.upkeep.counts() };
    this.#last = last;
    try {
      return await last.tallies;
    } catch (error) {
      if (this.#last === last) this.#last = undefined;
      throw error;
    }
  }
}
