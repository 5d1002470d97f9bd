import { whenTestsEnd } from "../../support/cleanup.ts";

/** The system calls by which a process writes to a disk. */
const WRITES = "write,pwrite64,writev,pwritev,ftruncate,fallocate,fsync,fdatasync,mkdir,unlink,rename";

/**
 * Lets a running process's writes below a path fail with an error, as those to a volume that turned read-only or whose
 * disk died do: the kernel refuses to remount a volume read-only while a file on it is open for writing.
 * Needs strace, and the right to trace the process.
 */
export class Fault {
  readonly #tracer: Bun.Subprocess;

  private constructor(tracer: Bun.Subprocess) {
    this.#tracer = tracer;
  }

  /** `paths`: the files and folders meant. Resolves once the process is held in the tracer. */
  static async begin(pid: number, error: "EROFS" | "EIO", paths: readonly string[]): Promise<Fault> {
    const traced = [`-einject=${WRITES}:error=${error}`, `-etrace=${WRITES}`, ...paths.flatMap((path) => ["-P", path])];
    const tracer = Bun.spawn(["strace", "-f", "-qqq", "-o", "/dev/null", ...traced, "-p", String(pid)], {
      stdin: "ignore",
      stdout: "ignore",
      stderr: "inherit",
    });
    whenTestsEnd(() => tracer.kill());
    while (!(await isTraced(pid))) await Bun.sleep(5);
    // Each of its threads is attached to in turn.
    await Bun.sleep(200);
    return new Fault(tracer);
  }

  /** The disk works again. */
  async end(): Promise<void> {
    this.#tracer.kill("SIGINT");
    await this.#tracer.exited;
  }
}

async function isTraced(pid: number): Promise<boolean> {
  const status = await Bun.file(`/proc/${pid}/status`).text();
  return !/^TracerPid:\s*0$/m.test(status);
}
