import { Database } from "bun:sqlite";
import { chmodSync, closeSync, existsSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { rfc3339 } from "../../kernel/clock.ts";
import { isSqliteError } from "./failures.ts";
import { MIGRATIONS } from "./migrations.ts";

/** Why a data folder's database cannot be opened; the text tells the operator what to do. */
export class StoreRefusal extends Error {}

/** Where a data folder keeps its database. */
export function databasePath(dataDir: string): string {
  return join(dataDir, "postern.db");
}

/**
 * Takes the folder for this process by an exclusive lock on a small file of its own, which the kernel drops when
 * the process ends, however it ends. The database itself stays readable to other programs.
 * (SQLite's own locks are used because Bun has no flock; POSIX locks vanish if a file is opened and closed again
 * in the process, so neither file may ever be.)
 */
export function lockFolder(dataDir: string): Database {
  const path = join(dataDir, "postern.lock");
  const lock = new Database(path, { create: true, strict: true });
  try {
    lock.run("PRAGMA locking_mode = EXCLUSIVE");
    lock.run("PRAGMA journal_mode = MEMORY");
    lock.run("BEGIN EXCLUSIVE");
  } catch (error) {
    lock.close();
    if (isSqliteError(error) && error.code.startsWith("SQLITE_BUSY")) {
      throw new StoreRefusal(`another postern runs on ${dataDir}: stop it, or set data_dir to another folder`);
    }
    throw error;
  }
  chmodSync(path, 0o600);
  return lock;
}

/** Opens the database of a data folder, creating or upgrading it. The folder must exist and be locked by this process. */
export function openDatabase(dataDir: string, wallNow: number): Database {
  const path = databasePath(dataDir);
  const isNew = !existsSync(path);
  if (!isNew) refuseNewer(path);
  const db = new Database(path, { create: true, strict: true });
  chmodSync(path, 0o600);
  // Measured with 2 KB payloads at 64 a commit: 8 KB pages take half the time of 4 KB ones (three rows a page, not one).
  db.run("PRAGMA page_size = 8192");
  db.run("PRAGMA journal_mode = WAL");
  db.run("PRAGMA synchronous = FULL");
  db.run("PRAGMA foreign_keys = ON");
  db.run("PRAGMA temp_store = MEMORY");
  db.run("PRAGMA cache_size = -65536");
  // A checkpoint stalls the loop; fewer, larger ones write each hot page once.
  db.run("PRAGMA wal_autocheckpoint = 2000");
  db.run("PRAGMA journal_size_limit = 67108864");
  try {
    migrate(db, dataDir, isNew, wallNow);
  } catch (error) {
    // A newer database is left open on purpose: closing would checkpoint, and it is not ours to touch.
    if (!(error instanceof StoreRefusal)) db.close();
    throw error;
  }
  return db;
}

/**
 * Refuses a database of a newer schema from its header alone (bytes 60 to 63, big-endian), before SQLite touches the
 * file or its journal. An upgrade checkpoints at once, so the header tells the truth.
 */
function refuseNewer(path: string): void {
  const header = new Uint8Array(64);
  const file = openSync(path, "r");
  try {
    if (readSync(file, header, 0, 64, 0) < 64) return;
  } finally {
    closeSync(file);
  }
  const version = new DataView(header.buffer).getUint32(60);
  if (version > MIGRATIONS.length) throw newer(path, version);
}

function newer(path: string, version: number): StoreRefusal {
  return new StoreRefusal(
    `${path} has schema version ${version}, this postern knows ${MIGRATIONS.length}: run the newer postern that wrote it (nothing was changed)`,
  );
}

function versionOf(db: Database): number {
  return db.query<{ user_version: number }, []>("PRAGMA user_version").get()?.user_version ?? 0;
}

function migrate(db: Database, dataDir: string, isNew: boolean, wallNow: number): void {
  const from = versionOf(db);
  if (from === MIGRATIONS.length) return;
  if (from > MIGRATIONS.length) throw newer(databasePath(dataDir), from);
  if (!isNew && from > 0) {
    const stamp = rfc3339(wallNow).replaceAll(/[:.]/g, "-");
    const backup = join(dataDir, `postern-before-upgrade-${from}-${stamp}.db`);
    db.query("VACUUM INTO ?").run(backup);
    chmodSync(backup, 0o600);
  }
  db.transaction(() => {
    for (const step of MIGRATIONS.slice(from)) db.run(step);
    db.run(`PRAGMA user_version = ${MIGRATIONS.length}`);
  }).immediate();
  db.run("PRAGMA wal_checkpoint(TRUNCATE)");
}
