import { HttpConnection } from "../load/http-connection.ts";
import { jsonRequest } from "../load/http-request.ts";
import { percentile } from "../load/statistics.ts";
import { Transmissions } from "../load/transmissions.ts";
import { type PosternSide, startBuiltPostern } from "../peers/postern.ts";
import { ms, type Section } from "../report.ts";
import type { Scenario, Setting } from "../scenario.ts";

const ROUNDS = 600;

/** The first rounds are not counted: the server's code becomes hot. */
const WARM_UP = 100;

/** The waiter has long been waiting when the event comes: this long, and up to as much more. */
const PAUSE_MS = 4;

const TARGET_MS = 2;

type Wait = { title: string; path: string; body: (after: string | undefined) => unknown };

const WAITS: readonly Wait[] = [
  {
    title: "inbox/wait",
    path: "/v1/inbox/wait",
    body: (after) => ({ timeout_seconds: 60, ...(after ? { after } : {}) }),
  },
  { title: "inbox/claim with wait_seconds", path: "/v1/inbox/claim", body: () => ({ wait_seconds: 60 }) },
];

/** From the sending of an event to the answer of one who waited for it. */
export const wakeUpScenario: Scenario = {
  name: "wake-up",
  async run({ scratch, say }: Setting): Promise<Section> {
    const rows: string[][] = [];
    const targets: Section["targets"] = [];
    for (const wait of WAITS) {
      // A server for each: what the one leaves pending would be there at once for the other.
      const side = await startBuiltPostern(scratch);
      const times = await latencies(side, wait).finally(() => side.stop());
      const [p50, p99] = [percentile(times, 0.5), percentile(times, 0.99)];
      say(`wake-up, ${wait.title}: p50 ${ms(p50)}, p99 ${ms(p99)}`);
      rows.push([`\`${wait.title}\``, ms(p50), ms(p99), ms(Math.max(...times))]);
      targets.push({
        what: `wake-up p50 under ${TARGET_MS} ms (${wait.title})`,
        reached: p50 < TARGET_MS,
        measured: ms(p50),
      });
    }
    return {
      title: "Wake-up",
      text: `From the sending of an event of 2 KB to the answer of one who had been waiting on another connection: ${ROUNDS} rounds. The event is on disk by then, with \`claim\` the lease too.`,
      tables: [{ columns: ["", "p50", "p99", "longest"], rows }],
      targets,
    };
  },
};

async function latencies(side: PosternSide, wait: Wait): Promise<number[]> {
  const sender = new Transmissions(side.ingest.path, side.ingest.secret);
  const waiting = await HttpConnection.open(side.port);
  const sending = await HttpConnection.open(side.port);
  const found: number[] = [];
  let after: string | undefined;
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    const pending = waiting.request(jsonRequest(wait.path, wait.body(after), side.key)).then((answer) => ({
      answer,
      at: performance.now(),
    }));
    await Bun.sleep(PAUSE_MS + Math.random() * PAUSE_MS);
    const sent = performance.now();
    const accepted = await sending.request(sender.next());
    const { answer, at } = await pending;
    after = (JSON.parse(accepted.body) as { id: string }).id;
    if (!answer.body.includes(after))
      throw new Error(`the waiter did not get the event: ${answer.status} ${answer.body}`);
    if (round >= WARM_UP) found.push(at - sent);
  }
  waiting.close();
  sending.close();
  return found;
}
