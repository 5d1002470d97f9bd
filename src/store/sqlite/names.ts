import type { Database } from "bun:sqlite";
import type { Id } from "../../kernel/ids.ts";
import type { Stream } from "./rows.ts";

/** At most this many streams are kept in memory; the rest are read again when asked for. */
const CACHED_STREAMS = 20_000;

/**
 * The small numbers that stand for projects and streams in the hot table.
 * A number handed out in a transaction that is rolled back must be forgotten: `forget` drops what it cannot be sure of.
 */
export class Names {
  readonly #db: Database;
  readonly #streams = new Map<number, Stream>();
  readonly #streamNums = new Map<string, number>();
  readonly #projectNums = new Map<string, number>();
  readonly #projectIds = new Map<number, Id<"prj">>();

  constructor(db: Database) {
    this.#db = db;
  }

  forget(): void {
    this.#streams.clear();
    this.#streamNums.clear();
    this.#projectNums.clear();
    this.#projectIds.clear();
  }

  /** The project's number, or undefined where there is none. */
  projectNum(id: Id<"prj">): number | undefined {
    const known = this.#projectNums.get(id);
    if (known !== undefined) return known;
    const row = this.#db.query<{ num: number }, [string]>("SELECT num FROM projects WHERE id = ?").get(id);
    if (row) {
      this.#projectNums.set(id, row.num);
      this.#projectIds.set(row.num, id);
    }
    return row?.num;
  }

  projectId(num: number): Id<"prj"> {
    const known = this.#projectIds.get(num);
    if (known) return known;
    const row = this.#db.query<{ id: Id<"prj"> }, [number]>("SELECT id FROM projects WHERE num = ?").get(num);
    if (!row) throw new Error(`an event belongs to project ${num}, which does not exist`);
    this.#projectIds.set(num, row.id);
    return row.id;
  }

  stream(num: number): Stream {
    const known = this.#streams.get(num);
    if (known) return known;
    const row = this.#db.query<Stream, [number]>("SELECT * FROM streams WHERE num = ?").get(num);
    if (!row) throw new Error(`an event belongs to stream ${num}, which does not exist`);
    this.#keep(row);
    return row;
  }

  /** The number of a stream, made where it is new. Only inside a transaction. */
  streamNum(wanted: Omit<Stream, "num">): number {
    const known = this.#streamNums.get(streamKey(wanted));
    if (known !== undefined) return known;
    const { project, source, channel, type, verified } = wanted;
    const found = this.#db
      .query<Stream, [number, string, number, string, number]>(
        "SELECT * FROM streams WHERE project = ? AND source = ? AND channel = ? AND type = ? AND verified = ?",
      )
      .get(project, source, channel, type, verified);
    const row = found ?? this.#insert(wanted);
    this.#keep(row);
    return row.num;
  }

  #insert({ project, source, channel, type, verified }: Omit<Stream, "num">): Stream {
    const row = this.#db
      .query<Stream, [number, string, number, string, number]>(
        "INSERT INTO streams (project, source, channel, type, verified) VALUES (?, ?, ?, ?, ?) RETURNING *",
      )
      .get(project, source, channel, type, verified);
    if (!row) throw new Error("a stream could not be made");
    return row;
  }

  #keep(stream: Stream): void {
    if (this.#streams.size >= CACHED_STREAMS) {
      this.#streams.clear();
      this.#streamNums.clear();
    }
    this.#streams.set(stream.num, stream);
    this.#streamNums.set(streamKey(stream), stream.num);
  }
}

function streamKey({ project, source, channel, type, verified }: Omit<Stream, "num">): string {
  return `${project} ${channel} ${verified} ${source} ${type}`;
}
