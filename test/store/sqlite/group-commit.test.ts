import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { isProblem } from "../../../src/kernel/problems.ts";
import { DiskReserve } from "../../../src/store/sqlite/disk-reserve.ts";
import { GroupCommit, type Tx } from "../../../src/store/sqlite/group-commit.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { tempDir } from "../../support/tmp.ts";

/** A writer over a real database with one table, which counts its commits and hears what they changed. */
class Desk {
  readonly dir = tempDir("group-commit");
  readonly db = new Database(join(this.dir, "t.db"), { create: true, strict: true });
  readonly reserve = new DiskReserve(join(this.dir, "reserve"), 65_536);
  readonly commits: Tx[] = [];
  rollbacks = 0;
  /** What the writer asked to be taken back, by the marks it was given. */
  readonly takenBack: number[] = [];
  kept = 0;
  afterCommit: () => void = () => {};
  readonly writer: GroupCommit;

  constructor() {
    this.db.run("PRAGMA journal_mode = WAL");
    this.db.run("CREATE TABLE t (n INTEGER PRIMARY KEY, text TEXT)");
    this.writer = new GroupCommit(this.db, new FakeClock(), this.reserve, {
      before: () => {},
      last: () => {},
      mark: () => this.kept,
      after: (tx) => {
        expect(this.db.inTransaction).toBe(false);
        this.commits.push(tx);
        this.afterCommit();
      },
      failed: (mark) => {
        this.rollbacks++;
        this.takenBack.push(mark);
        this.kept = mark;
      },
    });
  }

  insert(n: number, text = ""): number {
    return Number(this.db.query("INSERT INTO t VALUES (?, ?)").run(n, text).lastInsertRowid);
  }

  get rows(): number[] {
    return this.db
      .query<{ n: number }, []>("SELECT n FROM t ORDER BY n")
      .all()
      .map(({ n }) => n);
  }
}

/** A change that stands for what a piece of work says it changed. */
const change = (seq: number) => ({ seq }) as Tx["changes"][number];

test("work of one turn shares one commit, and is answered once that is durable", async () => {
  const desk = new Desk();
  const answers = [1, 2, 3].map((n) =>
    desk.writer.run((tx) => {
      tx.changes.push(change(n));
      return desk.insert(n) * 10;
    }),
  );
  expect(desk.rows).toEqual([]);
  expect(await Promise.all(answers)).toEqual([10, 20, 30]);
  expect(desk.commits).toHaveLength(1);
  expect(desk.commits[0]?.changes.map(({ seq }) => seq)).toEqual([1, 2, 3]);
  expect(desk.rows).toEqual([1, 2, 3]);
});

test("a piece that throws fails alone and leaves nothing; the others commit, still together", async () => {
  const desk = new Desk();
  const outcomes = await Promise.allSettled(
    [1, 2, 3, 4].map((n) =>
      desk.writer.run((tx) => {
        desk.insert(n);
        tx.changes.push(change(n));
        if (n % 2 === 0) throw new Error(`bug in ${n}`);
        return n;
      }),
    ),
  );
  expect(outcomes.map((outcome) => outcome.status)).toEqual(["fulfilled", "rejected", "fulfilled", "rejected"]);
  expect(outcomes[1]).toMatchObject({ reason: new Error("bug in 2") });
  expect(desk.rows).toEqual([1, 3]);
  expect(desk.commits).toHaveLength(1);
  expect(desk.commits[0]?.changes.map(({ seq }) => seq)).toEqual([1, 3]);
  expect(desk.rollbacks).toBeGreaterThan(0);
});

test("a piece that breaks a constraint fails alone too, and the desk goes on", async () => {
  const desk = new Desk();
  await desk.writer.run(() => desk.insert(1));
  const [a, b] = await Promise.allSettled([
    desk.writer.run(() => desk.insert(1)),
    desk.writer.run(() => desk.insert(2)),
  ]);
  expect([a?.status, b?.status]).toEqual(["rejected", "fulfilled"]);
  expect(await desk.writer.run(() => desk.insert(3))).toBe(3);
  expect(desk.rows).toEqual([1, 2, 3]);
});

test("every promise settles though every piece throws", async () => {
  const desk = new Desk();
  const work = Array.from({ length: 20 }, (_, n) =>
    desk.writer.run(() => {
      throw new Error(`bug in ${n}`);
    }),
  );
  const outcomes = await Promise.allSettled(work);
  expect(outcomes.every(({ status }) => status === "rejected")).toBe(true);
});

test("what is durable is answered though a listener throws", async () => {
  const desk = new Desk();
  desk.afterCommit = () => {
    throw new Error("a bug in a listener");
  };
  const answer = desk.writer.run(() => desk.insert(1));
  expect(() => desk.writer.flush()).toThrow("a bug in a listener");
  expect(await answer).toBe(1);
  expect(desk.rows).toEqual([1]);
});

