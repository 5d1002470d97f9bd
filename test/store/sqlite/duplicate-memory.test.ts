import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Id } from "../../../src/kernel/ids.ts";
import { openDatabase } from "../../../src/store/sqlite/database.ts";
import { DuplicateGeneration, type Known } from "../../../src/store/sqlite/duplicate-generation.ts";
import { DuplicateMemory } from "../../../src/store/sqlite/duplicate-memory.ts";
import { MIGRATIONS } from "../../../src/store/sqlite/migrations.ts";
import { openSqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
import { tempDir } from "../../support/tmp.ts";
import { Bed, DAY, hash16, newSource, ok } from "../conformance/bed.ts";

const open: Database[] = [];
afterEach(() => {
  for (const db of open.splice(0)) db.close();
});

function newDatabase(dir = tempDir("duplicates")): Database {
  const db = openDatabase(dir, 0);
  open.push(db);
  return db;
}

function known(name: string, more: Partial<Known> = {}): Known {
  return {
    source: 1,
    key: hash16(name),
    event: hash16(`e ${name}`),
    body: hash16(`b ${name}`),
    expires: 1000,
    ...more,
  };
}

/** The bytes of a finding, whatever buffer they lie in. */
function plain(found: Known | undefined): unknown {
  if (!found) return undefined;
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
  return { ...found, key: hex(found.key), event: hex(found.event), body: hex(found.body) };
}

/** One transaction that adds these keys, as the writer makes it. */
function commit(db: Database, memory: DuplicateMemory, keys: readonly Known[], gate = 0): void {
  db.transaction(() => {
    for (const key of keys) memory.add(key);
    memory.write(gate);
  })();
  memory.written();
}

const count = (db: Database, table: string) =>
  db.query<{ count: number }, []>(`SELECT count(*) AS count FROM ${table}`).get()?.count ?? 0;

const many = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => known(`k${from + i}`));

describe("a generation", () => {
  test("finds what was added, by source and key, while it holds", () => {
    const keys = new DuplicateGeneration();
    for (const key of many(0, 3000)) keys.add(key);
    keys.add(known("k1", { source: 2 }));
    for (const key of many(0, 3000)) expect(plain(keys.find(1, key.key, 999))).toEqual(plain(key));
    expect(keys.find(2, hash16("k1"), 0)?.source).toBe(2);
    expect(keys.find(2, hash16("k2"), 0)).toBeUndefined();
    expect(keys.find(1, hash16("other"), 0)).toBeUndefined();
    expect(keys.find(1, hash16("k1"), 1000)).toBeUndefined();
  });

  test("of a key that ran out and came again it knows the later", () => {
    const keys = new DuplicateGeneration();
    keys.add(known("a", { expires: 10 }));
    keys.add(known("a", { expires: 20, event: hash16("second") }));
    expect(keys.find(1, hash16("a"), 10)?.event).toEqual(hash16("second"));
  });

  test("takes back what came last, across its own growth", () => {
    const keys = new DuplicateGeneration();
    for (const key of many(0, 200)) keys.add(key);
    for (const key of many(200, 2000)) keys.add(key);
    keys.truncate(200);
    expect(keys.count).toBe(200);
    for (const key of many(0, 200)) expect(plain(keys.find(1, key.key, 0))).toEqual(plain(key));
    for (const key of many(200, 2000)) expect(keys.find(1, key.key, 0)).toBeUndefined();
  });

  test("is the same after it was written out and loaded", () => {
    const keys = new DuplicateGeneration();
    for (const key of many(0, 500)) keys.add(key);
    const again = new DuplicateGeneration();
    again.load(keys.written(0).slice(0, 60 * 100));
    again.load(keys.written(100));
    expect(again.count).toBe(500);
    for (const key of many(0, 500)) expect(plain(again.find(1, key.key, 0))).toEqual(plain(key));
  });

  test("gives its entries in the order of their keys, each once", () => {
    const keys = new DuplicateGeneration();
    for (const key of many(0, 1000)) keys.add(key);
    const order = keys.ordered();
    expect([...order].sort((a, b) => a - b)).toEqual(Array.from({ length: 1000 }, (_, i) => i));
    const first = [...order].map((number) => Buffer.from(keys.entry(number).key).readUInt32BE());
    expect(first).toEqual([...first].sort((a, b) => a - b));
  });
});

