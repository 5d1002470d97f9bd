import { Database } from "bun:sqlite";
import { afterEach, expect, test } from "bun:test";
import { join } from "node:path";
import { tempDir } from "../../support/tmp.ts";

/**
 * What the store rests on, or keeps clear of, in bun:sqlite. A Bun that behaves otherwise is noticed here: where a trap is
 * gone, the rule that avoids it may go too.
 */
const open: Database[] = [];
afterEach(() => {
  for (const db of open.splice(0)) db.close();
});

function newDatabase(
  path = join(tempDir("platform"), "t.db"),
  options: object = { create: true, strict: true },
): Database {
  const db = new Database(path, options);
  open.push(db);
  db.run("PRAGMA journal_mode = WAL");
  db.run("CREATE TABLE IF NOT EXISTS t (n INTEGER PRIMARY KEY, x ANY) STRICT");
  return db;
}

const rows = (db: Database) =>
  db
    .query<{ n: number }, []>("SELECT n FROM t ORDER BY n")
    .all()
    .map(({ n }) => n);

/** What a program of its own finds in the table. */
function rowsElsewhere(path: string): unknown {
  const code = `const { Database } = require("bun:sqlite");
    console.log(JSON.stringify(new Database(${JSON.stringify(path)}, { readonly: true }).query("SELECT n FROM t ORDER BY n").all().map((r) => r.n)))`;
  const ran = Bun.spawnSync([process.execPath, "-e", code]);
  if (ran.exitCode !== 0) throw new Error(ran.stderr.toString());
  return JSON.parse(ran.stdout.toString());
}

test("a window of a buffer is bound as its own bytes, not as the whole buffer", () => {
  const db = newDatabase();
  const bytes = Uint8Array.from({ length: 32 }, (_, i) => i);
  db.query("INSERT INTO t VALUES (1, ?)").run(bytes.subarray(5, 9));
  db.query("INSERT INTO t VALUES (2, ?)").run(bytes.subarray(3, 3));
  const found = db.query<{ x: Uint8Array }, []>("SELECT x FROM t ORDER BY n").all();
  expect(found.map(({ x }) => [...x])).toEqual([[5, 6, 7, 8], []]);
});

test("what was read stays as it is when the statement runs again", () => {
  const db = newDatabase();
  const read = db.prepare<{ x: Uint8Array }, [number]>("SELECT x FROM t WHERE n = ?");
  for (const n of [1, 2]) db.query("INSERT INTO t VALUES (?, ?)").run(n, new Uint8Array(64).fill(n));
  const first = read.get(1);
  read.get(2);
  expect(new Set(first?.x)).toEqual(new Set([1]));
});

test("text comes back as it went in, U+0000 and unpaired halves aside", () => {
  const db = newDatabase();
  const text = '{"a":"\u00e9\u{1f4ee}\u2028\ufeff","b":1.10}';
  db.query("INSERT INTO t VALUES (1, ?)").run(text);
  expect(db.query<{ x: string }, []>("SELECT x FROM t").get()?.x).toBe(text);
});

test("milliseconds and counts are exact; integers beyond 2^53 are not, so none is stored", () => {
  const db = newDatabase();
  const exact = [Date.UTC(9999, 0), -1, 0, Number.MAX_SAFE_INTEGER];
  for (const [n, value] of exact.entries()) db.query("INSERT INTO t VALUES (?, ?)").run(n, value);
  expect(
    db
      .query<{ x: number }, []>("SELECT x FROM t ORDER BY n")
      .all()
      .map(({ x }) => x),
  ).toEqual(exact);
  db.run("INSERT INTO t VALUES (9, 9007199254740993)");
  expect(db.query<{ x: number }, []>("SELECT x FROM t WHERE n = 9").get()?.x).toBe(9007199254740992);
});

test("a named parameter that is missing is refused, since the store opens its database strictly", () => {
  const insert = (db: Database) => db.query<null, Record<string, number>>("INSERT INTO t VALUES ($n, $x)");
  expect(() => insert(newDatabase()).run({ n: 1 })).toThrow("Missing parameter");
});

test("a transaction around an async function commits before its await: the writer takes only what is synchronous", async () => {
  const db = newDatabase();
  const gate = Promise.withResolvers<void>();
  const running = db.transaction(async () => {
    db.run("INSERT INTO t VALUES (1, NULL)");
    await gate.promise;
  })();
  expect(db.inTransaction).toBe(false);
  gate.resolve();
  await running;
});

test("a write that fails with its constraint undoes itself alone, and the transaction stays whole", () => {
  const db = newDatabase();
  db.run("BEGIN IMMEDIATE");
  db.run("INSERT INTO t VALUES (1, NULL)");
  expect(() => db.run("INSERT INTO t VALUES (2, NULL), (1, NULL)")).toThrow("UNIQUE");
  expect(db.inTransaction).toBe(true);
  db.run("COMMIT");
  expect(rows(db)).toEqual([1]);
});

test("RETURNING read to its end commits: another program sees the row", () => {
  const path = join(tempDir("platform"), "t.db");
  const db = newDatabase(path);
  expect(db.query<{ n: number }, []>("INSERT INTO t VALUES (1, NULL) RETURNING n").get()).toEqual({ n: 1 });
  expect(db.query<{ n: number }, []>("INSERT INTO t VALUES (2, NULL) RETURNING n").all()).toEqual([{ n: 2 }]);
  expect(rowsElsewhere(path)).toEqual([1, 2]);
});

test("trap: an abandoned iteration over RETURNING keeps what comes after it from being committed", () => {
  const path = join(tempDir("platform"), "t.db");
  const db = newDatabase(path);
  db.run("INSERT INTO t VALUES (1, NULL), (2, NULL)");
  const abandoned = db.query("UPDATE t SET x = 1 RETURNING n").iterate();
  abandoned.next();
  db.run("INSERT INTO t VALUES (3, NULL)");
  expect(rows(db)).toEqual([1, 2, 3]);
  expect(rowsElsewhere(path)).toEqual([1, 2]);
});

test("trap: to explain a write keeps what comes after it from being committed", () => {
  const path = join(tempDir("platform"), "t.db");
  const db = newDatabase(path);
  db.query("EXPLAIN INSERT INTO t VALUES (1, NULL)").all();
  db.run("INSERT INTO t VALUES (2, NULL)");
  expect(rows(db)).toEqual([2]);
  expect(rowsElsewhere(path)).toEqual([]);
});
