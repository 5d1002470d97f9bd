import { Database } from "bun:sqlite";
import { chmodSync, closeSync, existsSync, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { rfc3339 } from "../../kernel/clock.ts";
import { freeBytes } from "./disk-reserve.ts";
import { isSqliteError } from "./failures.ts";
import { MIGRATIONS } from "./migrations.ts";

/** Why a data folder's database cannot be opened; the text tells the operator what to do. */
export class StoreRefusal extends Error {}

/** A page of the database, in bytes. */
export const PAGE_BYTES = 8192;

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

/**
 * Opens the database of a data folder, creating or upgrading it. The folder must exist and be locked by this process.
 * Before an upgrade a copy is laid beside it, as `postern-before-upgrade-<version>-<time>.db`.
 */
export function openDatabase(dataDir: string, wallNow: number, migrations = MIGRATIONS): Database {
  const path = databasePath(dataDir);
  const isNew = !existsSync(path);
  if (!isNew) refuseNewer(path, migrations.length);
  const db = new Database(path, { create: true, strict: true });
  chmodSync(path, 0o600);
  // Measured with 2 KB payloads at 64 a commit: 8 KB pages take half the time of 4 KB ones (three rows a page, not one).
  db.run(`PRAGMA page_size = ${PAGE_BYTES}`);
  db.run("PRAGMA journal_mode = WAL");
  db.run("PRAGMA synchronous = FULL");
  db.run("PRAGMA foreign_keys = ON");
  db.run("PRAGMA temp_store = MEMORY");
  db.run("PRAGMA cache_size = -65536");
  // A checkpoint stalls the loop; fewer, larger ones write each hot page once.
  db.run(`PRAGMA wal_autocheckpoint = ${checkpointPages(dataDir)}`);
  db.run("PRAGMA journal_size_limit = 67108864");
  try {
    migrate(db, dataDir, wallNow, migrations);
  } catch (error) {
    db.close();
    throw error;
  }
  return db;
}

/**
 * Refuses a database of a newer schema before anything of it is touched. The version stands in its header (bytes 60 to
 * 63, big-endian); after a crash it may stand in the log, which a connection that only reads neither applies nor deletes.
 */
function refuseNewer(path: string, known: number): void {
  const version = sizeOf(`${path}-wal`) > 0 ? versionInLog(path) : versionInHeader(path);
  if (version <= known) return;
  throw new StoreRefusal(
    `${path} has schema version ${version}, this postern knows ${known}: run the newer postern that wrote it (nothing was changed)`,
  );
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function versionInHeader(path: string): number {
  const header = new Uint8Array(64);
  const file = openSync(path, "r");
  try {
    return readSync(file, header, 0, 64, 0) < 64 ? 0 : new DataView(header.buffer).getUint32(60);
  } finally {
    closeSync(file);
  }
}

function versionInLog(path: string): number {
  const db = new Database(path, { readonly: true });
  try {
    return versionOf(db);
  } finally {
    db.close();
  }
}

function versionOf(db: Database): number {
  return db.query<{ user_version: number }, []>("PRAGMA user_version").get()?.user_version ?? 0;
}

function migrate(db: Database, dataDir: string, wallNow: number, migrations: readonly string[]): void {
  const from = versionOf(db);
  if (from === migrations.length) return;
  if (from > 0) {
    const stamp = rfc3339(wallNow).replaceAll(/[:.]/g, "-");
    const backup = join(dataDir, `postern-before-upgrade-${from}-${stamp}.db`);
    db.query("VACUUM INTO ?").run(backup);
    chmodSync(backup, 0o600);
  }
  db.transaction(() => {
    for (const step of migrations.slice(from)) db.run(step);
    db.run(`PRAGMA user_version = ${migrations.length}`);
  }).immediate();
  db.run("PRAGMA wal_checkpoint(TRUNCATE)");
}

/**
 * After how many pages the log is moved into the database: on a small volume so few that the reserve, a sixteenth of
 * what is free, can hold them when the disk is full.
 */
function checkpointPages(dataDir: string): number {
  return Math.max(16, Math.min(2000, Math.floor(freeBytes(dataDir) / 64 / PAGE_BYTES)));
}
