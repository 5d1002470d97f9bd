import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { projectRoot } from "../../support/paths.ts";

/** linux/magic.h */
const TMPFS = 0x01021994;

/** What the bench of this checkout keeps for its next runs: the large data folders. */
export function cacheDir(): string {
  const checkout = createHash("sha256").update(projectRoot).digest("hex").slice(0, 12);
  const dir = join(tmpdir(), `postern-bench-cache-${checkout}`);
  mkdirSync(dir, { recursive: true });
  return dir;
}

/** Where data folders lie while the bench runs: a disk, since on a tmpfs an fsync costs nothing. */
export class Scratch {
  /** The folder that all others lie in. */
  readonly root: string;

  constructor() {
    if (statfsSync(tmpdir()).type === TMPFS) {
      throw new Error(`${tmpdir()} is a tmpfs, where nothing is durable: set TMPDIR to a folder on a disk`);
    }
    this.root = mkdtempSync(join(tmpdir(), "postern-bench-"));
    // PostgreSQL runs as another user, who must get through to its own folder.
    chmodSync(this.root, 0o711);
    process.once("exit", () => this.remove());
  }

  /** A new, empty folder. */
  dir(prefix: string): string {
    return mkdtempSync(join(this.root, `${prefix}-`));
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}