test("a flood is cut into several transactions with turns of the event loop between", async () => {
  const desk = new Desk();
  const seen: number[] = [];
  const look = () => {
    seen.push(desk.rows.length);
    if (desk.commits.length < 4) setImmediate(look);
  };
  const all = Promise.all(Array.from({ length: 2000 }, (_, n) => desk.writer.run(() => desk.insert(n))));
  setImmediate(look);
  await all;
  expect(desk.commits).toHaveLength(4);
  expect(seen).toContain(1024);
  expect(desk.rows).toHaveLength(2000);
});

test("flushing commits all that has gathered, and closing takes no more", async () => {
  const desk = new Desk();
  const answers = Array.from({ length: 600 }, (_, n) => desk.writer.run(() => desk.insert(n)));
  desk.writer.close();
  expect(desk.rows).toHaveLength(600);
  expect(await Promise.all(answers)).toHaveLength(600);
  expect(await desk.writer.run(() => desk.insert(1))).toMatchObject({ code: "STORAGE_UNAVAILABLE" });
});

test("on a full disk the reserve is given up, intake is refused, and what else fits goes on", async () => {
  const desk = new Desk();
  const fill = "x".repeat(100_000);
  await desk.writer.run(() => desk.insert(1));
  desk.db.run("PRAGMA max_page_count = 10");
  const [intake, small] = await Promise.all([
    desk.writer.run(() => desk.insert(2, fill), true),
    desk.writer.run(() => desk.insert(3)),
  ]);
  expect(intake).toMatchObject({ code: "STORAGE_UNAVAILABLE", headers: { "retry-after": "30" } });
  expect(small).toBe(3);
  expect(desk.reserve.spent).toBe(true);
  expect(existsSync(join(desk.dir, "reserve"))).toBe(false);
  expect(await desk.writer.run(() => desk.insert(4), true)).toMatchObject({ code: "STORAGE_UNAVAILABLE" });
  expect(await desk.writer.run(() => desk.insert(5))).toBe(5);
  expect(await desk.writer.run(() => desk.insert(6, fill))).toMatchObject({ code: "STORAGE_UNAVAILABLE" });
  expect(desk.rows).toEqual([1, 3, 5]);
  desk.db.run("PRAGMA max_page_count = 1000000");
  expect(desk.reserve.restore()).toBe(true);
  expect(await desk.writer.run(() => desk.insert(7, fill), true)).toBe(7);
});

test("a disk that takes no writes refuses them with the code, never as a success, and it recovers by itself", async () => {
  const desk = new Desk();
  desk.db.run("PRAGMA query_only = ON");
  const answers = await Promise.all([1, 2].map((n) => desk.writer.run(() => desk.insert(n), true)));
  for (const answer of answers) {
    expect(isProblem(answer) && answer.detail).toContain("SQLITE_READONLY");
    expect(answer).toMatchObject({ code: "STORAGE_UNAVAILABLE", headers: { "retry-after": "5" } });
  }
  expect(desk.reserve.spent).toBe(false);
  desk.db.run("PRAGMA query_only = OFF");
  expect(await desk.writer.run(() => desk.insert(1), true)).toBe(1);
  expect(desk.commits).toHaveLength(1);
});

test("work that must be run again after another's bug is run on a clean slate", async () => {
  const desk = new Desk();
  let runs = 0;
  const [first] = await Promise.allSettled([
    desk.writer.run(() => {
      runs++;
      return [...desk.rows, desk.insert(1)];
    }),
    desk.writer.run(() => {
      throw new Error("bug");
    }),
  ]);
  expect(runs).toBe(2);
  expect(first).toEqual({ status: "fulfilled", value: [1] });
});

test("what is kept in memory goes back as far as the rollback does: a piece, or a whole transaction", async () => {
  const desk = new Desk();
  const keep = () => desk.writer.run(() => ++desk.kept);
  const bug = desk.writer.run(() => {
    desk.kept += 10;
    throw new Error("a bug");
  });
  const answers = Promise.all([keep(), keep()]);
  expect(await bug.catch((error: Error) => error.message)).toBe("a bug");
  expect(await answers).toEqual([1, 2]);
  expect([desk.kept, ...desk.takenBack]).toEqual([2, 0, 0]);
  await keep();
  const late = desk.writer.run(() => {
    desk.kept += 10;
    throw new Error("a bug");
  });
  const before = keep();
  await late.catch(() => {});
  await before;
  expect([desk.kept, ...desk.takenBack.slice(2)]).toEqual([4, 3, 3]);
});
