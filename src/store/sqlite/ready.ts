import { glob } from "../../kernel/glob.ts";
import type { Id } from "../../kernel/ids.ts";
import type { EventFilter } from "../types.ts";
import type { Core } from "./core.ts";
import type { StreamMap } from "./ready-streams.ts";
import { channelNumber, type EventRow, S, type Stream } from "./rows.ts";

/** Up to so many streams are asked one by one; where more match, the queue is walked from its head first. */
const FEW = 64;

/** How many rows a walk reads at a time, and how many it may read for each stream that it need not ask then. */
const STEP = 128;
const ROWS_PER_STREAM = 8;

/**
 * The oldest events that can be claimed. Unfiltered it reads one index from its head. Filtered it asks the partial index
 * of each stream that may have some and matches, and merges. Where very many match (senders choose types), it first looks
 * for matches at the head of the whole queue, for as long as that is cheaper than asking every stream: the cost follows
 * what is answered, and neither the backlog nor the number of types alone.
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
    const ready = this.#core.readyStreams.of(num);
    const wanted = new Map<number, Stream>();
    const matches = streamMatcher(filter);
    for (const [stream, what] of ready) if (matches(what)) wanted.set(stream, what);
    const found = wanted.size > FEW ? this.#walk(num, ready, wanted, max, afterSeq) : undefined;
    return found ?? this.#ask(ready, wanted, max, afterSeq);
  }

  /** The streams of a project that answer a filter. */
  matching(project: number, filter: EventFilter): Stream[] {
    return this.#streams.all(project).filter(streamMatcher(filter));
  }

  /** Undefined where it found too few within its bound, and did not come to the end. */
  #walk(project: number, ready: StreamMap, wanted: StreamMap, max: number, afterSeq: number): EventRow[] | undefined {
    const found: EventRow[] = [];
    const seen = new Set<number>();
    let after = afterSeq;
    for (let left = wanted.size * ROWS_PER_STREAM; left > 0; left -= STEP) {
      const rows = this.#all.all(project, after, STEP);
      for (const row of rows) {
        if (!wanted.has(row.stream)) continue;
        seen.add(row.stream);
        if (found.push(row) === max) {
          this.#check(ready, wanted);
          return found;
        }
      }
      if (rows.length < STEP) {
        if (afterSeq === 0) for (const stream of wanted.keys()) if (!seen.has(stream)) ready.delete(stream);
        return found;
      }
      after = rows.at(-1)?.seq ?? after;
    }
    return undefined;
  }

  /** Looks at a few streams on the way, so that those which have run empty do not gather for ever. */
  #check(ready: StreamMap, wanted: StreamMap): void {
    for (const [stream, what] of wanted.entries().take(FEW / 2)) {
      ready.delete(stream);
      // Put back, it comes last: the next look takes others.
      if (this.#ofStream.get(stream, 0, 1)) ready.set(stream, what);
    }
  }

  #ask(ready: StreamMap, wanted: StreamMap, max: number, afterSeq: number): EventRow[] {
    const found: EventRow[] = [];
    for (const stream of wanted.keys()) {
      const rows = this.#ofStream.all(stream, afterSeq, max);
      if (rows.length === 0 && afterSeq === 0) ready.delete(stream);
      found.push(...rows);
    }
    return found.sort((a, b) => a.seq - b.seq).slice(0, max);
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
