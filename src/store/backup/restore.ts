import { createHash } from "node:crypto";
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { rfc3339 } from "../../kernel/clock.ts";
import { inspectCopy } from "../sqlite/copy.ts";
import { lockFolder, StoreRefusal } from "../sqlite/database.ts";
import { placeOf, SUMS } from "./make.ts";
import { tarEntries } from "./tar.ts";

/** What was restored, and where the former data went where there was some. */
export type RestoreReport = { dataDir: string; blobs: number; missing: number; movedTo: string | null };

const NAMES = /^(?:postern\.db|master\.key|blobs\/([0-9a-f]{2})\/\1[0-9a-f]{30})$/;
const PARTS = ["postern.db", "postern.db-wal", "postern.db-shm", "master.key", "blobs"];

/**
 * Puts an archive of `makeBackup` in place of a data folder, once all of it was read and checked. A folder that a daemon
 * runs on is refused, and one with a database too unless `force`, which moves the former data aside. Throws `StoreRefusal`.
 */
export function restoreBackup(file: string, dataDir: string, options: { force: boolean; now: number }): RestoreReport {
  if (!existsSync(file)) throw new StoreRefusal(`there is no file ${file}`);
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const lock = lockFolder(dataDir);
  const staging = mkdtempSync(join(dataDir, "restore-"));
  try {
    const former = PARTS.filter((name) => existsSync(join(dataDir, name)));
    if (former.includes("postern.db") && !options.force) {
      throw new StoreRefusal(
        `${dataDir} holds a database already: give another --data-dir, or --force to move it aside`,
      );
    }
    extract(file, staging);
    const { blobs } = check(file, staging);
    const missing = blobs.filter((key) => !existsSync(join(staging, "blobs", placeOf(key)))).length;
    const movedTo = former.length === 0 ? null : join(dataDir, `before-restore-${stampOf(options.now)}`);
    if (movedTo !== null) {
      mkdirSync(movedTo, { mode: 0o700 });
      for (const name of former) renameSync(join(dataDir, name), join(movedTo, name));
    }
    // The database last: without it the folder counts as new.
    for (const name of ["blobs", "master.key", "postern.db"]) renameSync(join(staging, name), join(dataDir, name));
    chmodSync(dataDir, 0o700);
    sync(dataDir);
    return { dataDir, blobs: blobs.length - missing, missing, movedTo };
  } finally {
    rmSync(staging, { recursive: true, force: true });
    lock.close();
  }
}

function stampOf(now: number): string {
  return rfc3339(now).replaceAll(/[:.]/g, "-");
}

/** Unpacks what the archive may hold, and nothing else, for the owner of the data folder alone. */
/** A line of the sums is about 110 bytes a blob. */
const SUMS_BYTES = 256 * 1024 * 1024;

function textOf(chunks: Iterable<Uint8Array>): string {
  const read: Uint8Array[] = [];
  let size = 0;
  for (const chunk of chunks) {
    size += chunk.length;
    if (size > SUMS_BYTES) throw new Error("its list of sums is larger than any backup's");
    read.push(chunk);
  }
  return Buffer.concat(read).toString();
}

function extract(file: string, staging: string): void {
  const owner = statSync(dirname(staging));
  const give = (path: string) => process.getuid?.() === 0 && chownSync(path, owner.uid, owner.gid);
  const folder = (path: string) => {
    if (existsSync(path)) return;
    mkdirSync(path, { mode: 0o700 });
    give(path);
  };
  folder(join(staging, "blobs"));
  try {
    let sums = "";
    let stated: string | undefined;
    for (const { name, chunks } of tarEntries(file)) {
      if (name === SUMS) {
        stated = textOf(chunks);
        continue;
      }
      if (!NAMES.test(name)) throw new Error("it holds a file that no backup holds");
      const path = join(staging, name);
      folder(dirname(path));
      sums += `${writeFile(path, chunks)}  ${name}\n`;
      give(path);
    }
    if (stated !== sums)
      throw new Error("it was changed or damaged since: the SHA-256 sums in it are not those of its files");
  } catch (error) {
    throw new StoreRefusal(`${file} was not restored: ${error instanceof Error ? error.message : "unknown"}`);
  }
}

/** Writes a new file durably and answers its SHA-256 in hex. */
function writeFile(path: string, chunks: Iterable<Uint8Array>): string {
  const hash = createHash("sha256");
  const file = openSync(path, "wx", 0o600);
  try {
    for (const chunk of chunks) {
      hash.update(chunk);
      for (let at = 0; at < chunk.length; ) at += writeSync(file, chunk, at);
    }
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  return hash.digest("hex");
}

function check(file: string, staging: string): { blobs: string[] } {
  const missing = ["postern.db", "master.key"].find((name) => !existsSync(join(staging, name)));
  if (missing !== undefined) throw new StoreRefusal(`${file} is no backup of Postern: it holds no ${missing}`);
  if (!/^[0-9a-f]{64}\s*$/.test(readFileSync(join(staging, "master.key"), "utf8"))) {
    throw new StoreRefusal(`${file} was not restored: the master key in it is damaged`);
  }
  try {
    return inspectCopy(join(staging, "postern.db"));
  } catch (error) {
    if (error instanceof StoreRefusal) throw new StoreRefusal(`${file} was not restored: ${error.message}`);
    throw error;
  }
}

function sync(folder: string): void {
  const file = openSync(folder, "r");
  fsyncSync(file);
  closeSync(file);
}
