import { type CoreShares, CoreUse } from "../machine/usage.ts";
import { percentile } from "./statistics.ts";

export type LoopOptions = {
  connections: number;
  /** Not counted in the rate: the server's code becomes hot. */
  warmUpMs: number;
  measuredMs: number;
  /** One exchange on this connection: how many events it moved; 0 ends the loop, there is nothing left. */
  step: (connection: number) => Promise<number>;
};

export type LoopResult = {
  /** Events moved in all, the warm-up's included: what the store must hold. */
  total: number;
  /** Events a second in the measured time. */
  rate: number;
  /** Milliseconds of an exchange in the measured time. */
  p50: number;
  p99: number;
  /** How busy the two cores were in the measured time, 0 to 1. */
  serverCore: number;
  clientCore: number;
  /** What other programs took of the two cores in that time, as a share of one. */
  others: number;
};

/** Of a run that ended before its measured time began. */
const NOTHING_READ: CoreShares = { server: 0, client: 0, others: 0 };

/** Each connection sends its next request as soon as the former is answered. */
export async function closedLoop({ connections, warmUpMs, measuredMs, step }: LoopOptions): Promise<LoopResult> {
  const start = performance.now();
  const from = start + warmUpMs;
  const until = from + measuredMs;
  const latencies: number[] = [];
  let total = 0;
  let measured = 0;
  let last = from;
  let usedUp = false;
  let use: CoreUse | undefined;
  const loop = async (connection: number) => {
    for (let sent = performance.now(); sent < until; ) {
      const moved = await step(connection);
      const now = performance.now();
      total += moved;
      usedUp ||= moved === 0;
      if (moved === 0) break;
      if (now >= from) use ??= CoreUse.since();
      if (sent >= from && now <= until) {
        latencies.push(now - sent);
        measured += moved;
        last = now;
      }
      sent = now;
    }
  };
  await Promise.all(Array.from({ length: connections }, (_, index) => loop(index)));
  const cores = use?.read() ?? NOTHING_READ;
  if (measured === 0 && usedUp) throw new Error("nothing was measured: the backlog was used up in the warm-up");
  return {
    total,
    rate: measured === 0 ? 0 : (measured / (last - from)) * 1000,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    serverCore: cores.server,
    clientCore: cores.client,
    others: cores.others,
  };
}
