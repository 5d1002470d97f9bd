import type { Database } from "bun:sqlite";
import type { Names } from "./names.ts";
import { S, type Stream } from "./rows.ts";

/** Streams by their number. */
export type StreamMap = Map<number, Stream>;

/**
 * Which streams may have an event that can be claimed: never too few, perhaps too many. Whoever makes an event ready adds
 * its stream; whoever looks and finds nothing takes it out again. So a filter is asked of what is waiting, and not of
 * every type there ever was, which senders choose.
 */
export class ReadyStreams {
  readonly #names: Names;
  readonly #after;
  /** By project; undefined until first asked for, and after a rollback, which may have brought an event back. */
  #known: Map<number, StreamMap> | undefined;

  constructor(db: Database, names: Names) {
    this.#names = names;
    this.#after = db.prepare<{ stream: number }, [number]>(
      `SELECT stream FROM events WHERE status = ${S.ready} AND stream > ? + 0 ORDER BY stream LIMIT 1`,
    );
  }

  /** Notes that an event of the stream can be claimed. */
  add(stream: Stream): void {
    if (this.#known) mapOf(this.#known, stream.project).set(stream.num, stream);
  }

  /** The streams of a project; the caller takes out what it finds empty. */
  of(project: number): StreamMap {
    this.#known ??= this.#read();
    return mapOf(this.#known, project);
  }

  forget(): void {
    this.#known = undefined;
  }

  /** Steps from stream to stream over the index, so that a long backlog of one costs no more than one event. */
  #read(): Map<number, StreamMap> {
    const known = new Map<number, StreamMap>();
    for (let row = this.#after.get(0); row; row = this.#after.get(row.stream)) {
      const stream = this.#names.stream(row.stream);
      mapOf(known, stream.project).set(stream.num, stream);
    }
    return known;
  }
}

function mapOf(known: Map<number, StreamMap>, project: number): StreamMap {
  const map = known.get(project) ?? new Map<number, Stream>();
  known.set(project, map);
  return map;
}
