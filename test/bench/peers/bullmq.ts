import { join } from "node:path";
import { missingPackage, present, program } from "../machine/debian.ts";
import { spawnServer, stopServer } from "../machine/pinned.ts";
import { until } from "../machine/until.ts";
import { startFront } from "./front-side.ts";
import type { Peer } from "./peer.ts";

const server = program("redis-server");
const client = program("redis-cli");

/** Every write is in the append-only file, and on disk, before it is answered; nothing else is written. */
const DURABLE = ["--appendonly", "yes", "--appendfsync", "always", "--save", "", "--auto-aof-rewrite-percentage", "0"];

/** BullMQ on Redis. */
export const bullMq: Peer = {
  name: "BullMQ",
  how: "BullMQ 6 on Redis with `appendonly yes` and `appendfsync always`, over a Unix socket; `add`, `getNextJob`, `moveToCompleted`",
  missing: () => missingPackage("redis-server", [server, client]),
  async start(scratch) {
    const dir = scratch.dir("redis");
    const socket = join(dir, "redis.sock");
    const redis = spawnServer(
      [present(server), "--port", "0", "--unixsocket", socket, "--dir", dir, "--loglevel", "warning", ...DURABLE],
      { cwd: dir },
    );
    const ask = async (...command: string[]) => {
      const asked = Bun.spawn([present(client), "-s", socket, ...command], { stdout: "pipe", stderr: "ignore" });
      return (await asked.stdout.text()).trim();
    };
    await until("the start of Redis", async () => (await ask("PING")) === "PONG");
    return startFront(
      "bullmq",
      socket,
      async () => ({
        waiting: Number(await ask("LLEN", "bull:bench:wait")),
        done: Number(await ask("ZCARD", "bull:bench:completed")),
      }),
      () => stopServer(redis),
    );
  },
};
