import { Database } from "bun:sqlite";
import { join } from "node:path";
import { startFront } from "./front-side.ts";
import type { Peer } from "./peer.ts";

/** plainjob on SQLite. */
export const plainJob: Peer = {
  name: "plainjob",
  how: "plainjob 0.0.14 on bun:sqlite with `synchronous = FULL` (its own NORMAL is not durable); a batch's calls in one transaction",
  missing: () => undefined,
  async start(scratch) {
    const path = join(scratch.dir("plainjob"), "jobs.db");
    const count = (db: Database, status: number) =>
      db.query<{ count: number }, [number]>("SELECT count(*) AS count FROM plainjob_jobs WHERE status = ?").get(status)
        ?.count ?? 0;
    return startFront(
      "plainjob",
      path,
      async () => {
        using db = new Database(path, { readonly: true });
        return { waiting: count(db, 0), done: count(db, 2) };
      },
      async () => {},
    );
  },
};
