import { readdirSync, readFileSync } from "node:fs";
import { CLIENT_CORE, SERVER_CORE } from "./pinned.ts";

/** proc(5) counts in clock ticks, 100 a second on Linux whatever the kernel's own. */
const TICKS_PER_SECOND = 100;

type Ticks = { busy: number; all: number };

/** How busy the cores were: a share of each, and what programs that are not the bench's took, as a share of one. */
export type CoreShares = { server: number; client: number; others: number };

/** How busy the server's and the client's core are between two moments, kernel work included. */
export class CoreUse {
  readonly #server: Ticks;
  readonly #client: Ticks;
  readonly #own: number;

  private constructor() {
    this.#own = ownTicks();
    this.#server = ticksOf(SERVER_CORE);
    this.#client = ticksOf(CLIENT_CORE);
  }

  static since(): CoreUse {
    return new CoreUse();
  }

  /** The shares since. */
  read(): CoreShares {
    const [server, client, own] = [ticksOf(SERVER_CORE), ticksOf(CLIENT_CORE), ownTicks()];
    const busy = server.busy - this.#server.busy + (client.busy - this.#client.busy);
    const others = (busy - (own - this.#own)) / Math.max(1, server.all - this.#server.all);
    return { server: share(this.#server, server), client: share(this.#client, client), others: Math.max(0, others) };
  }
}

/** What this process and all that it started, and they in turn, have used. */
function ownTicks(): number {
  const parents = new Map<number, number>();
  const used = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    const fields = /^\d+$/.test(name) ? statFields(Number(name)) : undefined;
    if (!fields) continue;
    parents.set(Number(name), Number(fields[1]));
    used.set(Number(name), Number(fields[11]) + Number(fields[12]));
  }
  const isOwn = (pid: number | undefined): boolean =>
    pid !== undefined && (pid === process.pid || isOwn(parents.get(pid)));
  let sum = 0;
  for (const [pid, ticks] of used) if (isOwn(pid)) sum += ticks;
  return sum;
}

/** The fields of proc(5)'s stat from the third on: the second is the command in brackets, which may hold spaces. */
function statFields(pid: number): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined; // It ended while the list was read.
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
  const fields = statFields(pid);
  // utime and stime, the 14th and 15th.
  return (Number(fields?.[11]) + Number(fields?.[12])) / TICKS_PER_SECOND;
}

/** Resident memory of a process, in MiB. */
export function residentMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? Number.NaN) / 1024;
}
