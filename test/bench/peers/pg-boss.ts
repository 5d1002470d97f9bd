import { startFront } from "./front-side.ts";
import type { Peer } from "./peer.ts";
import { postgresMissing, startPostgres } from "./postgres-service.ts";

/** pg-boss on PostgreSQL. */
export const pgBoss: Peer = {
  name: "pg-boss",
  how: "pg-boss 12 on PostgreSQL with fsync and synchronous_commit on, over a Unix socket, at most 20 connections; `send`, `fetch`, `complete`",
  missing: postgresMissing,
  async start(scratch) {
    const postgres = await startPostgres(scratch);
    const count = (states: string) =>
      postgres.number(`SELECT count(*) FROM pgboss.job WHERE name = 'bench' AND state IN (${states})`);
    return startFront(
      "pg-boss",
      postgres.socketDir,
      async () => ({ waiting: await count("'created', 'retry'"), done: await count("'completed'") }),
      postgres.stop,
    );
  },
};
