import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { databasePath, lockFolder, openDatabase, StoreRefusal } from "../../../src/store/sqlite/database.ts";
import { MIGRATIONS } from "../../../src/store/sqlite/migrations.ts";
import { FAKE_START } from "../../support/fake-clock.ts";
import { projectRoot } from "../../support/paths.ts";
import { tempDir } from "../../support/tmp.ts";

const MODULE = join(projectRoot, "src/store/sqlite/database.ts");

/** Every file of a folder with its bytes. */
function bytesOf(dir: string): Record<string, string> {
  return Object.fromEntries(readdirSync(dir).map((name) => [name, readFileSync(join(dir, name)).toString("base64")]));
}

/** Runs a script that has `db` (the module) and `dir`, in a process of its own. */
function elsewhere(dir: string, script: string) {
  const head = `const db = await import(${JSON.stringify(MODULE)}); const dir = ${JSON.stringify(dir)};`;
  return Bun.spawn([process.execPath, "-e", head + script], { stdout: "pipe", stdin: "pipe" });
}

async function outputOf(dir: string, script: string): Promise<string> {
  return (await elsewhere(dir, script).stdout.text()).trim();
}

/** Writes a database of this many steps, by a process that ends as `how` says. */
async function written(steps: readonly string[], how: "closed" | "killed"): Promise<string> {
  const dir = tempDir("database");
  const end = how === "closed" ? "open.close(); console.log('ok')" : "process.kill(process.pid, 'SIGKILL')";
  await outputOf(dir, `const open = db.openDatabase(dir, 0, ${JSON.stringify(steps)}); ${end}`);
  return dir;
}

const ONE = "CREATE TABLE one (n INTEGER) STRICT; INSERT INTO one VALUES (42)";
const TWO = "ALTER TABLE one ADD COLUMN more TEXT NOT NULL DEFAULT 'new'";

describe("a folder belongs to one process at a time", () => {
  const tryLock = `try { db.lockFolder(dir); console.log("locked") } catch (error) {
    console.log(error instanceof db.StoreRefusal ? error.message : "another error " + error) }`;

  test("a second one is refused, and told what to do", async () => {
    const dir = tempDir("lock");
    const lock = lockFolder(dir);
    expect(await outputOf(dir, tryLock)).toBe(
      `another postern runs on ${dir}: stop it, or set data_dir to another folder`,
    );
    expect(() => lockFolder(dir)).toThrow(StoreRefusal);
    lock.close();
    expect(await outputOf(dir, tryLock)).toBe("locked");
    lockFolder(dir).close();
  });

  test("one that was killed holds nothing", async () => {
    const dir = tempDir("lock");
    const child = elsewhere(dir, `db.lockFolder(dir); console.log("locked"); setInterval(() => {}, 1000)`);
    for await (const chunk of child.stdout) if (new TextDecoder().decode(chunk).includes("locked")) break;
    expect(() => lockFolder(dir)).toThrow(StoreRefusal);
    child.kill("SIGKILL");
    await child.exited;
    lockFolder(dir).close();
  });
});

