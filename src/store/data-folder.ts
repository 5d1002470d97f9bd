import { randomBytes } from "node:crypto";
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { StoreRefusal } from "./sqlite/database.ts";

/** What lies in a data folder, beside the database. */
export type DataFolder = { dir: string; blobs: string; socket: string; masterKey: Uint8Array; isNew: boolean };

/** Opens a data folder, making what is missing. All of it is for its owner only. Throws `StoreRefusal` with what to do. */
export function openDataFolder(dir: string): DataFolder {
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    const blobs = join(dir, "blobs");
    mkdirSync(blobs, { recursive: true, mode: 0o700 });
    const isNew = !existsSync(join(dir, "postern.db"));
    if (isNew) chmodSync(dir, 0o700);
    return { dir, blobs, socket: join(dir, "postern.sock"), masterKey: masterKey(dir, isNew), isNew };
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
    throw new StoreRefusal(
      `the data folder ${dir} cannot be used (${String(error.code)}): set data_dir to a folder this user may write`,
    );
  }
}

/** 32 random bytes in hex, mode 0600. Missing beside a database it is lost: making another would hide that. */
function masterKey(dir: string, isNew: boolean): Uint8Array {
  const path = join(dir, "master.key");
  if (existsSync(path)) {
    const key = Buffer.from(readFileSync(path, "utf8").trim(), "hex");
    if (key.length === 32) return key;
    throw new StoreRefusal(`${path} is damaged: restore it from the backup it was in with the database`);
  }
  if (!isNew)
    throw new StoreRefusal(
      `${path} is missing: the secrets in the database cannot be read without it; restore it from a backup`,
    );
  const key = randomBytes(32);
  const file = openSync(`${path}.new`, "w", 0o600);
  writeSync(file, `${key.toString("hex")}\n`);
  fsyncSync(file);
  closeSync(file);
  renameSync(`${path}.new`, path);
  // Before a database lies beside it that is of no use without it.
  const folder = openSync(dir, "r");
  fsyncSync(folder);
  closeSync(folder);
  return key;
}
