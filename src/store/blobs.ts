import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { mkdir, open, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { Problem } from "../kernel/problems.ts";

/** Bodies too large for the database. Files first; another kind of storage can stand behind the same few calls. */
export interface BlobStore {
  /** Keeps bytes durably and answers their key, or `STORAGE_UNAVAILABLE`. */
  put(bytes: Uint8Array): Promise<string | Problem>;
  /** The kept bytes, readable in ranges; undefined where there are none. */
  open(key: string): Promise<Blob | undefined>;
  /** Deletes them. What a disk at fault keeps is a stray then, which the next start clears. */
  delete(keys: readonly string[]): Promise<void>;
  /** Every key that was written before a wall time in milliseconds; infinity: every key. */
  keys(writtenBefore: number): Promise<string[]>;
}

const KEY = /^[0-9a-f]{32}$/;
const FOLDER = /^[0-9a-f]{2}$/;

/**
 * Blobs as files under `dir`, spread over 256 folders. A file and its folder are synced before `put` answers.
 * `refusal` is asked first: a blob must not take the space that a full disk's reserve gave up for other work.
 */
export function fileBlobs(dir: string, refusal: () => Problem | undefined = () => undefined): BlobStore {
  const folderOf = (key: string) => join(dir, key.slice(0, 2));
  const pathOf = (key: string) => join(folderOf(key), key);
  return {
    async put(bytes) {
      const refused = refusal();
      if (refused) return refused;
      const key = randomBytes(16).toString("hex");
      try {
        await mkdir(folderOf(key), { recursive: true, mode: 0o700 });
        await writeSynced(pathOf(key), bytes);
        await syncFolder(folderOf(key));
        await syncFolder(dir);
        return key;
      } catch (error) {
        const code = codeOf(error);
        await remove(pathOf(key));
        return new Problem("STORAGE_UNAVAILABLE", `nothing was stored (${code}); send it again`, {
          headers: { "retry-after": "30" },
        });
      }
    },
    async open(key) {
      if (!KEY.test(key)) return undefined;
      const file = Bun.file(pathOf(key));
      return (await file.exists()) ? file : undefined;
    },
    async delete(keys) {
      for (const key of keys) if (KEY.test(key)) await remove(pathOf(key));
    },
    async keys(writtenBefore) {
      const found: string[] = [];
      for (const folder of (await readdir(dir)).filter((name) => FOLDER.test(name))) {
        for (const name of await readdir(join(dir, folder))) {
          if (KEY.test(name) && (await isOlder(pathOf(name), writtenBefore))) found.push(name);
        }
      }
      return found;
    },
  };
}

/** False too where it has gone since it was listed. */
async function isOlder(path: string, than: number): Promise<boolean> {
  if (than === Number.POSITIVE_INFINITY) return true;
  try {
    return (await stat(path)).mtimeMs < than;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return false;
    throw error;
  }
}

/** Removes a file, where the disk lets it. */
async function remove(path: string): Promise<void> {
  try {
    await rm(path, { force: true });
  } catch (error) {
    codeOf(error);
  }
}

async function writeSynced(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** A storage error's code such as ENOSPC; anything that isn't one is a bug and thrown. */
function codeOf(error: unknown): string {
  if (error instanceof Error && "code" in error && typeof error.code === "string") return error.code;
  throw error;
}
