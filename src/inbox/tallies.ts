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
  #tallies: Tally[] = [];
  #at = Number.NEGATIVE_INFINITY;

  /** `now` is gate time in milliseconds. */
  constructor(store: Store, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  /** The counts, at most 15 seconds old. */
  async all(): Promise<readonly Tally[]> {
    if (this.#now() - this.#at < KEPT_MS) return this.#tallies;
    this.#at = this.#now();
    this.#tallies = await this.#store.upkeep.counts();
    return this.#tallies;
  }
}
