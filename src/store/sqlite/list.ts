import type { Id } from "../../kernel/ids.ts";
import type { ListQuery } from "../store.ts";
import type { EventRecord } from "../types.ts";
import type { Core } from "./core.ts";
import type { ReadyQueue } from "./ready.ts";
import { type EventRow, FLAG, S, statusNumbers } from "./rows.ts";
import type { Timeline } from "./timeline.ts";

/** A page looks at no more rows than this; with a rare match it may come back short, with a cursor to go on from. */
const ROWS_SEEN = 20_000;
const STEP = 512;

/** Reading many events. */
export class Listing {
  readonly #core: Core;
  readonly #ready: ReadyQueue;
  readonly #timeline: Timeline;

  constructor(core: Core, ready: ReadyQueue, timeline: Timeline) {
    this.#core = core;
    this.#ready = ready;
    this.#timeline = timeline;
  }

  list(query: ListQuery): { rows: EventRecord[]; next?: number } {
    const { rows, next } = this.rows(query);
    return { rows: rows.map((row) => this.#core.record(row)), ...(next === undefined ? {} : { next }) };
  }

  /** The narrow rows of a page, oldest first. */
  rows(query: ListQuery): { rows: EventRow[]; next?: number } {
    const project = this.#core.names.projectNum(query.project);
    if (project === undefined || query.statuses.length === 0) return { rows: [] };
    const matches = this.#matcher(project, query);
    if (!matches) return { rows: [] };
    const picky = query.source ?? query.type ?? query.text ?? query.verified ?? query.channel;
    const step = picky === undefined ? query.limit + 1 : STEP;
    const pages = this.#pages(project, query, step);
    const found: EventRow[] = [];
    let after = Math.max(query.afterSeq ?? 0, query.since === undefined ? 0 : this.#timeline.from(query.since) - 1);
    const end = query.until === undefined ? Number.MAX_SAFE_INTEGER : this.#timeline.until(query.until);
    for (let seen = 0; seen < ROWS_SEEN; ) {
      const page = pages(after, end);
      for (const row of page) {
        if (!matches(row)) continue;
        if (found.length === query.limit) return { rows: found, next: found.at(-1)?.seq ?? after };
        found.push(row);
      }
      const last = page.at(-1);
      if (!last || page.length < step) return { rows: found };
      after = last.seq;
      seen += page.length;
    }
    return { rows: found, next: after };
  }

  /** Reads the next rows of the wanted statuses, each from its own range of the index, merged by age. */
  #pages(project: number, query: ListQuery, step: number): (after: number, end: number) => EventRow[] {
    const never = query.routed === undefined ? undefined : query.routed ? S.ready : S.routed;
    const numbers = statusNumbers(query.statuses).filter((number) => number !== never);
    const one = "SELECT * FROM events WHERE project = ?1 + 0 AND status = % AND seq > ?2 + 0 AND seq < ?3 + 0";
    const sql = `${numbers.map((number) => one.replace("%", String(number))).join(" UNION ALL ")} ORDER BY seq LIMIT ?4 + 0`;
    const statement = this.#core.db.query<EventRow, [number, number, number, number]>(sql);
    return (after, end) => statement.all(project, after, end, step);
  }

  /** Undefined where nothing can match. */
  #matcher(project: number, query: ListQuery): ((row: EventRow) => boolean) | undefined {
    const { source, type, channel, verified, text } = query;
    const filter = {
      ...(source === undefined ? {} : { source }),
      ...(type === undefined ? {} : { type }),
      ...(channel === undefined ? {} : { channel }),
      ...(verified === undefined ? {} : { verified }),
    };
    const needle = text?.toLowerCase();
    const anyStream = Object.keys(filter).length === 0 && needle === undefined;
    const streams = anyStream ? undefined : this.#streamNums(project, filter, needle);
    if (streams?.size === 0) return undefined;
    const { routed, since = 0, until = Number.MAX_SAFE_INTEGER } = query;
    return (row) =>
      (streams === undefined || streams.has(row.stream)) &&
      (routed === undefined || routed === ((row.flags & FLAG.routed) !== 0)) &&
      row.received_at >= since &&
      row.received_at < until;
  }

  #streamNums(project: number, filter: Parameters<ReadyQueue["matching"]>[1], needle: string | undefined): Set<number> {
    const streams = this.#ready.matching(project, filter);
    const wanted =
      needle === undefined
        ? streams
        : streams.filter((s) => s.type.toLowerCase().includes(needle) || s.source.toLowerCase().includes(needle));
    return new Set(wanted.map((stream) => stream.num));
  }

  /** The changes of a project after a cursor, each with its event as it was then. Those of other projects are stepped over. */
  changes(project: Id<"prj">, cursor: number, limit: number): { cursor: number; event: EventRecord }[] {
    const num = this.#core.names.projectNum(project);
    if (num === undefined) return [];
    const rows = this.#core.db
      .query<EventRow & { cursor: number; then_status: number; then_attempts: number }, [number, number, number]>(
        `SELECT changes.cursor, changes.status AS then_status, changes.attempts AS then_attempts, events.*
         FROM changes CROSS JOIN events ON events.seq = changes.seq
         WHERE changes.cursor > ? + 0 AND changes.project = ? + 0 ORDER BY changes.cursor LIMIT ? + 0`,
      )
      .all(cursor, num, limit);
    return rows.map((row) => ({
      cursor: row.cursor,
      event: this.#core.record({ ...row, status: row.then_status, attempts: row.then_attempts }),
    }));
  }
}