describe("the memory", () => {
  test("writes one row of the log a transaction, however many keys it adds", () => {
    const db = newDatabase();
    const memory = new DuplicateMemory(db, 1000);
    commit(db, memory, many(0, 64));
    commit(db, memory, many(64, 128));
    commit(db, memory, []);
    expect(count(db, "duplicates_log")).toBe(2);
    expect(count(db, "duplicates")).toBe(0);
  });

  test("takes gathered keys into the table in small steps, and then deletes their part of the log", () => {
    const db = newDatabase();
    const memory = new DuplicateMemory(db, 100);
    let most = 0;
    for (let i = 0; i < 3000; i += 10) {
      const before = count(db, "duplicates");
      commit(db, memory, many(i, i + 10));
      most = Math.max(most, count(db, "duplicates") - before);
      expect(memory.held).toBeLessThanOrEqual(220);
      expect(count(db, "duplicates_log")).toBeLessThanOrEqual(22);
    }
    expect(most).toBe(20);
    expect(count(db, "duplicates")).toBeGreaterThan(2700);
    for (const key of many(0, 3000)) expect(plain(memory.find(1, key.key, 0))).toEqual(plain(key));
    expect(memory.find(1, hash16("other"), 0)).toBeUndefined();
  });

  test("a key that has run out does not go into the table", () => {
    const db = newDatabase();
    const memory = new DuplicateMemory(db, 10);
    commit(db, memory, many(0, 10));
    commit(db, memory, many(10, 18), 1000);
    expect(count(db, "duplicates")).toBe(0);
    expect(count(db, "duplicates_log")).toBe(1);
  });

  test("what a rolled back transaction added is forgotten, what it would have merged is merged later", () => {
    const db = newDatabase();
    const memory = new DuplicateMemory(db, 100);
    commit(db, memory, many(0, 100));
    for (let attempt = 0; attempt < 3; attempt++) {
      const mark = memory.mark();
      db.run("BEGIN");
      for (const key of many(100, 110)) memory.add(key);
      memory.write(0);
      db.run("ROLLBACK");
      memory.back(mark);
      expect(memory.find(1, hash16("k105"), 0)).toBeUndefined();
    }
    for (let i = 100; i < 200; i += 10) commit(db, memory, many(i, i + 10));
    expect(count(db, "duplicates")).toBe(100);
    for (const key of many(0, 200)) expect(plain(memory.find(1, key.key, 0))).toEqual(plain(key));
  });

  test("the log read again in the middle of its deletion harms nothing that is newer", () => {
    const db = newDatabase();
    const memory = new DuplicateMemory(db, 10);
    commit(db, memory, [known("a", { expires: 10 }), ...many(0, 9)]);
    const old = db.query<{ num: number; entries: Uint8Array }, []>("SELECT * FROM duplicates_log").all();
    for (let i = 10; i < 40; i += 10) commit(db, memory, many(i, i + 10));
    const second = known("a", { expires: 2000, event: hash16("second") });
    commit(db, memory, [second, ...many(40, 49)], 10);
    for (let i = 50; i < 90; i += 10) commit(db, memory, many(i, i + 10), 10);
    for (const { num, entries } of old) db.query("INSERT INTO duplicates_log VALUES (?, ?)").run(num, entries);
    const again = new DuplicateMemory(db, 10);
    for (let i = 90; i < 200; i += 10) commit(db, again, many(i, i + 10), 0);
    expect(plain(again.find(1, hash16("a"), 10))).toEqual(plain(second));
  });

  /** Adds, rolled back adds, and restarts of which the last transaction's memory work may be lost to it. */
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ kind: fc.constant("commit" as const), keys: fc.array(fc.nat(400), { maxLength: 9 }) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant("rollback" as const), keys: fc.array(fc.nat(400), { maxLength: 9 }) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart" as const), keys: fc.constant([]) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("time" as const), keys: fc.constant([]) }) },
  );

  test("lives as a plain map does, through rollbacks, restarts at any point, and keys that run out", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 60, maxLength: 160 }), (steps) => {
        const db = new Database(":memory:", { strict: true });
        for (const sql of MIGRATIONS) db.run(sql);
        const model = new Map<string, Known>();
        let memory = new DuplicateMemory(db, 20);
        let gate = 0;
        let made = 0;
        const alive = (name: string) => {
          const found = model.get(name);
          return found && found.expires > gate ? found : undefined;
        };
        for (const { kind, keys } of steps) {
          if (kind === "restart") memory = new DuplicateMemory(db, 20);
          if (kind === "time") gate += 10;
          const added = new Map<string, Known>();
          const mark = memory.mark();
          db.run("BEGIN");
          for (const number of keys) {
            const name = `n${number}`;
            const expected = added.get(name) ?? alive(name);
            const found = memory.find(1, hash16(name), gate);
            expect(plain(found)).toEqual(plain(expected));
            if (found) continue;
            const next = known(name, { event: hash16(`event ${made++}`), expires: gate + 5 + (number % 4) * 10 });
            added.set(name, next);
            memory.add(next);
          }
          memory.write(gate);
          db.run(kind === "rollback" ? "ROLLBACK" : "COMMIT");
          if (kind === "rollback") memory.back(mark);
          else {
            memory.written();
            for (const [name, key] of added) model.set(name, key);
          }
        }
        for (let number = 0; number <= 400; number++) {
          const name = `n${number}`;
          expect(plain(memory.find(1, hash16(name), gate))).toEqual(plain(alive(name)));
        }
        db.close();
      }),
      { numRuns: 25 },
    );
  });
});

