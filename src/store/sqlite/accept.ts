import { typeId, uuidV7 } from "../../kernel/ids.ts";
import { Problem } from "../../kernel/problems.ts";
import type { Accepted, Stored } from "../store.ts";
import type { DedupKey, NewEvent } from "../types.ts";
import type { Core } from "./core.ts";
import type { Known } from "./duplicate-generation.ts";
import type { DuplicateMemory } from "./duplicate-memory.ts";
import type { Tx } from "./group-commit.ts";
import { channelNumber, type EventRow, S } from "./rows.ts";
import type { Timeline } from "./timeline.ts";

/** An event's history names this many duplicates one by one; what comes after is counted in one more entry. */
const DUPLICATES_LISTED = 100;

/** The way in: one atomic insert with its duplicate check. */
export class Accept {
  readonly #core: Core;
  readonly #timeline: Timeline;
  readonly #memory: DuplicateMemory;
  readonly #event;
  readonly #content;
  readonly #rowOf;
  readonly #listed;
  readonly #more;
  readonly #dropMore;

  constructor(core: Core, timeline: Timeline, memory: DuplicateMemory) {
    this.#core = core;
    this.#timeline = timeline;
    this.#memory = memory;
    const { db } = core;
    this.#event = db.prepare<null, [Uint8Array, number, number, number]>(
      `INSERT INTO events (id, project, stream, status, flags, received_at, due_at, attempts, releases, leases)
       VALUES (?, ?, ?, ${S.ready}, 0, ?, NULL, 0, 0, 0)`,
    );
    this.#content = db.prepare<null, [number, string, string | null, string | null]>(
      "INSERT INTO contents (seq, headers, payload, blob) VALUES (?, ?, ?, ?)",
    );
    this.#rowOf = db.prepare<{ seq: number; leases: number }, [Uint8Array]>(
      "SELECT seq, leases FROM events WHERE id = ?",
    );
    this.#listed = db.prepare<{ count: number }, [number]>(
      "SELECT count(*) AS count FROM history WHERE seq = ? AND kind = 'duplicate'",
    );
    this.#more = db.prepare<{ num: number; detail: string }, [number]>(
      "SELECT num, detail FROM history WHERE seq = ? AND kind = 'more_duplicates'",
    );
    this.#dropMore = db.prepare<null, [number]>("DELETE FROM history WHERE num = ?");
  }

  accept(event: NewEvent): Stored<Accepted> {
    return this.#core.writer.run((tx) => this.#insert(tx, event), true);
  }

  #insert(tx: Tx, event: NewEvent): Accepted | Problem {
    const project = this.#core.names.projectNum(event.project);
    if (project === undefined) return new Problem("NOT_FOUND", `there is no project ${event.project}`);
    const { dedup } = event;
    const first = dedup && this.#memory.find(dedup.sourceNum, dedup.key, tx.gate);
    if (first) {
      this.#noteDuplicate(tx, first, dedup);
      return { id: typeId("evt", first.event), duplicate: true };
    }
    const { source, type } = event;
    const channel = channelNumber(event.channel);
    const stream = this.#core.names.streamNum({ project, source, channel, type, verified: Number(event.verified) });
    const id = uuidV7(tx.wall);
    this.#timeline.arrived(tx.wall);
    const seq = Number(this.#event.run(id, project, stream, tx.wall).lastInsertRowid);
    this.#content.run(seq, event.headers, event.payload, event.blob && JSON.stringify(event.blob));
    if (dedup) {
      const { sourceNum: source, key, bodyHash: body, ttlMs } = dedup;
      this.#memory.add({ source, key, event: id, body, expires: tx.gate + ttlMs });
    }
    this.#core.changed(tx, newRow(seq, id, project, stream, tx.wall));
    return { id: typeId("evt", id), duplicate: false };
  }

  /** A duplicate changes nothing but the first event's history, which may be gone by retention. */
  #noteDuplicate(tx: Tx, first: Known, dedup: DedupKey): void {
    const row = this.#rowOf.get(first.event);
    if (!row) return;
    const otherBody = Buffer.compare(first.body, dedup.bodyHash) !== 0;
    if ((this.#listed.get(row.seq)?.count ?? 0) < DUPLICATES_LISTED) {
      this.#core.note(tx, row, "duplicate", otherBody ? { other_body: true } : {});
      return;
    }
    const more = this.#more.get(row.seq);
    const { count } = more ? (JSON.parse(more.detail) as { count: number }) : { count: 0 };
    // Written anew, not altered: the lines of a history stand in the order of their time.
    if (more) this.#dropMore.run(more.num);
    this.#core.note(tx, row, "more_duplicates", { count: count + 1 });
  }
}

function newRow(seq: number, id: Uint8Array, project: number, stream: number, wall: number): EventRow {
  return {
    seq,
    id,
    project,
    stream,
    status: S.ready,
    flags: 0,
    received_at: wall,
    due_at: null,
    attempts: 0,
    releases: 0,
    leases: 0,
  };
}
