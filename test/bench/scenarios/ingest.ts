import { closedLoop, type LoopResult } from "../load/closed-loop.ts";
import { BODY_BYTES } from "../load/github-event.ts";
import { HttpConnection } from "../load/http-connection.ts";
import { median } from "../load/statistics.ts";
import { Transmissions } from "../load/transmissions.ts";
import { undisturbed } from "../load/undisturbed.ts";
import { bareServer } from "../peers/bare-server.ts";
import { bullMq } from "../peers/bullmq.ts";
import type { Peer, Side } from "../peers/peer.ts";
import { pgBoss } from "../peers/pg-boss.ts";
import { postern } from "../peers/postern.ts";
import { posternCommitApart, posternWithoutStore } from "../peers/postern-variants.ts";
import { ms, percent, perSecond, type Section, type Target, times } from "../report.ts";
import type { Effort, Scenario, Setting } from "../scenario.ts";

const CONNECTIONS = [1, 16, 64];

/** The sides, and how much of each one's rate Postern is to reach at 64 connections. */
const SIDES: { peer: Peer; atLeast?: number }[] = [
  { peer: postern },
  { peer: posternWithoutStore, atLeast: 0.6 },
  { peer: posternCommitApart, atLeast: 4 },
  { peer: pgBoss, atLeast: 3 },
  { peer: bullMq, atLeast: 2 },
  { peer: bareServer },
];

type Measured = Map<string, Map<number, LoopResult[]>>;

/** Durable ingest of signed events, against the parts it is made of and against queues behind the same way in. */
export const ingestScenario: Scenario = {
  name: "ingest",
  async run(setting) {
    const sides = SIDES.filter(({ peer }) => peer.missing() === undefined);
    const measured: Measured = new Map();
    for (let round = 1; round <= setting.effort.rounds; round++) {
      for (const { peer } of sides) await measure(setting, peer, measured);
    }
    return section(measured);
  },
};

async function measure({ scratch, effort, say }: Setting, peer: Peer, measured: Measured): Promise<void> {
  const side = await peer.start(scratch);
  let sent = 0;
  try {
    for (const connections of CONNECTIONS) {
      const result = await undisturbed(say, async () => {
        const attempt = await load(side, connections, effort);
        sent += attempt.total;
        return attempt;
      });
      say(
        `ingest, ${peer.name}, ${connections}: ${perSecond(result.rate)}, p50 ${ms(result.p50)}, server core ${percent(result.serverCore)}, client core ${percent(result.clientCore)}, others ${percent(result.others)}`,
      );
      const byConnections = measured.get(peer.name) ?? new Map<number, LoopResult[]>();
      byConnections.set(connections, [...(byConnections.get(connections) ?? []), result]);
      measured.set(peer.name, byConnections);
    }
    const { waiting } = await side.counts();
    if (waiting !== sent) throw new Error(`${peer.name} answered 200 to ${sent} events and holds ${waiting}`);
  } finally {
    await side.stop();
  }
}

/** Sends signed events on so many connections. Every answer must be a 200. */
export async function load(side: Pick<Side, "ingest">, connections: number, effort: Effort): Promise<LoopResult> {
  if (!side.ingest) throw new Error("this side has no way in over HTTP");
  const { port, path, secret } = side.ingest;
  const sender = new Transmissions(path, secret);
  const opened = await Promise.all(Array.from({ length: connections }, () => HttpConnection.open(port)));
  const result = await closedLoop({
    connections,
    ...effort,
    async step(index) {
      const answer = await opened[index]?.request(sender.next());
      if (answer?.status !== 200) throw new Error(`ingest answered ${answer?.status}: ${answer?.body}`);
      return 1;
    },
  });
  for (const connection of opened) connection.close();
  return result;
}

function section(measured: Measured): Section {
  const of = (peer: Peer, connections: number, value: (result: LoopResult) => number) =>
    median((measured.get(peer.name)?.get(connections) ?? []).map(value));
  const rate = (result: LoopResult) => result.rate;
  const rows = SIDES.map(({ peer }) => {
    const missing = peer.missing();
    if (missing !== undefined) return [peer.name, `not run: ${missing}`, ...CONNECTIONS.map(() => ""), "", ""];
    const ours = of(postern, 64, rate) / of(peer, 64, rate);
    return [
      peer.name,
      ...CONNECTIONS.map(
        (connections) => `${perSecond(of(peer, connections, rate))}, ${ms(of(peer, connections, (r) => r.p50))}`,
      ),
      ms(of(peer, 64, (r) => r.p99)),
      peer === postern ? "" : times(ours),
    ];
  });
  const targets = SIDES.flatMap(({ peer, atLeast }): Target[] => {
    if (atLeast === undefined || peer.missing() !== undefined) return [];
    const ratio = of(postern, 64, rate) / of(peer, 64, rate);
    const wanted = atLeast < 1 ? percent(atLeast) : `${atLeast} ×`;
    const got = atLeast < 1 ? percent(ratio) : times(ratio);
    return [
      { what: `ingest at 64 connections at least ${wanted} of ${peer.name}`, reached: ratio >= atLeast, measured: got },
    ];
  });
  const busy = Math.max(
    ...SIDES.map(({ peer }) => of(peer, 64, (r) => r.clientCore)).filter((share) => !Number.isNaN(share)),
  );
  const others = Math.max(...[...measured.values()].flatMap((runs) => [...runs.values()].flat().map((r) => r.others)));
  return {
    title: "Durable ingest",
    text: [
      `Events of ${BODY_BYTES} bytes, signed as GitHub signs them, each with a delivery id of its own; a 200 means that the event is on disk. After each run the store's rows were counted: as many as there were 200s.`,
      `The libraries stand behind one HTTP front on Bun that reads the body, checks the signature and parses the JSON as Postern does, and looks for no duplicates. The client's core was at most ${percent(busy)} busy; other programs took at most ${percent(others)} of a core.`,
      ...SIDES.map(({ peer }) => `- ${peer.name}: ${peer.how}`),
    ].join("\n"),
    tables: [
      {
        columns: ["", ...CONNECTIONS.map((count) => `${count} conn., p50`), "p99 at 64", "Postern at 64"],
        rows,
      },
    ],
    targets,
  };
}
