import type { Id } from "../../kernel/ids.ts";
import { Problem } from "../../kernel/problems.ts";
import type { EventStore, Stored } from "../store.ts";
import type { EventRecord } from "../types.ts";
import { noSuchEvent } from "./claim.ts";
import type { Core } from "./core.ts";
import type { Tx } from "./group-commit.ts";
import type { Listing } from "./list.ts";
import { type EventRow, FLAG, S, statusOf } from "./rows.ts";

const REQUEUABLE: readonly number[] = [S.done, S.dead, S.failed];

/** What an operator does to events by hand: bring them back, or delete their content. */
export class Requeue {
  readonly #core: Core;
  readonly #listing: Listing;

  constructor(core: Core, listing: Listing) {
    this.#core = core;
    this.#listing = listing;
  }

  one(project: Id<"prj">, id: Id<"evt">, by: string): Stored<EventRecord> {
    return this.#core.writer.run((tx) => {
      const row = this.#core.row(project, id);
      if (!row) return noSuchEvent(id);
      if (!REQUEUABLE.includes(row.status)) {
        const status = statusOf(row.status);
        return new Problem(
          "EVENT_NOT_REQUEUABLE",
          `the event is ${status}: only done, dead and failed ones come back`,
          {
            extra: { event_status: status },
          },
        );
      }
      this.#back(tx, row, by);
      return this.#core.record(row);
    });
  }

  many(
    query: Parameters<EventStore["requeueMany"]>[0],
    by: string,
    dry: boolean,
  ): ReturnType<EventStore["requeueMany"]> {
    return this.#core.writer.run((tx) => {
      const { rows, next } = this.#listing.rows(query);
      const back = rows.filter((row) => REQUEUABLE.includes(row.status));
      if (!dry) for (const row of back) this.#back(tx, row, by);
      return { matched: back.length, ...(next === undefined ? {} : { next }) };
    });
  }

  #back(tx: Tx, row: EventRow, by: string): void {
    this.#core.move(tx, row, { status: S.ready, due_at: null, attempts: 0, releases: 0 });
    this.#core.note(tx, row, "requeued", { by });
  }

  purge(project: Id<"prj">, id: Id<"evt">, by: string): Stored<{ event: EventRecord; blob: string | null }> {
    return this.#core.writer.run((tx) => {
      const row = this.#core.row(project, id);
      if (!row) return noSuchEvent(id);
      if (row.status === S.claimed) {
        return new Problem("EVENT_LEASED", "a lease holds the event: purge it once it is settled", {
          extra: { event_status: "claimed" },
        });
      }
      const blob = purgeContent(this.#core, tx, row);
      if (blob !== undefined) this.#core.note(tx, row, "purged", { by });
      return { event: this.#core.record(row), blob: blob ?? null };
    });
  }
}

/** Deletes an event's content. Answers the key of a blob that must go, null for none, undefined if it was purged before. */
export function purgeContent(core: Core, tx: Tx, row: EventRow): string | null | undefined {
  if (row.flags & FLAG.purged) return undefined;
  const blob = core.content(row.seq)?.blob ?? null;
  core.db.query<null, [number]>("UPDATE contents SET payload = NULL, blob = NULL WHERE seq = ?").run(row.seq);
  core.move(tx, row, { flags: row.flags | FLAG.purged });
  return blob && (JSON.parse(blob) as { key: string }).key;
}
