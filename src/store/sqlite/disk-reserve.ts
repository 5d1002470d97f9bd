import { closeSync, existsSync, fsyncSync, openSync, rmSync, statfsSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";

/** What a volume says that takes no more, or nothing at all: then there is no reserve, and intake stays refused. */
const NO_ROOM = ["ENOSPC", "EDQUOT", "EROFS", "EIO"];

/** Intake begins anew when so many times the reserve is free within the database, and ends when it is once. */
const INSIDE_AT = 2;

const CHUNK = new Uint8Array(1024 * 1024);

/**
 * Space held back for the day the disk is full: a file of zeros that is given up then, so that reading, settling and
 * retention go on while intake is refused. It is laid anew as soon as there is room, which ends the refusal. So does
 * room within the database, whose file never shrinks: what is purged leaves pages in it that can be written anew.
 */
export class DiskReserve {
  readonly #path: string;
  readonly #bytes: number;
  readonly #roomInside: () => number;
  #spent = false;
  /** True while it lies in no file, but in the database's free pages. */
  #inside = false;

  /** `bytes`: how much is held back; 0 for none. `later`: it is laid by the first `restore`, to spare a start the time.
   * `roomInside`: how many bytes are free within the database. */
  constructor(path: string, bytes: number, laid: "now" | "later" = "now", roomInside: () => number = () => 0) {
    this.#path = path;
    this.#bytes = bytes;
    this.#roomInside = roomInside;
    if (laid === "now") this.restore();
  }

  /** True between running out of space and having room again. */
  get spent(): boolean {
    if (this.#inside && this.#roomInside() < this.#bytes) this.#toState("spent");
    return this.#spent;
  }

  /** True where a file should lie, and does not: then `restore` is worth trying now and then. */
  get missing(): boolean {
    return this.#spent || this.#inside;
  }

  /** Gives the space up. False where that was done already. */
  spend(): boolean {
    if (this.#spent) return false;
    this.#toState("spent");
    this.#drop();
    return true;
  }

  /** Lays the reserve where it is missing; true where there is one now. Zeros are written, so the space is truly taken. */
  restore(): boolean {
    if (this.#bytes === 0 || this.#lay()) this.#toState("laid");
    else this.#toState(this.#roomInside() >= this.#bytes * INSIDE_AT ? "inside" : "spent");
    return !this.#spent;
  }

  #toState(state: "laid" | "inside" | "spent"): void {
    this.#spent = state === "spent";
    this.#inside = state === "inside";
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
