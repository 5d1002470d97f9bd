import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { copyDatabase } from "../../../src/store/sqlite/copy.ts";
import { openSqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
import { EVENT_STATUSES } from "../../../src/store/types.ts";
import { tempDir } from "../../support/tmp.ts";
import { ACK, Bed, DAY, hash16, NACK, newSource, ok, RELEASE } from "../conformance/bed.ts";

/** Tables that stay small, or that only a rare walk reads whole. */
const SMALL = ["projects", "keys", "sources", "meta", "streams", "sqlite_sequence"];

/** Counting for metrics, and looking for blobs that nothing holds, read everything there is of their kind. */
const WHOLE = ["GROUP BY project, status", "FROM contents WHERE blob IS NOT NULL"];

const statements = new Set<string>();
let copy: Database;

/** Does everything a store can, and collects what it asks SQLite meanwhile. */
async function everything(bed: Bed): Promise<void> {
  const { store, project } = bed;
  const source = await ok(store.sources.create(newSource(project, "billing")));
  const dedup = { sourceNum: source.num, key: hash16("k"), bodyHash: hash16("b"), ttlMs: DAY };
  for (let i = 0; i < 103; i++) await bed.arrive({ dedup });
  for (let i = 0; i < 20; i++) await bed.arrive({ dedup: { ...dedup, key: hash16(`k${i}`) } });
  const event = await bed.arrive();
  await store.leases.undo([await bed.claimed(event)]);
  const claim = await bed.claimed(event);
  await store.leases.current(await bed.event(event.id));
  await store.leases.extend(project, event.id, "key_a", undefined, DAY);
  await bed.settled(claim, RELEASE);
  await store.leases.settle(project, event.id, "key_a", undefined, ACK);
  await bed.settled(await bed.claimed(event), { action: "release", delayMs: 1000 });
  await bed.clock.advance(1000);
  await bed.settled(await bed.claimed(event), NACK);
  await bed.clock.advance(DAY);
  for (const filter of [{}, { type: "invoice.*" }]) {
    await store.events.firstReady(project, filter);
    await bed.claimNext(filter);
  }
  await store.leases.releaseAll("key_a");
  await bed.claimNext({}, 1);
  await bed.clock.advance(DAY);
  for (const statuses of [EVENT_STATUSES, ...EVENT_STATUSES.map((status) => [status])]) {
    for (const routed of [true, false, undefined]) {
      const more = routed === undefined ? {} : { routed };
      await store.events.list({ project, statuses, limit: 5, since: 1, until: bed.clock.wall(), ...more });
    }
  }
  await store.events.history(event);
  await store.events.find(event.id);
  await bed.settled(await bed.claimed(event), ACK);
  await ok(store.events.requeue(project, event.id, "key_m"));
  await ok(store.events.purge(project, event.id, "key_m"));
  await store.events.changesAfter(project, 0, 10);
  await store.events.changeCursors();
  await store.remembered(hash16("slot"));
  await store.rememberAnswer(hash16("slot"), hash16("body"), "{}");
  await ok(
    store.sources.reject([
      { sourceNum: source.num, rejection: { at: 1, code: "C", reason: "", size: 1, remoteAddress: "" } },
    ]),
  );
  await store.sources.rejections(source.num, { limit: 5 });
  await store.upkeep.counts();
  await store.upkeep.heldBlobs(["x"]);
  const limits = { payloadBefore: bed.clock.wall(), settledBefore: bed.clock.wall(), changesBefore: bed.clock.wall() };
  await ok(store.upkeep.retain(limits, 5));
  await bed.restart(1000);
}

/** The plan's lines that read a large table from end to end, or sort in a table of their own. */
function faults(sql: string): string[] {
  if (WHOLE.some((part) => sql.includes(part))) return [];
  const plan = copy.query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`).all();
  return plan
    .map(({ detail }) => detail)
    .filter((detail) => {
      if (detail.includes("TEMP B-TREE")) return true;
      const table = /^SCAN (\w+)/.exec(detail)?.[1];
      const walk = / ORDER BY (seq|cursor)( DESC)? LIMIT /.test(sql);
      return table !== undefined && !SMALL.includes(table) && !walk && table !== "CONSTANT";
    });
}

beforeAll(async () => {
  const { prepare, query } = Database.prototype;
  const collect = (sql: string) => statements.add(sql.replace(/\s+/g, " ").trim());
  Database.prototype.prepare = function (this: Database, ...args: Parameters<typeof prepare>) {
    collect(args[0]);
    return prepare.apply(this, args);
  } as typeof prepare;
  Database.prototype.query = function (this: Database, ...args: Parameters<typeof query>) {
    collect(args[0]);
    return query.apply(this, args);
  } as typeof query;
  const place = tempDir("plans");
  const bed = await Bed.make({
    open: (dataDir, clock) => openSqliteStore({ dataDir, clock, reserveBytes: 0, duplicatesGathered: 4 }),
    newPlace: () => place,
  });
  try {
    await everything(bed);
  } finally {
    Object.assign(Database.prototype, { prepare, query });
  }
  // Plans are asked of a copy: even to explain a write would take part in the store's connection.
  const path = join(tempDir("plans"), "copy.db");
  await bed.close();
  copyDatabase(place, path);
  copy = new Database(path);
});

afterAll(() => copy.close());

test("no query reads a large table from end to end or sorts it", () => {
  const asked = [...statements].filter((sql) => /^(SELECT|UPDATE|DELETE|INSERT|WITH)\b/.test(sql));
  expect(asked.length).toBeGreaterThan(50);
  for (const table of [
    "events",
    "contents",
    "leases",
    "history",
    "changes",
    "duplicates",
    "duplicates_log",
    "idempotency",
    "rejections",
  ]) {
    expect(asked.some((sql) => sql.includes(`FROM ${table}`) || sql.includes(`UPDATE ${table}`))).toBe(true);
  }
  expect(asked.map((sql) => [sql, faults(sql)] as const).filter(([, wrong]) => wrong.length > 0)).toEqual([]);
});

const plan = (sql: string) =>
  copy
    .query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`)
    .all()
    .map(({ detail }) => detail);

test("the next ready event, of a project or a stream, is the head of an index", () => {
  const next = [...statements].filter((sql) => /status = 0 AND seq > \? \+ 0 ORDER BY seq LIMIT/.test(sql));
  expect(next.map((sql) => plan(sql)).sort()).toEqual([
    ["SEARCH events USING INDEX events_by_status (project=? AND status=? AND rowid>?)"],
    ["SEARCH events USING INDEX events_ready (stream=? AND rowid>?)"],
  ]);
});

test("what is due is the head of an index", () => {
  const due = [...statements].filter((sql) => sql.includes("due_at IS NOT NULL"));
  expect(due.length).toBe(2);
  for (const sql of due) expect(plan(sql)[0]).toContain("INDEX events_due");
});

test("a page of a list merges one range of an index for each status", () => {
  const pages = [...statements].filter((sql) => sql.includes("UNION ALL"));
  expect(pages.length).toBeGreaterThan(2);
  for (const sql of pages) {
    const reads = plan(sql).filter((line) => !/^(MERGE|LEFT|RIGHT)/.test(line));
    expect(new Set(reads)).toEqual(
      new Set(["SEARCH events USING INDEX events_by_status (project=? AND status=? AND rowid>? AND rowid<?)"]),
    );
  }
});

test("no query that runs with an event is compiled anew at each binding", () => {
  const hot = [...statements].filter(
    (sql) => /(ORDER BY|LIMIT)/.test(sql) && /FROM (events|leases|duplicates_log)/.test(sql),
  );
  expect(hot.length).toBeGreaterThan(8);
  const bare = hot.filter((sql) => /\bORDER BY\b/.test(sql) && /\?\d?(?! \+ 0)(?!\d)/.test(sql));
  expect(bare).toEqual([]);
});
