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

/** Runs retention every hour, and clears what a crash left behind. */
export function startRetention(deps: Deps, retention: Config["retention"], log: Log): { stop: () => void } {
  let cancel = deps.clock.after(0, () => void round());
  let stopped = false;
  const later = (ms: number) => {
    if (!stopped) cancel = deps.clock.after(ms, () => void round());
  };
  const round = async () => {
    try {
      later((await retain(deps, retention)) ? PAUSE_MS : HOUR_MS);
    } catch (error) {
      log.error("retention failed; it is tried again in an hour", { error: String(error) });
      later(HOUR_MS);
    }
  };
  void clearOrphans(deps).catch((error) => log.error("stray blobs were not cleared", { error: String(error) }));
  return {
    stop() {
      stopped = true;
      cancel();
    },
  };
}

/** One step; true where another is due. */
async function retain(deps: Deps, retention: Config["retention"]): Promise<boolean> {
  const now = deps.clock.wall();
  const limits = {
    payloadBefore: now - retention.payload_days * DAY_MS,
    settledBefore: now - retention.settled_days * DAY_MS,
    changesBefore: now - retention.changes_hours * HOUR_MS,
  };
  const done = await deps.store.upkeep.retain(limits, STEP);
  if (isProblem(done)) return false;
  await deps.blobs.delete(done.blobs);
  return done.more;
}

/** A crash between a blob and its event, or between a purge and its blob, leaves a blob that no event holds. */
async function clearOrphans({ blobs, store, clock }: Deps): Promise<void> {
  // What is written from now on may wait for its event's commit.
  const keys = await blobs.keys(clock.wall());
  if (keys.length === 0) return;
  const held = await store.upkeep.heldBlobs(keys);
  await blobs.delete(keys.filter((key) => !held.has(key)));
}
