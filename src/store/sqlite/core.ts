import type { Database } from "bun:sqlite";
import { type Clock, wallOf } from "../../kernel/clock.ts";
import { type Id, idBytes, typeId } from "../../kernel/ids.ts";
import type { Change, EventRecord } from "../types.ts";
import type { GroupCommit, Tx } from "./group-commit.ts";
import type { Names } from "./names.ts";
import { ReadyStreams } from "./ready-streams.ts";
import { type ContentRow, channelOf, type EventRow, eventRecord, S, statusOf } from "./rows.ts";

/** Failed this often, an event is dead (contract, section 5). */
export const MAX_ATTEMPTS = 5;

/**
 * What the parts of the SQLite store share: the connection, the writer, the names, and the few statements all need.
 *
 * Wherever a query has ORDER BY or LIMIT, its parameters are written `? + 0`: a bare one may bear on the plan there, so
 * SQLite would compile the statement anew each time it is bound (measured: 7 µs instead of 1).
 */
export class Core {
  readonly db: Database;
  readonly clock: Clock;
  readonly names: Names;
  readonly readyStreams: ReadyStreams;
  readonly #byId;
  readonly #content;
  readonly #move;
  readonly #change;
  readonly #history;
  #writer: GroupCommit | undefined;

  constructor(db: Database, clock: Clock, names: Names) {
    this.db = db;
    this.clock = clock;
    this.names = names;
    this.readyStreams = new ReadyStreams(db, names);
    this.#byId = db.prepare<EventRow, [Uint8Array]>("SELECT * FROM events WHERE id = ?");
    this.#content = db.prepare<ContentRow, [number]>("SELECT headers, payload, blob FROM contents WHERE seq = ?");
    this.#move = db.prepare<null, [number, number, number | null, number, number, number, number]>(
      "UPDATE events SET status = ?2, due_at = ?3, attempts = ?4, releases = ?5, flags = ?6, leases = ?7 WHERE seq = ?1",
    );
    this.#change = db.prepare<null, [number, number, number, number, number]>(
      "INSERT INTO changes (project, seq, status, attempts, at) VALUES (?, ?, ?, ?, ?)",
    );
    this.#history = db.prepare<null, [number, number, number, number, string, string]>(
      "INSERT INTO history (seq, lease, at, gate, kind, detail) VALUES (?, ?, ?, ?, ?, ?)",
    );
  }

  get writer(): GroupCommit {
    if (!this.#writer) throw new Error("the writer is not attached yet");
    return this.#writer;
  }

  attach(writer: GroupCommit): void {
    this.#writer = writer;
  }

  /** The narrow row of an event of this project, or null. */
  row(project: Id<"prj">, id: Id<"evt">): EventRow | null {
    const row = this.rowOf(id);
    return row && row.project === this.names.projectNum(project) ? row : null;
  }

  /** The narrow row of an event of any project, or null. */
  rowOf(id: Id<"evt">): EventRow | null {
    const bytes = idBytes("evt", id);
    return bytes ? this.#byId.get(bytes) : null;
  }

  content(seq: number): ContentRow | null {
    return this.#content.get(seq);
  }

  /** The whole record of a row. */
  record(row: EventRow): EventRecord {
    return eventRecord(row, this.names.stream(row.stream), this.names.projectId(row.project), this.content(row.seq));
  }

  /** Writes an event's new state and notes the change. `row` is altered to the new state. */
  move(
    tx: Tx,
    row: EventRow,
    to: Partial<Pick<EventRow, "status" | "due_at" | "attempts" | "releases" | "flags">>,
  ): void {
    Object.assign(row, to);
    this.#move.run(row.seq, row.status, row.due_at, row.attempts, row.releases, row.flags, row.leases);
    this.changed(tx, row);
  }

  /** Notes that the event stands as `row` says: for the stream, and for whoever waits. */
  changed(tx: Tx, row: EventRow, visible = true): void {
    let cursor = 0;
    if (visible) {
      const noted = this.#change.run(row.project, row.seq, row.status, row.attempts, tx.wall);
      cursor = Number(noted.lastInsertRowid);
    }
    if (row.status === S.ready) this.readyStreams.add(this.names.stream(row.stream));
    tx.changes.push(this.#changeOf(row, cursor, visible));
  }

  #changeOf(row: EventRow, cursor: number, visible: boolean): Change {
    const stream = this.names.stream(row.stream);
    return {
      cursor,
      seq: row.seq,
      project: this.names.projectId(row.project),
      id: typeId("evt", row.id),
      source: stream.source,
      channel: channelOf(stream.channel),
      type: stream.type,
      verified: stream.verified === 1,
      status: statusOf(row.status),
      attempts: row.attempts,
      ready: row.status === S.ready,
      visible,
    };
  }

  /** Adds a line to an event's history. */
  note(tx: Tx, event: Pick<EventRow, "seq" | "leases">, kind: string, detail: Record<string, unknown>): void {
    this.#history.run(event.seq, event.leases, tx.wall, tx.gate, kind, JSON.stringify(detail));
  }

  /** Gate time as wall time, judged from the transaction's now. */
  wall(tx: Tx, gate: number): number {
    return tx.wall + (gate - tx.gate);
  }

  wallNow(gate: number): number {
    return wallOf(this.clock, gate);
  }
}
