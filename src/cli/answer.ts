import type { Operation } from "../operations/index.ts";
import { type Call, isOn } from "./command.ts";
import type { Connection } from "./connection.ts";
import { emptyHint } from "./empty.ts";
import { eventView, pairs } from "./event-view.ts";
import { EXIT } from "./exit.ts";
import { elementsOf, membersOf, onOneLine, sliceAt } from "./raw-json.ts";
import { cellOf, style, tableOf } from "./table.ts";

/** Prints an operation's answer in the form that was asked for and answers the exit code. */
export async function printAnswer(call: Call, op: Operation, text: string, c: Connection): Promise<number> {
  const { io } = call;
  const members = membersOf(text);
  const watched = op.cli.emptyWhen === undefined ? undefined : members?.get(op.cli.emptyWhen);
  const isEmpty = watched === "null" || (watched !== undefined && elementsOf(watched)?.length === 0);
  const partly = rowsOf(op, text)?.some((row) => membersOf(row)?.has("code")) && op.name === "inbox_settle";
  const code = isEmpty ? EXIT.empty : partly ? EXIT.failed : EXIT.done;
  if (isOn(call, "json")) {
    if (text !== "") io.out(`${text}\n`);
  } else if (isOn(call, "jsonl")) printLines(call, op, text);
  else if (text === "") io.out("done\n");
  else await printForPeople(call, op, text, c);
  return code;
}

function printLines({ io }: Call, op: Operation, text: string): void {
  const rows = rowsOf(op, text) ?? (text === "" ? [] : [text]);
  for (const row of rows) if (row !== "null") io.out(`${onOneLine(row)}\n`);
  noteMore(io.err, membersOf(text)?.get("next_cursor"));
}

/** The rows of an answer: the elements of its list, or its one resource; undefined where it is no list of any kind. */
function rowsOf(op: Operation, text: string): string[] | undefined {
  const member = op.cli.table?.rows;
  if (member === undefined) return undefined;
  const slice = membersOf(text)?.get(member) ?? "null";
  return elementsOf(slice) ?? (slice === "null" ? [] : [slice]);
}

async function printForPeople(call: Call, op: Operation, text: string, c: Connection): Promise<void> {
  const { io } = call;
  const members = membersOf(text) ?? new Map<string, string>();
  const rows = rowsOf(op, text);
  if (rows === undefined) {
    if (members.get("event")?.startsWith("{")) {
      io.out(eventView(io, text));
      return noteSettle(call, text);
    }
    return printResource(call, op, members);
  }
  if (rows.length === 0) return io.err(await emptyHint(op, call, c));
  io.out(tableOf(io, rows, op.cli.table?.columns ?? []));
  for (const [name, value] of members) {
    const plain = !value.startsWith("{") && !value.startsWith("[") && value !== "null";
    if (plain && name !== "next_cursor") io.out(`${name.replaceAll("_", " ")}: ${cellOf(value)}\n`);
  }
  if (op.name === "inbox_claim_next") noteSettle(call, rows[0] ?? "");
  noteMore(io.err, members.get("next_cursor"));
}

/** On a terminal: what ends a lease, ready to copy. */
function noteSettle({ io }: Call, claim: string): void {
  const [event, lease] = [sliceAt(claim, "event.id"), sliceAt(claim, "lease.id")];
  if (io.columns === undefined || event === undefined || lease === undefined) return;
  io.err(`\nNext: postern inbox ack ${cellOf(event)} --lease ${cellOf(lease)}\n`);
}

function noteMore(err: (text: string) => void, cursor: string | undefined): void {
  if (cursor !== undefined && cursor !== "null") err(`There is more: --cursor ${cellOf(cursor)}\n`);
}

/** A resource, member by member; a secret that is shown this once stands apart. */
function printResource({ io }: Call, op: Operation, members: ReadonlyMap<string, string>): void {
  const secret = op.creates?.secret ?? "secret";
  const shown = [...members].filter(([name]) => name !== secret || op.http.startsWith("GET"));
  const flat = shown.flatMap(([name, value]) => {
    const inner = membersOf(value);
    if (!inner || inner.size === 0) return [[name, value] as const];
    return [...inner].map(([part, slice]) => [`${name}.${part}`, slice] as const);
  });
  io.out(`${pairs(flat.map(([name, value]) => [name.replaceAll("_", " "), listed(value)]))}\n`);
  const value = members.get(secret);
  if (value === undefined || op.http.startsWith("GET")) return;
  io.out(`\n${secret}: ${style(io, "1", cellOf(value))}\n`);
  io.err(`Keep this ${secret} now: it is shown this once.\n`);
}

function listed(slice: string): string {
  const elements = elementsOf(slice);
  return elements ? elements.map(cellOf).join(", ") || "-" : cellOf(slice);
}
