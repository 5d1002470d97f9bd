import { closeSync, existsSync, fsyncSync, openSync, rmSync, statfsSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";

/** What a volume says that takes no more, or nothing at all: then there is no reserve, and intake stays refused. */
const NO_ROOM = ["ENOSPC", "EDQUOT", "EROFS", "EIO"];

const CHUNK = new Uint8Array(1024 * 1024);

/**
 * Space held back for the day the disk is full: a file of zeros that is given up then, so that reading, settling and
 * retention go on while intake is refused. It is laid anew as soon as there is room, which ends the refusal.
 */
export class DiskReserve {
  readonly #path: string;
  readonly #bytes: number;
  #spent = false;

  /** `bytes`: how much is held back; 0 for none. `later`: it is laid by the first `restore`, to spare a start the time. */
  constructor(path: string, bytes: number, laid: "now" | "later" = "now") {
    this.#path = path;
    this.#bytes = bytes;
    if (laid === "now") this.restore();
  }

  /** True between running out of space and having room again. */
  get spent(): boolean {
    return this.#spent;
  }

  /** Gives the space up. False where that was done already. */
  spend(): boolean {
    if (this.#spent) return false;
    this.#spent = true;
    this.#drop();
    return true;
  }

  /** Lays the reserve where it is missing; true where it lies now. Zeros are written, so the space is truly taken. */
  restore(): boolean {
    if (this.#bytes > 0 && !this.#lay()) {
      this.#spent = true;
      return false;
    }
    this.#spent = false;
    return true;
  }

  #lay(): boolean {
    try {
      if (existsSync(this.#path) && statSync(this.#path).size === this.#bytes) return true;
      rmSync(this.#path, { force: true });
      // Not tried in vain again and again, which would take the last room from others meanwhile; and not so that it
      // leaves none, which would spend it at once.
      if (freeBytes(dirname(this.#path)) < this.#bytes + this.#bytes / 4) return false;
      writeZeros(this.#path, this.#bytes);
      return true;
    } catch (error) {
      if (!isNoRoom(error)) throw error;
      this.#drop();
      return false;
    }
  }

  #drop(): void {
    try {
      rmSync(this.#path, { force: true });
    } catch (error) {
      if (!isNoRoom(error)) throw error;
    }
  }
}

/** How much of a folder's volume is free, in bytes. */
export function freeBytes(dir: string): number {
  const { bavail, bsize } = statfsSync(dir);
  return bavail * bsize;
}

function isNoRoom(error: unknown): boolean {
  return error instanceof Error && "code" in error && NO_ROOM.includes(String(error.code));
}

function writeZeros(path: string, bytes: number): void {
  const file = openSync(path, "w", 0o600);
  try {
    for (let left = bytes; left > 0; ) left -= writeSync(file, CHUNK, 0, Math.min(left, CHUNK.length));
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
