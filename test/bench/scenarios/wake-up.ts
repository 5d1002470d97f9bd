import { binaryPath } from "../../support/paths.ts";
import { HttpConnection } from "../load/http-connection.ts";
import { jsonRequest } from "../load/http-request.ts";
import { percentile } from "../load/statistics.ts";
import { Transmissions } from "../load/transmissions.ts";
import { type PosternSide, postern, startPostern } from "../peers/postern.ts";
import { ms, type Section } from "../report.ts";
import type { Scenario, Setting } from "../scenario.ts";

/** A waiter is given so long to arrive at the server before the event is sent. */
const PARKED_MS = 4;
const WARM_UP_ROUNDS = 300;
const ROUNDS_EACH = 300;
const WAIT_SECONDS = 25;

type Way = {
  name: string;
  wait: (side: Waiting) => Promise<string>;
  tidy: (side: Waiting, id: string) => Promise<void>;
};
type Waiting = { waiter: HttpConnection; key: string; after: string | undefined };

async function call(waiter: HttpConnection, path: string, key: string, body: unknown): Promise<unknown> {
  const answer = await waiter.request(jsonRequest(path, body, key));
  if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${answer.body}`);
  return JSON.parse(answer.body);
}

/** The two ways to wait for an event. */
const WAYS: readonly Way[] = [
  {
    name: "claim that waits",
    async wait({ waiter, key }) {
      const answer = await call(waiter, "/v1/inbox/claim", key, { wait_seconds: WAIT_SECONDS });
      return (answer as { claims: { event: { id: string } }[] }).claims[0]?.event.id ?? "";
    },
    async tidy({ waiter, key }, id) {
      await call(waiter, `/v1/events/${id}/ack`, key, {});
    },
  },
  {
    name: "wait",
    async wait({ waiter, key, after }) {
      const asked = { timeout_seconds: WAIT_SECONDS, ...(after === undefined ? {} : { after }) };
      const answer = await call(waiter, "/v1/inbox/wait", key, asked);
      return (answer as { event: { id: string } | null }).event?.id ?? "";
    },
    tidy: async () => {},
  },
];

type Times = { woken: number[]; ingest: number[] };

/** How soon one who waits has the event that another connection sends. */
export const wakeUpScenario: Scenario = {
  name: "wake-up",
  async run({ scratch, effort, say }: Setting): Promise<Section> {
    const side = await startPostern([binaryPath, "serve"], scratch.dir("wake-up"));
    const found: { name: string; times: Times }[] = [];
    try {
      for (const way of WAYS) {
        const times = await rounds(side, way, ROUNDS_EACH * effort.rounds);
        say(`wake-up, ${way.name}: p50 ${ms(percentile(times.woken, 0.5))}, p99 ${ms(percentile(times.woken, 0.99))}`);
        found.push({ name: way.name, times });
      }
    } finally {
      await side.stop();
    }
    return section(found);
  },
};

/**
 * Each round: one waits; an event is sent on another connection; the time from there to the waiter's whole answer. The
 * rounds of the warm-up come first and are not told.
 */
async function rounds(side: PosternSide, way: Way, count: number): Promise<Times> {
  const waiter = await HttpConnection.open(side.port);
  const sender = await HttpConnection.open(side.port);
  const events = new Transmissions(side.ingest.path, side.ingest.secret);
  const times: Times = { woken: [], ingest: [] };
  let after: string | undefined;
  for (let round = 0; round < WARM_UP_ROUNDS + count; round++) {
    const waiting = { waiter, key: side.key, after };
    let woken = 0;
    const wait = way.wait(waiting).then((id) => {
      woken = performance.now();
      return id;
    });
    await Bun.sleep(PARKED_MS);
    if (woken !== 0) throw new Error("the waiter did not wait");
    const sent = performance.now();
    const answer = await sender.request(events.next());
    times.ingest.push(performance.now() - sent);
    const { id } = JSON.parse(answer.body) as { id: string };
    if ((await wait) !== id) throw new Error("the waiter got another event than the one that was sent");
    times.woken.push(woken - sent);
    await way.tidy(waiting, id);
    after = id;
  }
  waiter.close();
  sender.close();
  return { woken: times.woken.slice(WARM_UP_ROUNDS), ingest: times.ingest.slice(WARM_UP_ROUNDS) };
}

function section(found: readonly { name: string; times: Times }[]): Section {
  const rows = found.map(({ name, times: { woken, ingest } }) => [
    name,
    String(woken.length),
    ms(percentile(woken, 0.5)),
    ms(percentile(woken, 0.99)),
    ms(percentile(ingest, 0.5)),
  ]);
  return {
    title: "Wake-up",
    text: `One connection waits; an event of 2 KB is sent on another; the time from the first byte sent to the waiter's whole answer, the event's way to the disk included. Each waiter was checked to have got the event that was sent. ${postern.name}: ${postern.how}.`,
    tables: [{ columns: ["", "rounds", "p50", "p99", "the sender's own answer, p50"], rows }],
    targets: found.map(({ name, times }) => {
      const p50 = percentile(times.woken, 0.5);
      return { what: `wake-up of a ${name}, p50 under 2 ms`, reached: p50 < 2, measured: ms(p50) };
    }),
  };
}
