import type { Database } from "bun:sqlite";
import { statSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../kernel/clock.ts";
import { uuidText, uuidV7 } from "../../kernel/ids.ts";
import { isProblem } from "../../kernel/problems.ts";
import type { Store } from "../store.ts";
import type { Change } from "../types.ts";
import { Accept } from "./accept.ts";
import { Claims } from "./claim.ts";
import { Core } from "./core.ts";
import { lockFolder, openDatabase, PAGE_BYTES } from "./database.ts";
import { DiskReserve, freeBytes } from "./disk-reserve.ts";
import { DuplicateMemory } from "./duplicate-memory.ts";
import { historyOf } from "./event-history.ts";
import { diskFull, isStorageFailure } from "./failures.ts";
import { GroupCommit } from "./group-commit.ts";
import { LeaseRows } from "./lease-rows.ts";
import { Listing } from "./list.ts";
import { Names } from "./names.ts";
import { projectStore } from "./projects.ts";
import { ReadyQueue } from "./ready.ts";
import { keyStore, sourceStore } from "./registry.ts";
import { rememberAnswer, rememberedAnswer } from "./remember.ts";
import { Requeue } from "./requeue.ts";
import { Retention } from "./retain.ts";
import { Settling } from "./settle.ts";
import { Sweep } from "./sweep.ts";
import { Timeline } from "./timeline.ts";
import { upkeepStore } from "./upkeep.ts";

export type SqliteOptions = {
  dataDir: string;
  /** Makes the clock of this run from a gate time that no earlier run went beyond. */
  clock: (lastGate: number) => Clock;
  /** How much space is held back for a full disk, in bytes; by default 16 MiB, on a small volume less. */
  reserveBytes?: number;
  /** How many keys of duplicates are gathered in memory before they are sorted into the table; by default about 65,000. */
  duplicatesGathered?: number;
};

/** Gate time is promised this far ahead, so that it need not be written with each transaction. */
const GATE_AHEAD_MS = 1000;
const RESERVE_MAX = 16 * 1024 * 1024;
const RESERVE = "reserve";

/** A reserve up to this size costs a start no time; a volume so small may also be full before long. */
const RESERVE_AT_ONCE = 2 * 1024 * 1024;
const RESERVE_CHECK_MS = 2000;

/**
 * Opens the store of a data folder, which must exist. Throws `StoreRefusal` where it may not be opened.
 * What fell due while it was closed has moved on when it answers.
 */
export async function openSqliteStore(options: SqliteOptions): Promise<Store & { clock: Clock }> {
  const lock = lockFolder(options.dataDir);
  try {
    const db = openDatabase(options.dataDir, Date.now());
    return await assemble(db, lock, options.clock(Number(meta(db, "gate") ?? 0)), options);
  } catch (error) {
    lock.close();
    throw error;
  }
}

async function assemble(
  db: Database,
  lock: Database,
  clock: Clock,
  { dataDir, reserveBytes, duplicatesGathered }: SqliteOptions,
): Promise<Store & { clock: Clock }> {
  const workspaceId = workspace(db, clock);
  const core = new Core(db, clock, new Names(db));
  const leases = new LeaseRows(core);
  const timeline = new Timeline(core);
  const sweep = new Sweep(core, leases);
  const memory = new DuplicateMemory(db, duplicatesGathered);
  const held = reserveBytes ?? reserveSize(dataDir);
  const reserve = new DiskReserve(join(dataDir, RESERVE), held, held > RESERVE_AT_ONCE ? "later" : "now", () =>
    freePages(db),
  );
  const listeners = new Set<(changes: readonly Change[]) => void>();
  let gatePromised = Number.NEGATIVE_INFINITY;
  const writer = new GroupCommit(db, clock, reserve, {
    before(tx) {
      if (tx.gate > gatePromised) {
        gatePromised = tx.gate + GATE_AHEAD_MS;
        setMeta(db, "gate", String(gatePromised));
      }
      sweep.run(tx);
    },
    last(tx) {
      memory.write(tx.gate);
      sweep.look();
    },
    after(tx) {
      memory.written();
      if (tx.changes.length > 0) for (const listener of listeners) listener(tx.changes);
      sweep.arm();
    },
    mark: () => memory.mark(),
    failed(mark) {
      memory.back(mark);
      sweep.forget();
      gatePromised = Number.NEGATIVE_INFINITY;
      core.names.forget();
      core.readyStreams.forget();
      timeline.forget();
    },
  });
  core.attach(writer);
  // Where the disk refuses it, reading goes on and the timer tries again.
  if (isProblem(await writer.run(() => null))) sweep.arm();
  let laid = false;
  const reserveTimer = setInterval(() => {
    if (!laid || reserve.missing) laid = reserve.restore();
  }, RESERVE_CHECK_MS);
  reserveTimer.unref();
  const parts = eventParts(core, leases, new Accept(core, timeline, memory), timeline);
  return {
    clock,
    workspaceId,
    projects: projectStore(core),
    keys: keyStore(core),
    sources: sourceStore(core),
    ...parts,
    upkeep: upkeepStore(core, new Retention(core)),
    onCommit(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    rememberAnswer: (slot, bodyHash, answer) =>
      writer.run((tx) => rememberAnswer(db, tx, null, { slot, bodyHash, answer: () => answer })),
    remembered: async (slot) => rememberedAnswer(db, clock.gate(), slot),
    refusal: () => (reserve.spent ? diskFull() : undefined),
    writable: async () => !reserve.spent && !isProblem(await writer.run((tx) => setMeta(db, "probe", String(tx.wall)))),
    async close() {
      sweep.stop();
      clearInterval(reserveTimer);
      writer.close();
      try {
        setMeta(db, "gate", String(clock.gate()));
        db.run("PRAGMA wal_checkpoint(TRUNCATE)");
      } catch (error) {
        // Both only spare the next start some work.
        if (!isStorageFailure(error)) throw error;
      } finally {
        db.close();
        lock.close();
      }
    },
  };
}

function eventParts(
  core: Core,
  leases: LeaseRows,
  accept: Accept,
  timeline: Timeline,
): Pick<Store, "events" | "leases"> {
  const ready = new ReadyQueue(core);
  const listing = new Listing(core, ready, timeline);
  const claims = new Claims(core, leases, ready);
  const settling = new Settling(core, leases);
  const requeue = new Requeue(core, listing);
  return {
    events: {
      accept: (event) => accept.accept(event),
      async get(project, id) {
        const row = core.row(project, id);
        return row ? core.record(row) : undefined;
      },
      async find(id) {
        const row = core.rowOf(id);
        return row ? core.record(row) : undefined;
      },
      list: async (query) => listing.list(query),
      async firstReady(project, filter, afterSeq) {
        const [row] = ready.first(project, filter, 1, afterSeq);
        return row && core.record(row);
      },
      history: async (event) => historyOf(core, leases, event),
      requeue: (project, id, by) => requeue.one(project, id, by),
      requeueMany: (query, by, dry) => requeue.many(query, by, dry),
      purge: (project, id, by) => requeue.purge(project, id, by),
      changesAfter: async (project, cursor, limit) => listing.changes(project, cursor, limit),
      changeCursors: async () => changeCursors(core.db),
    },
    leases: {
      claim: (project, id, holder, leaseMs) => claims.one(project, id, holder, leaseMs),
      claimNext: (project, filter, holder, max, leaseMs) => claims.next(project, filter, holder, max, leaseMs),
      undo: (taken) => claims.undo(taken),
      settle: (project, id, holder, lease, act) => settling.settle(project, id, holder, lease, act),
      extend: (project, id, holder, lease, leaseMs) => settling.extend(project, id, holder, lease, leaseMs),
      async current(event) {
        const last = event.status === "claimed" ? leases.last(event.seq) : undefined;
        return last && last.outcome === null ? leases.record(last, event) : undefined;
      },
      releaseAll: (holder) => settling.releaseAll(holder),
    },
  };
}

function changeCursors(db: Database): { oldest: number; newest: number } {
  const first = db.query<{ cursor: number }, []>("SELECT cursor FROM changes ORDER BY cursor LIMIT 1").get();
  const last = db.query<{ seq: number }, []>("SELECT seq FROM sqlite_sequence WHERE name = 'changes'").get();
  const newest = last?.seq ?? 0;
  return { oldest: first ? first.cursor - 1 : newest, newest };
}

/** A sixteenth of what is free, so that a small volume is not filled by its own reserve, but what lies there stays. */
function reserveSize(dataDir: string): number {
  const laid = statSync(join(dataDir, RESERVE), { throwIfNoEntry: false })?.size ?? 0;
  return Math.min(RESERVE_MAX, Math.max(laid, Math.floor(freeBytes(dataDir) / 16)));
}

function workspace(db: Database, clock: Clock): string {
  const known = meta(db, "workspace");
  if (known) return known;
  const made = uuidText(uuidV7(clock.wall()));
  setMeta(db, "workspace", made);
  return made;
}

function meta(db: Database, name: string): string | undefined {
  return db.query<{ value: string }, [string]>("SELECT value FROM meta WHERE name = ?").get(name)?.value;
}

function setMeta(db: Database, name: string, value: string): void {
  db.query<null, [string, string]>("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)").run(name, value);
}

/** How many bytes are free within the database's file. */
function freePages(db: Database): number {
  const free = db.query<{ freelist_count: number }, []>("PRAGMA freelist_count").get()?.freelist_count ?? 0;
  return free * PAGE_BYTES;
}
