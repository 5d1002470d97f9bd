import { isConnectionError, send } from "./client.ts";
import { type Call, flag, isOn } from "./command.ts";
import { type Connection, connectionOf } from "./connection.ts";
import { CliError, EXIT, usageError } from "./exit.ts";
import { matcherFor } from "./glob-filter.ts";
import { membersOf, onOneLine } from "./raw-json.ts";
import { streamMessages } from "./sse.ts";
import { cellOf, lineOf, style } from "./table.ts";

const COLUMNS = ["received_at", "id", "source", "type", "verified", "status", "attempts"];
const HEADS = ["RECEIVED", "ID", "SOURCE", "TYPE", "VERIFIED", "STATUS", "ATTEMPTS"];
const WIDTHS = [20, 30, 14, 28, 8, 8, 8];
const LONGEST_PAUSE_MS = 10_000;

/** `postern inbox watch`: a line for each change; where the connection breaks it resumes after the last change seen. */
export async function runWatch(call: Call): Promise<number> {
  const connection = await connectionOf(call);
  const limit = countOf(flag(call, "count"));
  const print = printerFor(call);
  const matches = matcherFor(call);
  let last = flag(call, "last-event-id");
  let printed = 0;
  let connected = false;
  for (let failures = 0; ; failures++) {
    try {
      const stream = await open(connection, last);
      if (!connected && call.io.columns !== undefined) call.io.err("Waiting for events; Ctrl-C ends.\n");
      connected = true;
      failures = 0;
      for await (const message of streamMessages(stream)) {
        if (message.event === "reset") call.io.err("Some changes are no longer kept and were left out.\n");
        last = message.id ?? last;
        const event = message.event === "event" ? membersOf(message.data)?.get("event") : undefined;
        if (event === undefined || !matches(event)) continue;
        print(event, message.data);
        if (++printed >= limit) return EXIT.done;
      }
    } catch (error) {
      if (!connected || !isLost(error)) throw error;
    }
    if (failures === 0) call.io.err("The connection ended; connecting again.\n");
    await Bun.sleep(Math.min(LONGEST_PAUSE_MS, 250 * 2 ** failures));
  }
}

/** A daemon that went away may come back; a refusal stays one. */
function isLost(error: unknown): boolean {
  if (!(error instanceof CliError)) return isConnectionError(error);
  return ["DAEMON_UNREACHABLE", "SHUTTING_DOWN", "STORAGE_UNAVAILABLE"].includes(error.code);
}

async function open(connection: Connection, last: string | undefined): Promise<ReadableStream<Uint8Array>> {
  const headers = { accept: "text/event-stream", ...(last === undefined ? {} : { "last-event-id": last }) };
  const { body } = await send(connection, "GET", "/v1/stream", { headers });
  if (body) return body;
  throw new CliError(EXIT.failed, "the stream came without a body", { code: "NOT_POSTERN" });
}

function countOf(text: string | undefined): number {
  if (text === undefined) return Number.POSITIVE_INFINITY;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw usageError("--count: must be a whole number over 0");
  return Number(text);
}

function printerFor(call: Call): (event: string, data: string) => void {
  const { io } = call;
  if (isOn(call, "json") || isOn(call, "jsonl")) return (event) => io.out(`${onOneLine(event)}\n`);
  let headed = false;
  return (event) => {
    if (!headed) io.out(`${style(io, "1", lineOf(HEADS, WIDTHS))}\n`);
    headed = true;
    const members = membersOf(event);
    const cells = COLUMNS.map((name) => cellOf(members?.get(name)));
    const widths = WIDTHS.map((width, at) =>
      io.columns === undefined ? Math.max(width, Bun.stringWidth(cells[at] ?? "")) : width,
    );
    io.out(`${lineOf(cells, widths)}\n`);
  };
}
