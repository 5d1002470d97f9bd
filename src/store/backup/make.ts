import { existsSync, linkSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { copyDatabase, inspectCopy } from "../sqlite/copy.ts";
import { StoreRefusal } from "../sqlite/database.ts";
import { piecesOf, TarWriter } from "./tar.ts";

/** How much a backup holds. */
export type BackupReport = { file: string; bytes: number; blobs: number };

/**
 * Writes a data folder into one archive: `postern.db`, `master.key` and `blobs/…`, as they stood at one moment, and
 * their SHA-256 sums. The daemon may be running; it is not disturbed. An existing file stays. Throws `StoreRefusal` with what to do.
 */
export function makeBackup(dataDir: string, file: string): BackupReport {
  const key = join(dataDir, "master.key");
  if (!existsSync(key)) throw new StoreRefusal(`${dataDir} holds no master key: is it the data folder?`);
  if (existsSync(file)) throw new StoreRefusal(`${file} is there already: it stays as it is`);
  const staging = mkdtempSync(join(dataDir, "backup-"));
  const part = `${file}.part-${process.pid}`;
  try {
    const blobs = join(staging, "blobs");
    // Before the copy and once more after it: a blob may come or go while it is made, and what it names must be there.
    linkBlobs(join(dataDir, "blobs"), blobs);
    copyDatabase(dataDir, join(staging, "postern.db"));
    linkBlobs(join(dataDir, "blobs"), blobs);
    const needed = inspectCopy(join(staging, "postern.db")).blobs.filter((one) =>
      existsSync(join(blobs, placeOf(one))),
    );
    archive(part, [
      ["postern.db", join(staging, "postern.db")],
      ["master.key", key],
      ...needed.map((one) => [`blobs/${placeOf(one)}`, join(blobs, placeOf(one))] as const),
    ]);
    renameSync(part, file);
    return { file, bytes: statSync(file).size, blobs: needed.length };
  } finally {
    rmSync(staging, { recursive: true, force: true });
    rmSync(part, { force: true });
  }
}

/** Where a blob lies below its folder. */
export function placeOf(key: string): string {
  return `${key.slice(0, 2)}/${key}`;
}

/** The name of the list of SHA-256 sums that ends an archive, in the form that `sha256sum -c` reads. */
export const SUMS = "SHA256SUMS";

function archive(path: string, files: readonly (readonly [name: string, from: string])[]): void {
  const tar = new TarWriter(path);
  try {
    const sums = files.map(([name, from]) => {
      const { size, mtimeMs } = statSync(from);
      return `${tar.add({ name, size, mtime: Math.floor(mtimeMs / 1000), chunks: piecesOf(from) })}  ${name}\n`;
    });
    const list = Buffer.from(sums.join(""));
    tar.add({ name: SUMS, size: list.length, mtime: Math.floor(Date.now() / 1000), chunks: [list] });
  } catch (error) {
    tar.abandon();
    throw error;
  }
  tar.end();
}

/** A second name for each blob, so that its bytes stay until the backup is done. */
function linkBlobs(from: string, to: string): void {
  if (!existsSync(from)) return;
  for (const folder of readdirSync(from)) {
    mkdirSync(join(to, folder), { recursive: true, mode: 0o700 });
    for (const name of readdirSync(join(from, folder))) {
      const target = join(to, folder, name);
      if (!existsSync(target)) linkIfThere(join(from, folder, name), target);
    }
  }
}

function linkIfThere(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    // Deleted since the folder was read.
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  }
}
