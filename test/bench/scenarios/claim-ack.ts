import { closedLoop, type LoopResult } from "../load/closed-loop.ts";
import { median } from "../load/statistics.ts";
import { undisturbed } from "../load/undisturbed.ts";
import { beanstalkd, beanstalkdOverHttp } from "../peers/beanstalkd.ts";
import { bullMq } from "../peers/bullmq.ts";
import type { Peer, Side } from "../peers/peer.ts";
import { pgBoss } from "../peers/pg-boss.ts";
import { plainJob } from "../peers/plainjob.ts";
import { postern } from "../peers/postern.ts";
import { ms, percent, perSecond, type Section, type Target, times } from "../report.ts";
import type { Effort, Scenario, Setting } from "../scenario.ts";

const PEERS: readonly Peer[] = [pgBoss, bullMq, beanstalkd, beanstalkdOverHttp, plainJob];
const SIDES: readonly Peer[] = [postern, ...PEERS];

/** How many events a claim takes, on how many connections. */
const LOADS = [1, 10, 32].flatMap((batch) => [1, 16].map((connections) => ({ batch, connections })));
type Load = (typeof LOADS)[number];

/** A queue is filled with at least so many events, and with what this many times the last run's rate would use. */
const LEAST_STOCK = 8000;
const RESERVE = 1.5;

/** Results by peer and load. */
type Measured = Map<string, LoopResult[]>;

/** Working off a queue: claim, then ack. */
export const claimAckScenario: Scenario = {
  name: "claim-ack",
  async run(setting) {
    const measured: Measured = new Map();
    for (let round = 1; round <= setting.effort.rounds; round++) {
      for (const peer of SIDES) if (peer.missing() === undefined) await measure(setting, peer, measured);
    }
    return section(measured);
  },
};

async function measure({ scratch, effort, say }: Setting, peer: Peer, measured: Measured): Promise<void> {
  const seconds = (effort.warmUpMs + effort.measuredMs) / 1000;
  const side = await peer.start(scratch);
  try {
    let rate = 0;
    for (const load of LOADS) {
      const wanted = Math.max(LEAST_STOCK, Math.ceil(rate * seconds * RESERVE));
      const result = await undisturbed(say, async () => {
        await stock(side, wanted);
        return checked(peer, side, () => work(side, load.connections, load.batch, effort));
      });
      rate = result.rate;
      say(
        `claim and ack, ${peer.name}, ${load.batch} at a time, ${load.connections}: ${perSecond(rate)}, p50 ${ms(result.p50)}, server core ${percent(result.serverCore)}, client core ${percent(result.clientCore)}, others ${percent(result.others)}`,
      );
      measured.set(keyOf(peer, load), [...(measured.get(keyOf(peer, load)) ?? []), result]);
    }
  } finally {
    await side.stop();
  }
}

async function stock(side: Side, wanted: number): Promise<void> {
  const { waiting } = await side.counts();
  if (waiting < wanted) await side.fill(wanted - waiting);
}

/** Does the work and counts the store's rows before and after it: as many must be done as were acked. */
async function checked(peer: Peer, side: Side, doIt: () => Promise<LoopResult>): Promise<LoopResult> {
  const before = await side.counts();
  const result = await doIt();
  const after = await side.counts();
  const [done, gone] = [after.done - before.done, before.waiting - after.waiting];
  if (done !== result.total || gone !== result.total) {
    throw new Error(
      `${peer.name} acked ${result.total} events; its store has ${done} more done and ${gone} fewer waiting`,
    );
  }
  return result;
}

/** Claims and acks on so many connections until the time is over or nothing is left. */
export async function work(side: Side, connections: number, batch: number, effort: Effort): Promise<LoopResult> {
  const { worker } = side;
  if (!worker) throw new Error("this side has nothing to claim");
  const workers = await Promise.all(Array.from({ length: connections }, () => worker()));
  const result = await closedLoop({
    connections,
    ...effort,
    step: async (index) => (await workers[index]?.cycle(batch)) ?? 0,
  });
  for (const one of workers) one.close();
  return result;
}

function keyOf(peer: Peer, { batch, connections }: Load): string {
  return `${peer.name}, ${batch}, ${connections}`;
}

function section(measured: Measured): Section {
  const rate = (peer: Peer, load: Load) => median((measured.get(keyOf(peer, load)) ?? []).map((result) => result.rate));
  const rows = SIDES.map((peer) => [
    peer.name,
    ...LOADS.map((load) => {
      if (peer.missing() !== undefined) return "";
      const ours = peer === postern ? "" : `, ${times(rate(postern, load) / rate(peer, load))}`;
      return `${perSecond(rate(peer, load))}${ours}`;
    }),
  ]);
  const targets = PEERS.filter((peer) => peer.missing() === undefined).map((peer): Target => {
    const ratios = LOADS.map((load) => ({ load, ratio: rate(postern, load) / rate(peer, load) }));
    const lowest = ratios.reduce((low, next) => (next.ratio < low.ratio ? next : low));
    return {
      what: `claim and ack ahead of ${peer.name}`,
      reached: lowest.ratio > 1,
      measured: `${times(lowest.ratio)} at the least (${lowest.load.batch} at a time on ${lowest.load.connections})`,
    };
  });
  const skipped = SIDES.flatMap((peer) => {
    const missing = peer.missing();
    return missing === undefined ? [] : [`- ${peer.name} was not run: ${missing}`];
  });
  const others = Math.max(...[...measured.values()].flat().map((result) => result.others));
  return {
    title: "Claim and ack",
    text: [
      `Each connection claims so many events of 2 KB, reads them, acks them and claims the next; the rate counts events acked. After each run the store's rows were counted: as many were done as had been acked. The libraries stand behind the HTTP front, which checks no key; Postern checks one. The second figure is how many times as fast Postern is. Other programs took at most ${percent(others)} of a core.`,
      ...SIDES.filter((peer) => peer !== postern).map(({ name, how }) => `- ${name}: ${how}`),
      ...skipped,
    ].join("\n"),
    tables: [{ columns: ["", ...LOADS.map(({ batch, connections }) => `by ${batch} on ${connections}`)], rows }],
    targets,
  };
}