describe("a store with a small memory", () => {
  const small = {
    open: (dataDir: string, clock: Parameters<Parameters<typeof Bed.make>[0]["open"]>[1]) =>
      openSqliteStore({ dataDir, clock, reserveBytes: 0, duplicatesGathered: 8 }),
    newPlace: () => tempDir("duplicates"),
  };

  test("knows each of many ids across restarts in the middle of merging, and makes none twice", async () => {
    const bed = await Bed.make(small);
    const source = await ok(bed.store.sources.create(newSource(bed.project, "billing")));
    const accept = (i: number) =>
      ok(
        bed.store.events.accept(
          bed.newEvent({
            dedup: { sourceNum: source.num, key: hash16(`id ${i}`), bodyHash: hash16("b"), ttlMs: 30 * DAY },
          }),
        ),
      );
    const ids: Id<"evt">[] = [];
    for (let i = 0; i < 90; i++) {
      ids.push((await accept(i)).id);
      if (i % 7 === 6) await bed.restart();
    }
    for (let i = 0; i < 90; i++) expect(await accept(i)).toEqual({ id: ids[i] ?? "evt_none", duplicate: true });
    expect(await bed.store.upkeep.counts()).toMatchObject([{ count: 90 }]);
    await bed.close();
  });

  test("retention deletes what has run out, and what belongs to no source", async () => {
    const bed = await Bed.make(small);
    const kept = await ok(bed.store.sources.create(newSource(bed.project, "kept")));
    const gone = await ok(bed.store.sources.create(newSource(bed.project, "gone")));
    for (let i = 0; i < 60; i++) {
      const sourceNum = i % 3 === 0 ? gone.num : kept.num;
      const ttlMs = i % 3 === 1 ? DAY : 30 * DAY;
      await bed.arrive({ dedup: { sourceNum, key: hash16(`id ${i}`), bodyHash: hash16("b"), ttlMs } });
    }
    await ok(bed.store.sources.delete(gone.id));
    await bed.clock.advance(2 * DAY);
    const limits = { payloadBefore: 0, settledBefore: 0, changesBefore: 0 };
    while ((await ok(bed.store.upkeep.retain(limits, 5))).more);
    await bed.close();
    const db = newDatabase(bed.place);
    const left = db.query<{ source: number; expires: number }, []>("SELECT source, expires FROM duplicates").all();
    expect(left.length).toBeGreaterThan(10);
    for (const { source, expires } of left) {
      expect(source).toBe(kept.num);
      expect(expires).toBeGreaterThan(bed.clock.gate());
    }
  });
});
