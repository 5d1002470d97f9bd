import { closeSync, existsSync, fsyncSync, openSync, statSync, unlinkSync, writeSync } from "node:fs";

const CHUNK = new Uint8Array(1024 * 1024);

/**
 * Space held back for the day the disk is full: a file of zeros that is given up then, so that reading, settling and
 * retention go on while intake is refused. It is laid anew as soon as there is room, which ends the refusal.
 */
export class DiskReserve {
  readonly #path: string;
  readonly #bytes: number;
  #spent = false;

  /** `bytes`: how much is held back; 0 for none. */
  constructor(path: string, bytes: number) {
    this.#path = path;
    this.#bytes = bytes;
    this.restore();
  }

  /** True between running out of space and having room again. */
  get spent(): boolean {
    return this.#spent;
  }

  /** Gives the space up. False where that was done already. */
  spend(): boolean {
    if (this.#spent) return false;
    this.#spent = true;
    if (existsSync(this.#path)) unlinkSync(this.#path);
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
    if (existsSync(this.#path) && statSync(this.#path).size === this.#bytes) return true;
    const file = openSync(this.#path, "w", 0o600);
    try {
      for (let left = this.#bytes; left > 0; ) left -= writeSync(file, CHUNK, 0, Math.min(left, CHUNK.length));
      fsyncSync(file);
      return true;
    } catch (error) {
      if (!(error instanceof Error && "code" in error && (error.code === "ENOSPC" || error.code === "EDQUOT")))
        throw error;
      unlinkSync(this.#path);
      return false;
    } finally {
      closeSync(file);
    }
  }
}
