import { githubBody } from "../load/github-event.ts";
import { missingPackage, present, program } from "../machine/debian.ts";
import { freePort } from "../machine/free-port.ts";
import { spawnServer, stopServer } from "../machine/pinned.ts";
import { takesConnections, until } from "../machine/until.ts";
import { BeanstalkClient } from "./beanstalk-client.ts";
import { startFront } from "./front-side.ts";
import type { Counts, Peer, Side, Worker } from "./peer.ts";

const server = program("beanstalkd");
const missing = () => missingPackage("beanstalkd", [server]);
const HOW =
  "beanstalkd 1.12 with `-f0`, an fsync for each write; a claim is never written, so it does not outlive the server";

/** A job may be held for so many seconds, as a Postern lease is by default. */
const TIME_TO_RUN = 300;
const FILL_STEP = 500;

/** beanstalkd, spoken to in its own protocol. */
export const beanstalkd: Peer = {
  name: "beanstalkd (own protocol)",
  how: `${HOW}; its own protocol over TCP, commands of a batch sent in one go`,
  missing,
  async start(scratch) {
    const { port, stop } = await startBeanstalkd(scratch.dir("beanstalkd"));
    return beanstalkdSide(port, stop);
  },
};

/** beanstalkd behind the HTTP front, as the libraries are. */
export const beanstalkdOverHttp: Peer = {
  name: "beanstalkd (HTTP front)",
  how: `${HOW}; behind the same HTTP front as the libraries`,
  missing,
  async start(scratch) {
    const { port, stop } = await startBeanstalkd(scratch.dir("beanstalkd"));
    const client = await BeanstalkClient.open(port);
    return startFront(
      "beanstalkd",
      String(port),
      () => counts(client),
      async () => {
        client.close();
        await stop();
      },
    );
  },
};

async function startBeanstalkd(dir: string): Promise<{ port: number; stop: () => Promise<void> }> {
  const port = await freePort();
  const child = spawnServer([present(server), "-l", "127.0.0.1", "-p", String(port), "-f0", "-b", dir]);
  await until("the start of beanstalkd", () => takesConnections(port));
  return { port, stop: () => stopServer(child) };
}

async function beanstalkdSide(port: number, stop: () => Promise<void>): Promise<Side> {
  const client = await BeanstalkClient.open(port);
  return {
    ingest: undefined,
    counts: () => counts(client),
    fill: (count) => fill(client, count),
    worker: async () => beanstalkdWorker(await BeanstalkClient.open(port)),
    async stop() {
      client.close();
      await stop();
    },
  };
}

async function counts(client: BeanstalkClient): Promise<Counts> {
  const [stats] = await client.commands(["stats-tube default"]);
  const number = (name: string) => Number(new RegExp(`${name}: (\\d+)`).exec(stats?.data.toString() ?? "")?.[1]);
  return { waiting: number("current-jobs-ready"), done: number("cmd-delete") };
}

async function fill(client: BeanstalkClient, count: number): Promise<void> {
  for (let made = 0; made < count; made += FILL_STEP) {
    const bodies = Array.from({ length: Math.min(FILL_STEP, count - made) }, (_, index) => githubBody(made + index));
    const answers = await client.commands(bodies.map((body) => putCommand(body)));
    const refused = answers.find(({ line }) => !line.startsWith("INSERTED"));
    if (refused) throw new Error(`beanstalkd answered ${refused.line} to a put`);
  }
}

/** Priority 0, no delay. */
export function putCommand(body: string): string {
  return `put 0 0 ${TIME_TO_RUN} ${Buffer.byteLength(body)}\r\n${body}`;
}

function beanstalkdWorker(client: BeanstalkClient): Worker {
  return {
    async cycle(max) {
      const claims = await reserve(client, max);
      await remove(
        client,
        claims.map(({ id }) => id),
      );
      return claims.length;
    },
    close: () => client.close(),
  };
}

/** Up to `max` jobs that are ready, without waiting. */
export async function reserve(client: BeanstalkClient, max: number): Promise<{ id: string; data: Buffer }[]> {
  const answers = await client.commands(Array.from({ length: max }, () => "reserve-with-timeout 0"));
  return answers
    .filter(({ line }) => line.startsWith("RESERVED "))
    .map(({ line, data }) => ({ id: line.split(" ")[1] ?? "", data }));
}

/** Deletes jobs; throws where one was not held. */
export async function remove(client: BeanstalkClient, ids: readonly string[]): Promise<void> {
  const answers = await client.commands(ids.map((id) => `delete ${id}`));
  const refused = answers.find(({ line }) => line !== "DELETED");
  if (refused) throw new Error(`beanstalkd answered ${refused.line} to a delete`);
}
