import { binaryPath } from "../../support/paths.ts";
import { HttpConnection } from "../load/http-connection.ts";
import { jsonRequest } from "../load/http-request.ts";
import { Transmissions } from "../load/transmissions.ts";
import { cpuSeconds, residentMiB } from "../machine/usage.ts";
import { type PosternSide, startPostern } from "../peers/postern.ts";
import { ms, type Section } from "../report.ts";
import type { Scenario } from "../scenario.ts";

const SETTLE_MS = 3000;
const WATCHED_MS = 20_000;
const QUICK_MS = 3000;
const WAITERS = 1000;
const WAIT_SECONDS = 300;
/** Of one core. */
const IDLE_SHARE = 0.005;

type Rest = { share: number; mib: number };

/** What it costs to run and do nothing, and to hold a thousand who wait. */
export const idleScenario: Scenario = {
  name: "idle",
  async run({ scratch, effort, say }) {
    const watchedMs = effort.rounds === 1 ? QUICK_MS : WATCHED_MS;
    const side = await startPostern([binaryPath, "serve"], scratch.dir("idle"));
    try {
      const alone = await rest(side, watchedMs);
      const waiting = await openWaiters(side);
      const crowded = await rest(side, watchedMs);
      const all = await wakeAll(side, waiting);
      say(`idle: ${share(alone.share)}, ${alone.mib.toFixed(1)} MiB; with ${WAITERS} waiters ${share(crowded.share)}`);
      return section(watchedMs, alone, crowded, all);
    } finally {
      await side.stop();
    }
  },
};

async function rest(side: PosternSide, watchedMs: number): Promise<Rest> {
  await Bun.sleep(SETTLE_MS);
  const { pid } = side.child;
  const [before, start] = [cpuSeconds(pid), performance.now()];
  await Bun.sleep(watchedMs);
  const seconds = (performance.now() - start) / 1000;
  return { share: (cpuSeconds(pid) - before) / seconds, mib: residentMiB(pid) };
}

type Waiter = { connection: HttpConnection; woken: Promise<number> };

async function openWaiters(side: PosternSide): Promise<Waiter[]> {
  const wait = jsonRequest("/v1/inbox/wait", { timeout_seconds: WAIT_SECONDS }, side.key);
  return Promise.all(
    Array.from({ length: WAITERS }, async () => {
      const connection = await HttpConnection.open(side.port);
      const woken = connection.request(wait).then(({ status, body }) => {
        if (status !== 200 || !body.startsWith('{"event":{')) throw new Error(`a waiter got ${status}: ${body}`);
        return performance.now();
      });
      return { connection, woken };
    }),
  );
}

/** One event wakes all who wait; answers how long it took until the last had it. Throws where one did not get it. */
async function wakeAll(side: PosternSide, waiters: readonly Waiter[]): Promise<number> {
  const sender = await HttpConnection.open(side.port);
  const sent = performance.now();
  await sender.request(new Transmissions(side.ingest.path, side.ingest.secret).next());
  const woken = await Promise.all(waiters.map((waiter) => waiter.woken));
  for (const { connection } of waiters) connection.close();
  sender.close();
  return Math.max(...woken) - sent;
}

function share(value: number): string {
  return `${(value * 100).toFixed(2)} % of a core`;
}

function section(watchedMs: number, alone: Rest, crowded: Rest, all: number): Section {
  const seconds = watchedMs / 1000;
  return {
    title: "Idle",
    text: `The process's CPU time over ${seconds} s, which /proc counts in hundredths of a second, and its resident memory. Each of the ${WAITERS} waiters has a connection of its own. At the end one event was sent: all ${WAITERS} had it, the last ${ms(all)} after it was sent.`,
    tables: [
      {
        columns: ["", "CPU", "resident"],
        rows: [
          ["nothing to do", share(alone.share), `${alone.mib.toFixed(1)} MiB`],
          [
            `${WAITERS} waiters`,
            share(crowded.share),
            `${crowded.mib.toFixed(1)} MiB, ${(((crowded.mib - alone.mib) * 1024) / WAITERS).toFixed(1)} KiB a waiter`,
          ],
        ],
      },
    ],
    targets: [
      { what: "idle under 0.5 % of a core", reached: alone.share < IDLE_SHARE, measured: share(alone.share) },
      {
        what: `${WAITERS} idle waiters under 0.5 % of a core`,
        reached: crowded.share < IDLE_SHARE,
        measured: share(crowded.share),
      },
    ],
  };
}
