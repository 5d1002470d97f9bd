import { readFileSync } from "node:fs";
import { CLIENT_CORE, SERVER_CORE } from "./pinned.ts";

/** proc(5) counts in clock ticks, 100 a second on Linux whatever the kernel's own. */
const TICKS_PER_SECOND = 100;

type Ticks = { busy: number; all: number };

/** How busy the server's and the client's core are between two moments, kernel work included. */
export class CoreUse {
  readonly #server: Ticks;
  readonly #client: Ticks;

  private constructor() {
    this.#server = ticksOf(SERVER_CORE);
    this.#client = ticksOf(CLIENT_CORE);
  }

  static since(): CoreUse {
    return new CoreUse();
  }

  /** The share of each core that was busy since, 0 to 1. */
  read(): { server: number; client: number } {
    return {
      server: share(this.#server, ticksOf(SERVER_CORE)),
      client: share(this.#client, ticksOf(CLIENT_CORE)),
    };
  }
}

function ticksOf(core: number): Ticks {
  const line = readFileSync("/proc/stat", "utf8")
    .split("\n")
    .find((text) => text.startsWith(`cpu${core} `));
  const [user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, softIrq = 0, steal = 0] = (line ?? "")
    .split(/ +/)
    .slice(1)
    .map(Number);
  const busy = user + nice + system + irq + softIrq + steal;
  return { busy, all: busy + idle + wait };
}

function share(from: Ticks, to: Ticks): number {
  return to.all === from.all ? 0 : (to.busy - from.busy) / (to.all - from.all);
}

/** Seconds of CPU that a process has used, its threads included. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The second field is the command in brackets, which may hold spaces; utime and stime are the 14th and 15th.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Resident memory of a process, in MiB. */
export function residentMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? Number.NaN) / 1024;
}
