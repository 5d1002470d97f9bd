import { binaryPath } from "../../support/paths.ts";
import { type Stock, stockedFolder } from "../fixtures/folder.ts";
import { closedLoop } from "../load/closed-loop.ts";
import { HttpConnection } from "../load/http-connection.ts";
import { median } from "../load/statistics.ts";
import { Transmissions } from "../load/transmissions.ts";
import { type PosternSide, startPostern } from "../peers/postern.ts";
import { ms, perSecond, type Section, type Target, times } from "../report.ts";
import type { Effort, Scenario, Setting } from "../scenario.ts";

const SMALL: Stock = { pending: 1000, done: 0 };
/** The largest stock; the start-up is measured on it too. */
export const MILLION: Stock = { pending: 1_000_000, done: 1_000_000 };
const STOCKS: readonly Stock[] = [SMALL, { pending: 100_000, done: 0 }, MILLION];
const CONNECTIONS = [1, 16, 64];
const ALLOWED = 1.3;

/** What a cycle cost at a stock: the rate of cycles, and the middle time of each half. */
type Cost = { rate: number; ingest: number; claimAck: number };
type Measured = Map<string, Cost[]>;

/** The same work beside a small and a large stock. */
export const backlogScenario: Scenario = {
  name: "backlog",
  async run(setting) {
    const sides: { stock: Stock; side: PosternSide }[] = [];
    const measured: Measured = new Map();
    try {
      for (const stock of STOCKS) {
        const dir = await stockedFolder(setting.scratch, stock, setting.say);
        sides.push({ stock, side: await startPostern([binaryPath, "serve"], dir) });
      }
      for (let round = 1; round <= setting.effort.rounds; round++) {
        // One after the other in each round, so that what disturbs the machine disturbs all.
        for (const connections of CONNECTIONS) {
          for (const { stock, side } of sides) await measure(setting, side, stock, connections, measured);
        }
      }
    } finally {
      for (const { side } of sides) await side.stop();
    }
    return section(measured);
  },
};

async function measure(
  { effort, say }: Setting,
  side: PosternSide,
  stock: Stock,
  connections: number,
  measured: Measured,
): Promise<void> {
  const before = await side.counts();
  const { cost, total } = await cycles(side, connections, effort);
  const after = await side.counts();
  if (after.waiting !== before.waiting || after.done - before.done !== total) {
    throw new Error(`after ${total} cycles ${before.waiting} pending became ${after.waiting}`);
  }
  say(
    `${stock.pending} pending, ${connections} connections: ${perSecond(cost.rate)}, ingest ${ms(cost.ingest)}, claim and ack ${ms(cost.claimAck)}`,
  );
  measured.set(keyOf(stock, connections), [...(measured.get(keyOf(stock, connections)) ?? []), cost]);
}

/** On each connection again and again: send an event, claim the oldest, ack it. The stock stays as large as it was. */
async function cycles(side: PosternSide, count: number, effort: Effort): Promise<{ cost: Cost; total: number }> {
  const events = new Transmissions(side.ingest.path, side.ingest.secret);
  const senders = await Promise.all(Array.from({ length: count }, () => HttpConnection.open(side.port)));
  const workers = await Promise.all(Array.from({ length: count }, () => side.worker?.()));
  const took = { ingest: [] as number[], claimAck: [] as number[] };
  const result = await closedLoop({
    connections: count,
    ...effort,
    async step(index) {
      const start = performance.now();
      const answer = await senders[index]?.request(events.next());
      if (answer?.status !== 200) throw new Error(`ingest answered ${answer?.status}: ${answer?.body}`);
      const sent = performance.now();
      const acked = (await workers[index]?.cycle(1)) ?? 0;
      took.ingest.push(sent - start);
      took.claimAck.push(performance.now() - sent);
      return acked;
    },
  });
  for (const sender of senders) sender.close();
  for (const worker of workers) worker?.close();
  const cost = { rate: result.rate, ingest: median(took.ingest), claimAck: median(took.claimAck) };
  return { cost, total: result.total };
}

function keyOf({ pending }: Stock, connections: number): string {
  return `${pending}, ${connections}`;
}

function section(measured: Measured): Section {
  const of = (stock: Stock, connections: number, part: keyof Cost) =>
    median((measured.get(keyOf(stock, connections)) ?? []).map((cost) => cost[part]));
  const rows = STOCKS.map((stock) => [
    stock.done === 0 ? `${stock.pending} pending` : `${stock.pending} pending, ${stock.done} done`,
    ...CONNECTIONS.map(
      (count) =>
        `${perSecond(of(stock, count, "rate"))}, ${ms(of(stock, count, "ingest"))}, ${ms(of(stock, count, "claimAck"))}`,
    ),
  ]);
  const targets = CONNECTIONS.flatMap((count): Target[] =>
    (["ingest", "claimAck"] as const).map((part) => {
      const ratio = of(MILLION, count, part) / of(SMALL, count, part);
      const what = part === "ingest" ? "ingest" : "claim and ack";
      return {
        what: `${what} at a million on ${count} within ${ALLOWED} × of a thousand`,
        reached: ratio <= ALLOWED,
        measured: times(ratio),
      };
    }),
  );
  return {
    title: "Small and large stocks",
    text: "Each connection sends an event, claims the oldest pending one and acks it, so that the stock stays as large as it is. The folders were filled through the store's interface and counted; after each run as many more were done as cycles had been answered. In each cell: cycles a second, p50 of the ingest, p50 of claim and ack together.",
    tables: [{ columns: ["", ...CONNECTIONS.map((count) => `on ${count}`)], rows }],
    targets,
  };
}
