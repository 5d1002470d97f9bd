import { glob } from "../../kernel/glob.ts";
import type { Id } from "../../kernel/ids.ts";
import type { EventFilter } from "../types.ts";
import type { Core } from "./core.ts";
import { channelNumber, type EventRow, S, type Stream } from "./rows.ts";

/**
 * The oldest events that can be claimed. Unfiltered it walks one index from its head; filtered it asks each matching
 * stream's own partial index and merges: the cost follows the number of streams and what is answered, not the backlog.
 */
export class ReadyQueue {
  readonly #core: Core;
  readonly #all;
  readonly #ofStream;
  readonly #streams;

  constructor(core: Core) {
    this.#core = core;
    const { db } = core;
    this.#all = db.prepare<EventRow, [number, number, number]>(
      `SELECT * FROM events WHERE project = ? + 0 AND status = ${S.ready} AND seq > ? + 0 ORDER BY seq LIMIT ? + 0`,
    );
    this.#ofStream = db.prepare<EventRow, [number, number, number]>(
      `SELECT * FROM events WHERE stream = ? + 0 AND status = ${S.ready} AND seq > ? + 0 ORDER BY seq LIMIT ? + 0`,
    );
    this.#streams = db.prepare<Stream, [number]>("SELECT * FROM streams WHERE project = ?");
  }

  /** Up to `max` rows, oldest first, after `afterSeq`. */
  first(project: Id<"prj">, filter: EventFilter, max: number, afterSeq = 0): EventRow[] {
    const num = this.#core.names.projectNum(project);
    if (num === undefined) return [];
    if (Object.values(filter).every((wanted) => wanted === undefined)) return this.#all.all(num, afterSeq, max);
    const rows = this.matching(num, filter).flatMap((stream) => this.#ofStream.all(stream.num, afterSeq, max));
    return rows.sort((a, b) => a.seq - b.seq).slice(0, max);
  }

  /** The streams of a project that answer a filter. */
  matching(project: number, filter: EventFilter): Stream[] {
    return this.#streams.all(project).filter(streamMatcher(filter));
  }
}

function streamMatcher(filter: EventFilter): (stream: Stream) => boolean {
  const source = filter.source === undefined ? undefined : glob(filter.source);
  const type = filter.type === undefined ? undefined : glob(filter.type);
  const channel = filter.channel === undefined ? undefined : channelNumber(filter.channel);
  const verified = filter.verified === undefined ? undefined : Number(filter.verified);
  return (stream) =>
    (source === undefined || source(stream.source)) &&
    (type === undefined || type(stream.type)) &&
    (channel === undefined || channel === stream.channel) &&
    (verified === undefined || verified === stream.verified);
}
