import { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { S } from "../../../src/store/sqlite/rows.ts";
import { binaryPath } from "../../support/paths.ts";
import { closedLoop } from "../load/closed-loop.ts";
import { HttpConnection } from "../load/http-connection.ts";
import { Transmissions } from "../load/transmissions.ts";
import { freePort } from "../machine/free-port.ts";
import { type Child, spawnServer, stopServer } from "../machine/pinned.ts";
import type { Scratch } from "../machine/scratch.ts";
import { until } from "../machine/until.ts";
import type { Counts, Peer, Side, Worker } from "./peer.ts";
import { posternWorker } from "./postern-worker.ts";

const SECRET = "a secret of the bench, shared with GitHub";

/** A running Postern, with what the bench needs to use it. */
export type PosternSide = Side & {
  ingest: NonNullable<Side["ingest"]>;
  worker: () => Promise<Worker>;
  child: Child;
  port: number;
  /** An application key's token. */
  key: string;
};

/** The binary that `bun run build` made, with its defaults. */
export const postern: Peer = {
  name: "Postern",
  how: "the built binary with its defaults, mail off, log level warn",
  missing: () => (existsSync(binaryPath) ? undefined : "`bun run build` makes it"),
  start: startBuiltPostern,
};

/** How the built binary is started. */
export const posternCommand: readonly string[] = [binaryPath, "serve"];

/** Starts the built binary on a new data folder. */
export function startBuiltPostern(scratch: Scratch): Promise<PosternSide> {
  return startPostern(posternCommand, scratch.dir("postern"));
}

/** Starts a Postern on the servers' core and makes it a source of kind `github` and a key. */
export async function startPostern(command: readonly string[], dataDir: string): Promise<PosternSide> {
  const { child, port } = await spawnPostern(command, dataDir);
  const socket = join(dataDir, "postern.sock");
  const name = `bench-${Date.now().toString(36)}`;
  const source = await operator(socket, "/v1/sources", { name, channel: "webhook", kind: "github", secret: SECRET });
  const { key } = await operator(socket, "/v1/keys", { name, kind: "application", preset: "agent" });
  const ingest = { port, path: new URL(String(source.ingest_url)).pathname, secret: SECRET };
  return {
    child,
    port,
    key: String(key),
    ingest,
    counts: async () => countRows(dataDir),
    fill: (count) => fillOverHttp(ingest, count),
    worker: async () => posternWorker(await HttpConnection.open(port), String(key)),
    stop: () => stopServer(child),
  };
}

/** Starts a Postern and waits until it is ready; `readyMs` is how long that took. */
export async function spawnPostern(
  command: readonly string[],
  dataDir: string,
): Promise<{ child: Child; port: number; readyMs: number }> {
  const port = await freePort();
  const env = {
    POSTERN_DATA_DIR: dataDir,
    POSTERN_HTTP__LISTEN: `127.0.0.1:${port}`,
    POSTERN_SMTP__ENABLED: "false",
    POSTERN_LOG__LEVEL: "warn",
  };
  const started = performance.now();
  const child = spawnServer(command, { cwd: dataDir, env });
  await until("the start of Postern", () => isReady(port), 2);
  return { child, port, readyMs: performance.now() - started };
}

async function isReady(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/readyz`)).ok;
  } catch {
    return false; // Nothing listens there yet.
  }
}

async function operator(unix: string, path: string, body: unknown): Promise<Record<string, unknown>> {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`http://localhost${path}`, { unix, method: "POST", headers, body: JSON.stringify(body) });
  if (answer.status !== 201) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
  return (await answer.json()) as Record<string, unknown>;
}

/** Counts in the database itself, from outside. */
export function countRows(dataDir: string): Counts {
  using db = new Database(join(dataDir, "postern.db"), { readonly: true });
  const count = (status: number) =>
    db.query<{ count: number }, [number]>("SELECT count(*) AS count FROM events WHERE status = ?").get(status)?.count ??
    0;
  return { waiting: count(S.ready), done: count(S.done) };
}

const FILL_CONNECTIONS = 64;

async function fillOverHttp(ingest: NonNullable<Side["ingest"]>, count: number): Promise<void> {
  const sender = new Transmissions(ingest.path, ingest.secret);
  const connections = await Promise.all(
    Array.from({ length: FILL_CONNECTIONS }, () => HttpConnection.open(ingest.port)),
  );
  let left = count;
  await closedLoop({
    connections: FILL_CONNECTIONS,
    warmUpMs: 0,
    measuredMs: Number.POSITIVE_INFINITY,
    async step(index) {
      if (left <= 0) return 0;
      left--;
      const answer = await connections[index]?.request(sender.next());
      if (answer?.status !== 200) throw new Error(`ingest answered ${answer?.status}: ${answer?.body}`);
      return 1;
    },
  });
  for (const connection of connections) connection.close();
}
