import { join } from "node:path";
import { HttpConnection } from "../load/http-connection.ts";
import { jsonRequest } from "../load/http-request.ts";
import { freePort } from "../machine/free-port.ts";
import { spawnServer, stopServer } from "../machine/pinned.ts";
import { takesConnections, until } from "../machine/until.ts";
import type { Counts, Side, Worker } from "./peer.ts";

const FRONTS = join(import.meta.dir, "../fronts");
const SECRET = "a secret of the bench, shared with the sender";

/** Starts a library's HTTP front (`test/bench/fronts/<name>.ts`) on the servers' core. `where` is its store. */
export async function startFront(
  name: string,
  where: string,
  counts: () => Promise<Counts>,
  stopStore: () => Promise<void>,
): Promise<Side> {
  const port = await freePort();
  const front = spawnServer([process.execPath, "run", join(FRONTS, `${name}.ts`), String(port), SECRET, where]);
  await until(`the start of ${name}`, () => takesConnections(port));
  return {
    ingest: { port, path: "/in/bench", secret: SECRET },
    counts,
    fill: async (count) => void (await exchange(await HttpConnection.open(port), "/fill", { count })),
    worker: async () => frontWorker(await HttpConnection.open(port)),
    async stop() {
      await stopServer(front);
      await stopStore();
    },
  };
}

function frontWorker(connection: HttpConnection): Worker {
  return {
    async cycle(max) {
      const { claims } = await exchange(connection, "/claim", { max });
      if (claims.length > 0) await exchange(connection, "/ack", { ids: claims.map((claim) => claim.id) });
      return claims.length;
    },
    close: () => connection.close(),
  };
}

async function exchange(
  connection: HttpConnection,
  path: string,
  body: unknown,
): Promise<{ claims: readonly { id: unknown }[] }> {
  const answer = await connection.request(jsonRequest(path, body));
  if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${answer.body}`);
  return JSON.parse(answer.body);
}
