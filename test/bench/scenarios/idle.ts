import { HttpConnection } from "../load/http-connection.ts";
import { jsonRequest } from "../load/http-request.ts";
import { Transmissions } from "../load/transmissions.ts";
import { cpuSeconds, residentMiB } from "../machine/usage.ts";
import { type PosternSide, startBuiltPostern } from "../peers/postern.ts";
import { ms, type Section } from "../report.ts";
import type { Scenario, Setting } from "../scenario.ts";

const WAITERS = 1000;
const WATCHED_MS = 20_000;

/** What the start left to do is over after this time. */
const SETTLE_MS = 5000;

const TARGET_SHARE = 0.005;

type Rest = { share: number; memory: number };

/** What Postern costs while nothing happens, alone and with a thousand callers that wait. */
export const idleScenario: Scenario = {
  name: "idle",
  async run({ scratch, say }: Setting): Promise<Section> {
    const side = await startBuiltPostern(scratch);
    try {
      const alone = await rest(side);
      say(`idle: ${share(alone.share)} of a core, ${mib(alone.memory)}`);
      const waiters = await Promise.all(Array.from({ length: WAITERS }, () => HttpConnection.open(side.port)));
      const request = jsonRequest("/v1/inbox/wait", { timeout_seconds: 300 }, side.key);
      const answers = waiters.map((waiter) => waiter.request(request));
      const waited = await rest(side);
      say(`idle with ${WAITERS} waiters: ${share(waited.share)} of a core, ${mib(waited.memory)}`);
      const woken = await wakeAll(side, answers);
      say(`${WAITERS} waiters answered after ${ms(woken)}`);
      for (const waiter of waiters) waiter.close();
      return section(alone, waited, woken);
    } finally {
      await side.stop();
    }
  },
};

async function rest({ child }: PosternSide): Promise<Rest> {
  await Bun.sleep(SETTLE_MS);
  const before = cpuSeconds(child.pid);
  await Bun.sleep(WATCHED_MS);
  return { share: (cpuSeconds(child.pid) - before) / (WATCHED_MS / 1000), memory: residentMiB(child.pid) };
}

async function wakeAll(
  side: PosternSide,
  answers: readonly Promise<{ status: number; body: string }>[],
): Promise<number> {
  const connection = await HttpConnection.open(side.port);
  const sent = performance.now();
  await connection.request(new Transmissions(side.ingest.path, side.ingest.secret).next());
  const answered = await Promise.all(answers);
  const took = performance.now() - sent;
  const missed = answered.find(({ status, body }) => status !== 200 || body.includes('"event":null'));
  if (missed) throw new Error(`a waiter was not woken: ${missed.status} ${missed.body}`);
  return took;
}

function section(alone: Rest, waited: Rest, woken: number): Section {
  const each = ((waited.memory - alone.memory) * 1024) / WAITERS;
  return {
    title: "Idle",
    text: `CPU over ${WATCHED_MS / 1000} s and resident memory of the process. The waiters each hold a connection with \`POST /v1/inbox/wait\`; then one event wakes them all, and each is answered with it.`,
    tables: [
      {
        columns: ["", "CPU, of a core", "memory"],
        rows: [
          ["nothing to do", share(alone.share), mib(alone.memory)],
          [`${WAITERS} waiters`, share(waited.share), `${mib(waited.memory)} (${each.toFixed(0)} KiB a waiter)`],
          [`one event to ${WAITERS} waiters, until the last is answered`, ms(woken), ""],
        ],
      },
    ],
    targets: [
      { what: "idle under 0.5 % of a core", reached: alone.share < TARGET_SHARE, measured: share(alone.share) },
      {
        what: `idle with ${WAITERS} waiters under 0.5 % of a core`,
        reached: waited.share < TARGET_SHARE,
        measured: share(waited.share),
      },
    ],
  };
}

function share(value: number): string {
  return `${(value * 100).toFixed(2)} %`;
}

function mib(value: number): string {
  return `${value.toFixed(0)} MiB`;
}
