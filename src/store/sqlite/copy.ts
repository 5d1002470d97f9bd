import { Database } from "bun:sqlite";
import { chmodSync, existsSync, rmSync } from "node:fs";
import type { StoredBlob } from "../types.ts";
import { databasePath, StoreRefusal } from "./database.ts";
import { isSqliteError } from "./failures.ts";
import { MIGRATIONS } from "./migrations.ts";

/**
 * Copies a data folder's database as it stands at one moment, while another process may be writing to it: the copy
 * holds all that was committed. Never for a database that this very process has open (closing a second handle drops
 * its locks). Throws `StoreRefusal` where there is none or it cannot be copied.
 */
export function copyDatabase(dataDir: string, target: string): void {
  const path = databasePath(dataDir);
  if (!existsSync(path)) throw new StoreRefusal(`${dataDir} holds no database: there is nothing to back up`);
  let db: Database | undefined;
  try {
    db = new Database(path, { readwrite: true, create: false, strict: true });
    db.run("PRAGMA busy_timeout = 10000");
    db.query("VACUUM INTO ?").run(target);
    chmodSync(target, 0o600);
  } catch (error) {
    if (error instanceof SyntaxError) throw new StoreRefusal("the database in it is damaged (contents.blob)");
    if (!isSqliteError(error)) throw error;
    throw new StoreRefusal(`${path} cannot be copied to ${target} (${error.code}): ${error.message}`);
  } finally {
    db?.close();
  }
}

/** What a copy of a database holds: the keys of the blobs it needs. Throws `StoreRefusal` where it is damaged or too new. */
export function inspectCopy(path: string): { blobs: string[] } {
  let db: Database | undefined;
  try {
    db = new Database(path, { readwrite: true, create: false, strict: true });
    const found = db.query<{ integrity_check: string }, []>("PRAGMA integrity_check").all();
    if (found.length !== 1 || found[0]?.integrity_check !== "ok") {
      throw new StoreRefusal(`the database in it is damaged (${found[0]?.integrity_check ?? "no answer"})`);
    }
    const version = db.query<{ user_version: number }, []>("PRAGMA user_version").get()?.user_version ?? 0;
    if (version === 0) throw new StoreRefusal("the database in it is none of Postern's");
    if (version > MIGRATIONS.length) {
      throw new StoreRefusal(
        `the database in it has schema version ${version}, this postern knows ${MIGRATIONS.length}: use the newer postern`,
      );
    }
    const rows = db.query<{ blob: string }, []>("SELECT blob FROM contents WHERE blob IS NOT NULL").all();
    return { blobs: rows.map(({ blob }) => (JSON.parse(blob) as StoredBlob).key) };
  } catch (error) {
    if (!isSqliteError(error)) throw error;
    throw new StoreRefusal(`the database in it cannot be read (${error.code})`);
  } finally {
    db?.close();
    for (const rest of ["-wal", "-shm"]) rmSync(`${path}${rest}`, { force: true });
  }
}
