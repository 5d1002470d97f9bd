import type { Id } from "../../kernel/ids.ts";
import type { UpkeepStore } from "../store.ts";
import type { EventStatus, StoredBlob } from "../types.ts";
import type { Core } from "./core.ts";
import type { Retention } from "./retain.ts";
import { statusOf } from "./rows.ts";

/** Retention and counting. */
export function upkeepStore(core: Core, retention: Retention): UpkeepStore {
  const { db } = core;
  return {
    retain: (limits, step) => core.writer.run((tx) => retention.step(tx, limits, step)),
    async counts() {
      const rows = db
        .query<{ project: number; status: number; count: number }, []>(
          "SELECT project, status, count(*) AS count FROM events GROUP BY project, status",
        )
        .all();
      const totals = new Map<string, { project: Id<"prj">; status: EventStatus; count: number }>();
      for (const row of rows) {
        const total = { project: core.names.projectId(row.project), status: statusOf(row.status), count: 0 };
        const key = `${total.project} ${total.status}`;
        const known = totals.get(key) ?? total;
        known.count += row.count;
        totals.set(key, known);
      }
      return [...totals.values()];
    },
    async heldBlobs(keys) {
      const wanted = new Set(keys);
      const held = new Set<string>();
      for (const { blob } of db.query<{ blob: string }, []>("SELECT blob FROM contents WHERE blob IS NOT NULL").all()) {
        const { key } = JSON.parse(blob) as StoredBlob;
        if (wanted.has(key)) held.add(key);
      }
      return held;
    },
  };
}
