import type { Config } from "../config/schema.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Log } from "../kernel/log.ts";
import { isProblem } from "../kernel/problems.ts";
import type { BlobStore } from "../store/blobs.ts";
import type { Store } from "../store/store.ts";

type Deps = { clock: Clock; store: Store; blobs: BlobStore };

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** So many rows a step, and this long between two of one round, so that ingest never waits for retention. */
const STEP = 200;
const PAUSE_MS = 50;

/** Where the store could not take a step, on a full disk for one, the next try is so far away. */
const RETRY_MS = 60_000;

/** Retention at work. */
export type Retainer = {
  /** Holds to other limits from now on, beginning at once. */
  follow: (retention: Config["retention"]) => void;
  /** Resolves when it knows which blobs are an earlier run's; before that none may be written, lest it be taken for a stray. */
  begun: Promise<void>;
  stop: () => void;
};

/** Runs retention every hour, beginning now, and clears what a crash left behind. */
export function startRetention(deps: Deps, retention: Config["retention"], log: Log): Retainer {
  let limits = retention;
  let stopped = false;
  let cancel = () => {};
  const later = (ms: number) => {
    cancel();
    if (!stopped) cancel = deps.clock.after(ms, () => void round());
  };
  const round = async () => {
    try {
      later(await retain(deps, limits, log));
    } catch (error) {
      log.error("retention failed; it is tried again in an hour", { error: String(error) });
      later(HOUR_MS);
    }
  };
  later(0);
  // No time tells them apart: a file's is a little behind the clock's, and that may be set back.
  const earlier = deps.blobs.keys(Number.POSITIVE_INFINITY);
  const failed = (error: unknown) => log.error("stray blobs were not cleared", { error: String(error) });
  const begun = earlier.then((keys) => void clearOrphans(deps, keys).catch(failed), failed);
  return {
    begun,
    follow(now) {
      limits = now;
      later(0);
    },
    stop() {
      stopped = true;
      cancel();
    },
  };
}

/** One step; answers how long to wait for the next. */
async function retain(deps: Deps, retention: Config["retention"], log: Log): Promise<number> {
  const now = deps.clock.wall();
  const limits = {
    payloadBefore: now - retention.payload_days * DAY_MS,
    settledBefore: now - retention.settled_days * DAY_MS,
    changesBefore: now - retention.changes_hours * HOUR_MS,
  };
  const done = await deps.store.upkeep.retain(limits, STEP);
  if (isProblem(done)) {
    log.warn("retention rests", { why: done.detail });
    return RETRY_MS;
  }
  await deps.blobs.delete(done.blobs);
  return done.more ? PAUSE_MS : HOUR_MS;
}

/** A crash between a blob and its event, or between a purge and its blob, leaves a blob that no event holds. */
async function clearOrphans({ blobs, store }: Deps, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  const held = await store.upkeep.heldBlobs(keys);
  await blobs.delete(keys.filter((key) => !held.has(key)));
}
