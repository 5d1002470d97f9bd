import type { Io } from "./io.ts";
import { fit, printable } from "./printable.ts";
import { onOneLine, sliceAt } from "./raw-json.ts";

const GAP = "  ";
const LEAST = 8;

/**
 * A table of JSON rows, a column for each dotted path. On a terminal it is cut to the width and times stand as
 * distances from now; elsewhere all is whole.
 */
export function tableOf(
  io: Pick<Io, "columns" | "colour">,
  rows: readonly string[],
  columns: readonly string[],
): string {
  const heads = columns.map(headOf);
  const cells = rows.map((row) => columns.map((path) => cellFor(io, cellOf(sliceAt(row, path)))));
  const widths = heads.map((head, at) =>
    Math.max(Bun.stringWidth(head), ...cells.map((line) => Bun.stringWidth(line[at] ?? ""))),
  );
  if (io.columns !== undefined) shrink(widths, columns, io.columns);
  const head = style(io, "1", lineOf(heads, widths));
  const lines = cells.map((line) => lineOf(line, widths, (text) => coloured(io, text)));
  return `${[head, ...lines].join("\n")}\n`;
}

/** `lease.id` → `LEASE`, `project.slug` → `PROJECT`, `event.received_at` → `RECEIVED AT`. */
function headOf(path: string): string {
  const steps = path.split(".");
  const last = steps.at(-1) ?? "";
  const name = steps.length > 1 && (last === "id" || last === "slug") ? (steps.at(-2) ?? "") : last;
  return name.replaceAll("_", " ").toUpperCase();
}

/** A JSON value as one cell of a table. */
export function cellOf(slice: string | undefined): string {
  if (slice === undefined || slice === "null") return "-";
  if (slice === "true") return "yes";
  if (slice === "false") return "no";
  if (!slice.startsWith('"')) return printable(onOneLine(slice));
  const text = JSON.parse(slice) as string;
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text) ? `${text.slice(0, 19)}Z` : printable(text);
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

function cellFor(io: Pick<Io, "columns">, cell: string): string {
  return io.columns !== undefined && TIME.test(cell) ? distance(Date.parse(cell) - Date.now()) : cell;
}

/** `3m ago`, `in 2h`: the largest unit that fits, cut down. */
export function distance(ms: number): string {
  const seconds = Math.floor(Math.abs(ms) / 1000);
  const [unit, size] =
    seconds < 60 ? ["s", 1] : seconds < 3600 ? ["m", 60] : seconds < 86_400 ? ["h", 3600] : ["d", 86_400];
  const text = `${Math.floor(seconds / Number(size))}${unit}`;
  return ms > 0 ? `in ${text}` : `${text} ago`;
}

/** Takes from the widest first. Ids stay whole: they are there to be copied. */
function shrink(widths: number[], columns: readonly string[], terminal: number): void {
  const isId = (at: number) => /(?:^|\.)id$/.test(columns[at] ?? "");
  for (;;) {
    const total = widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1));
    if (total <= terminal) return;
    let widest = -1;
    for (const [at, width] of widths.entries()) {
      if (!isId(at) && width > LEAST && width > (widths[widest] ?? 0)) widest = at;
    }
    if (widest < 0) return;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
}

/** One line of cells in columns of fixed widths. */
export function lineOf(cells: readonly string[], widths: readonly number[], paint = (text: string) => text): string {
  return cells
    .map((cell, at) => {
      const text = fit(cell, widths[at] ?? 0);
      const pad = at === cells.length - 1 ? 0 : (widths[at] ?? 0) - Bun.stringWidth(text);
      return paint(text) + " ".repeat(Math.max(0, pad));
    })
    .join(GAP)
    .trimEnd();
}

const COLOURS: Readonly<Record<string, string>> = {
  pending: "33",
  claimed: "36",
  done: "32",
  failed: "31",
  dead: "31",
  active: "32",
  paused: "33",
  frozen: "33",
  contained: "31",
  revoked: "31",
  expired: "31",
};

function coloured(io: Pick<Io, "colour">, text: string): string {
  const colour = Object.hasOwn(COLOURS, text) ? COLOURS[text] : undefined;
  return colour === undefined ? text : style(io, colour, text);
}

/** Text in an ANSI style, where the terminal takes it. */
export function style(io: Pick<Io, "colour">, sgr: string, text: string): string {
  return io.colour ? `\u001b[${sgr}m${text}\u001b[0m` : text;
}