describe("a new database", () => {
  test("is made with the present schema, for its owner's eyes only, and no copy of nothing beside it", () => {
    const dir = tempDir("database");
    const db = openDatabase(dir, FAKE_START);
    expect(db.query("PRAGMA user_version").get()).toEqual({ user_version: MIGRATIONS.length });
    expect(statSync(databasePath(dir)).mode & 0o777).toBe(0o600);
    expect(db.query("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    db.close();
    expect(readdirSync(dir)).toEqual(["postern.db"]);
  });

  test("syncs each commit to the disk, in a write-ahead log", () => {
    const db = openDatabase(tempDir("database"), FAKE_START);
    expect(db.query("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
    expect(db.query("PRAGMA synchronous").get()).toEqual({ synchronous: 2 });
    expect(db.query("PRAGMA page_size").get()).toEqual({ page_size: 8192 });
    db.close();
  });
});

describe("an upgrade", () => {
  test("runs the missing steps once, after laying a copy of what was beside it", async () => {
    const dir = await written([ONE], "closed");
    openDatabase(dir, FAKE_START, [ONE, TWO]).close();
    const copy = "postern-before-upgrade-1-2026-10-07T09-12-44-120Z.db";
    expect(readdirSync(dir).sort()).toEqual([copy, "postern.db"]);
    expect(statSync(join(dir, copy)).mode & 0o777).toBe(0o600);
    const before = new Database(join(dir, copy), { readonly: true });
    expect(before.query("SELECT * FROM one").all()).toEqual([{ n: 42 }]);
    expect(before.query("PRAGMA user_version").get()).toEqual({ user_version: 1 });
    before.close();
    const db = openDatabase(dir, FAKE_START + 1000, [ONE, TWO]);
    expect(db.query("SELECT * FROM one").all()).toEqual([{ n: 42, more: "new" }]);
    db.close();
    expect(readdirSync(dir)).toHaveLength(2);
  });

  test("keeps in its copy what a killed process had written", async () => {
    const dir = await written([ONE], "killed");
    openDatabase(dir, FAKE_START, [ONE, TWO]).close();
    const copy = readdirSync(dir).find((name) => name.includes("before-upgrade"));
    const before = new Database(join(dir, copy ?? ""), { readonly: true });
    expect(before.query("SELECT * FROM one").all()).toEqual([{ n: 42 }]);
    before.close();
  });

  test("that fails leaves the database as it was, with its copy", async () => {
    const dir = await written([ONE], "closed");
    expect(() => openDatabase(dir, FAKE_START, [ONE, TWO, "CREATE TABLE one (n INTEGER)"])).toThrow("already exists");
    const db = openDatabase(dir, FAKE_START, [ONE]);
    expect(db.query("SELECT * FROM one").all()).toEqual([{ n: 42 }]);
    db.close();
    expect(readdirSync(dir)).toHaveLength(2);
  });
});

describe("a newer database than the binary knows", () => {
  const refusal = (dir: string) =>
    `${databasePath(dir)} has schema version 3, this postern knows 2: run the newer postern that wrote it (nothing was changed)`;

  test("is refused without a byte of any file changed", async () => {
    const dir = await written([ONE, TWO, "CREATE TABLE three (n INTEGER)"], "closed");
    lockFolder(dir).close();
    const before = bytesOf(dir);
    const lock = lockFolder(dir);
    expect(() => openDatabase(dir, FAKE_START, [ONE, TWO])).toThrow(new StoreRefusal(refusal(dir)));
    lock.close();
    expect(bytesOf(dir)).toEqual(before);
  });

  test("is refused where its upgrade stands in the log only, and neither log nor database changes", async () => {
    const dir = await written([ONE, TWO], "closed");
    const script = `const { Database } = await import("bun:sqlite"); const open = new Database(db.databasePath(dir));
      open.run("CREATE TABLE three (n INTEGER)"); open.run("PRAGMA user_version = 3"); process.kill(process.pid, "SIGKILL")`;
    await outputOf(dir, script);
    const before = bytesOf(dir);
    expect(before["postern.db-wal"]?.length).toBeGreaterThan(0);
    const refused = `try { db.openDatabase(dir, 0, ["", ""]) } catch (error) { console.log(error.message) }`;
    expect(await outputOf(dir, refused)).toBe(refusal(dir));
    const after = bytesOf(dir);
    for (const file of ["postern.db", "postern.db-wal"]) expect(after[file] === before[file]).toBe(true);
  });
});

test("a copied folder is the same database elsewhere", async () => {
  const dir = await written([ONE], "killed");
  const moved = join(tempDir("database"), "moved");
  mkdirSync(moved);
  cpSync(dir, moved, { recursive: true });
  const db = openDatabase(moved, FAKE_START, [ONE]);
  expect(db.query("SELECT * FROM one").all()).toEqual([{ n: 42 }]);
  db.close();
});
