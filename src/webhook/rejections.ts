import type { Clock } from "../kernel/clock.ts";
import { isProblem, type Problem } from "../kernel/problems.ts";
import type { SourceStore } from "../store/store.ts";
import type { Rejection } from "../store/types.ts";
import type { Source } from "./sources.ts";

/** Refusals reach the store together, this long after the first: a flood of bad requests costs one write a second. */
const GATHER_MS = 1000;

/** Of one source no more wait than are kept. */
const KEPT = 100;

/** What a source refused and why; never a body, never a secret. */
export class Rejections {
  readonly #store: SourceStore;
  readonly #clock: Clock;
  readonly #waiting = new Map<number, Rejection[]>();
  #cancel: (() => void) | undefined;

  constructor(store: SourceStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Notes a refused transmission of a known source; `size` in bytes, as far as it was read or announced. */
  note(source: Source, problem: Problem, size: number, remoteAddress: string): void {
    const { num } = source.record;
    const waiting = this.#waiting.get(num) ?? [];
    waiting.push({ at: this.#clock.wall(), code: problem.code, reason: problem.detail, size, remoteAddress });
    this.#waiting.set(num, waiting.slice(-KEPT));
    this.#cancel ??= this.#clock.after(GATHER_MS, () => void this.flush());
  }

  /** Newest first. */
  async list(source: Source, page: { limit: number; before?: number }): Promise<{ rows: Rejection[]; next?: number }> {
    await this.flush();
    return this.#store.rejections(source.record.num, page);
  }

  /** Writes what has gathered. Where the store cannot take it, it waits for the next time, within its bound. */
  async flush(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    const batch = [...this.#waiting].flatMap(([sourceNum, rows]) =>
      rows.map((rejection) => ({ sourceNum, rejection })),
    );
    if (batch.length === 0) return;
    this.#waiting.clear();
    if (!isProblem(await this.#store.reject(batch))) return;
    const before = Map.groupBy(batch, ({ sourceNum }) => sourceNum);
    for (const [sourceNum, rows] of before) {
      // What came while the store was asked is younger.
      const all = [...rows.map(({ rejection }) => rejection), ...(this.#waiting.get(sourceNum) ?? [])];
      this.#waiting.set(sourceNum, all.slice(-KEPT));
    }
  }
}
