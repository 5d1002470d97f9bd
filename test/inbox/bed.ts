import { test } from "bun:test";
import { Inbox } from "../../src/inbox/index.ts";
import { isProblem } from "../../src/kernel/problems.ts";
import { openSqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import type { Claim, EventFilter, EventRecord } from "../../src/store/types.ts";
import { Bed } from "../store/conformance/bed.ts";
import { turns } from "../support/fake-clock.ts";
import { tempDir } from "../support/tmp.ts";

/** How a call has gone so far: `undefined` while it waits. */
export type Pending<T> = { answer: { value: T } | undefined; promise: Promise<T> };

/** An inbox over a real store, and calls that may still be waiting. */
export class InboxBed {
  readonly bed: Bed;
  inbox: Inbox;

  private constructor(bed: Bed) {
    this.bed = bed;
    this.inbox = new Inbox(bed.store, bed.clock);
  }

  static async make(): Promise<InboxBed> {
    const bed = await Bed.make({
      open: (dataDir, clock) => openSqliteStore({ dataDir, clock, reserveBytes: 0 }),
      newPlace: () => tempDir("inbox"),
    });
    return new InboxBed(bed);
  }

  async close(): Promise<void> {
    this.inbox.close();
    await this.bed.close();
  }

  async restart(downMs = 0): Promise<void> {
    this.inbox.close();
    await this.bed.restart(downMs);
    this.inbox = new Inbox(this.bed.store, this.bed.clock);
  }

  caller(holder = "key_a", signal = new AbortController().signal) {
    return { project: this.bed.project, holder, signal };
  }

  /** Starts waiting for an event and gives the call the turns it needs to find one that is there. */
  async waiting(
    filter: EventFilter = {},
    options: { timeoutMs?: number; after?: `evt_${string}` } = {},
    caller = this.caller(),
  ) {
    return watched(this.inbox.wait(caller, filter, { timeoutMs: 25_000, ...options }));
  }

  /** Starts claiming the next, waiting for one. */
  async claiming(filter: EventFilter = {}, max = 1, caller = this.caller(), waitMs = 25_000) {
    return watched(this.inbox.claimNext(caller, filter, { max, leaseMs: 300_000, waitMs }));
  }
}

export async function watched<T>(promise: Promise<T>): Promise<Pending<T>> {
  const pending: Pending<T> = { answer: undefined, promise };
  promise.then((value) => {
    pending.answer = { value };
  });
  await turns();
  return pending;
}

/** A test with an inbox of its own. */
export function inboxTest(name: string, run: (on: InboxBed) => Promise<void>, timeoutMs?: number): void {
  test(
    name,
    async () => {
      const on = await InboxBed.make();
      try {
        await run(on);
      } finally {
        await on.close();
      }
    },
    timeoutMs,
  );
}

/** The id of the event that a call answered; null while it waits or where it got none. */
export function idOf(pending: Pending<unknown>): string | null {
  const value = pending.answer?.value as EventRecord | Claim[] | undefined;
  if (isProblem(value)) throw new Error(value.detail);
  return (Array.isArray(value) ? value[0]?.event.id : value?.id) ?? null;
}
