import { mkdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { whenTestsEnd } from "../../support/cleanup.ts";
import type { Need } from "../../support/needs.ts";
import { tempDir } from "../../support/tmp.ts";

export const MIB = 1024 * 1024;

/** A small volume of its own, in memory, that is unmounted when the test run ends. Needs root. */
export class Volume {
  readonly path: string;

  constructor(mib: number) {
    this.path = tempDir("volume");
    if (!mount(["-t", "tmpfs", "-o", `size=${mib}m,mode=700`, "tmpfs", this.path])) {
      throw new Error(`no volume can be mounted at ${this.path}`);
    }
    // Lazily, for a daemon that was left running.
    whenTestsEnd(() => void Bun.spawnSync(["umount", "--lazy", this.path]));
  }

  /** A data folder on it. */
  get dataDir(): string {
    const path = join(this.path, "data");
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return path;
  }

  /** Bytes that are free. */
  get free(): number {
    const { bavail, bsize } = statfsSync(this.path);
    return bavail * bsize;
  }

  /** Takes space away, as other programs' files would; what is left, to the last byte, if no size is given. */
  takeSpace(bytes = this.free): void {
    writeFileSync(join(this.path, "ballast"), new Uint8Array(Math.max(0, bytes)));
  }

  /** Gives back what `takeSpace` took. */
  giveSpace(): void {
    rmSync(join(this.path, "ballast"), { force: true });
  }

  readOnly(on: boolean): boolean {
    return mount(["-o", `remount,${on ? "ro" : "rw"}`, this.path]);
  }
}

function mount(args: string[]): boolean {
  return Bun.spawnSync(["mount", ...args]).exitCode === 0;
}

/** The right to mount a volume: tried, since root in a container may lack it. */
export function needsVolumes(): Need {
  return { skip: !canMount(), reason: "needs the right to mount a tmpfs: run as root" };
}

function canMount(): boolean {
  if (process.getuid?.() !== 0 || Bun.which("mount") === null) return false;
  const path = tempDir("volume");
  if (!mount(["-t", "tmpfs", "-o", "size=1m", "tmpfs", path])) return false;
  return Bun.spawnSync(["umount", path]).exitCode === 0;
}
