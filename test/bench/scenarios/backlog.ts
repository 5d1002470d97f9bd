import { backlogFolder } from "../fixtures/backlog-folder.ts";
import { type BacklogSize, SIZES, SMALLEST } from "../fixtures/backlog-sizes.ts";
import { closedLoop } from "../load/closed-loop.ts";
import { HttpConnection } from "../load/http-connection.ts";
import { median } from "../load/statistics.ts";
import { Transmissions } from "../load/transmissions.ts";
import { type PosternSide, posternCommand, startPostern } from "../peers/postern.ts";
import { perSecond, type Section, type Target, times } from "../report.ts";
import type { Scenario, Setting } from "../scenario.ts";

/** A step is short, so that a backlog of a thousand stays one. */
const EVENTS = 2000;
const STEPS_A_ROUND = 8;
const WARM_UP_STEPS = 4;

const TARGET = 1.3;

const TASKS = [
  { title: "ingest on 64", run: (side: PosternSide) => ingest(side, 64) },
  { title: "claim and ack by 1 on 16", run: (side: PosternSide) => workOff(side, 16, 1) },
  { title: "ingest on 16", run: (side: PosternSide) => ingest(side, 16) },
  { title: "claim and ack by 10 on 16", run: (side: PosternSide) => workOff(side, 16, 10) },
] as const;

type Rates = Map<string, number[]>;

/** Whether the cost of an event grows with what waits and what is done. */
export const backlogScenario: Scenario = {
  name: "backlog",
  async run({ scratch, effort, say }: Setting): Promise<Section> {
    const sides: { size: BacklogSize; dir: string; side: PosternSide; rates: Rates }[] = [];
    try {
      for (const size of SIZES) {
        const dir = backlogFolder(size, scratch, say);
        sides.push({ size, dir, side: await startPostern(posternCommand, dir), rates: new Map() });
      }
      const before = await Promise.all(sides.map(({ side }) => side.counts()));
      const steps = WARM_UP_STEPS + STEPS_A_ROUND * effort.rounds;
      for (let step = 0; step < steps; step++) {
        // The sizes take turns, so that whatever else the machine does falls on all of them.
        for (const { side, rates } of sides) await measure(side, rates, step >= WARM_UP_STEPS);
      }
      const after = await Promise.all(sides.map(({ side }) => side.counts()));
      sides.forEach(({ size }, index) => {
        const moved = (after[index]?.done ?? 0) - (before[index]?.done ?? 0);
        if (moved !== steps * 2 * EVENTS)
          throw new Error(`${size.title}: ${moved} events are done, not as many as were acked`);
        if (after[index]?.waiting !== before[index]?.waiting) throw new Error(`${size.title}: events are missing`);
      });
      return section(sides);
    } finally {
      for (const { side } of sides) await side.stop();
    }
  },
};

async function measure(side: PosternSide, rates: Rates, counted: boolean): Promise<void> {
  for (const { title, run } of TASKS) {
    const rate = await run(side);
    if (counted) rates.set(title, [...(rates.get(title) ?? []), rate]);
  }
}

async function ingest(side: PosternSide, connections: number): Promise<number> {
  const sender = new Transmissions(side.ingest.path, side.ingest.secret);
  const opened = await Promise.all(Array.from({ length: connections }, () => HttpConnection.open(side.port)));
  const rate = await exactly(EVENTS, 1, connections, async (index) => {
    const answer = await opened[index]?.request(sender.next());
    if (answer?.status !== 200) throw new Error(`ingest answered ${answer?.status}: ${answer?.body}`);
    return 1;
  });
  for (const connection of opened) connection.close();
  return rate;
}

async function workOff(side: PosternSide, connections: number, batch: number): Promise<number> {
  const workers = await Promise.all(Array.from({ length: connections }, () => side.worker()));
  const rate = await exactly(EVENTS, batch, connections, async (index) => (await workers[index]?.cycle(batch)) ?? 0);
  for (const worker of workers) worker.close();
  return rate;
}

/** Moves so many events, `batch` at a time, and answers how many a second. */
async function exactly(
  count: number,
  batch: number,
  connections: number,
  step: (connection: number) => Promise<number>,
): Promise<number> {
  let left = count;
  const { total, rate } = await closedLoop({
    connections,
    warmUpMs: 0,
    measuredMs: Number.POSITIVE_INFINITY,
    async step(index) {
      if (left <= 0) return 0;
      left -= batch;
      return await step(index);
    },
  });
  if (total !== count) throw new Error(`${total} events were moved, not ${count}`);
  return rate;
}

function section(sides: readonly { size: BacklogSize; rates: Rates }[]): Section {
  const rateOf = (rates: Rates | undefined, title: string) => median(rates?.get(title) ?? []);
  const smallest = sides.find(({ size }) => size === SMALLEST)?.rates;
  const cost = (rates: Rates, title: string) => rateOf(smallest, title) / rateOf(rates, title);
  const rows = sides.map(({ size, rates }) => [
    size.title,
    ...TASKS.map(({ title }) => `${perSecond(rateOf(rates, title))}, cost ${times(cost(rates, title))}`),
  ]);
  const largest = sides.at(-1);
  const targets = TASKS.map(({ title }): Target => {
    const ratio = largest ? cost(largest.rates, title) : Number.NaN;
    return {
      what: `${title} at a million within ${TARGET} × of a thousand`,
      reached: ratio <= TARGET,
      measured: times(ratio),
    };
  });
  return {
    title: "Backlog",
    text: `The same with what waits and what is done: three servers, each on a prepared data folder, take turns at ${EVENTS} events each, so that the backlog stays what it is. After the run the rows were counted.`,
    tables: [{ columns: ["", ...TASKS.map(({ title }) => title)], rows }],
    targets,
  };
}
