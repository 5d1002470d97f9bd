import { closeSync, linkSync, openSync, rmSync, writeSync } from "node:fs";
import { resolve } from "node:path";
import { sendText } from "./client.ts";
import { type Call, flag } from "./command.ts";
import { type Connection, connectionOf } from "./connection.ts";
import { CliError, EXIT } from "./exit.ts";
import { elementsOf, membersOf, onOneLine, sliceAt } from "./raw-json.ts";
import { absoluteTime } from "./relative-time.ts";

const FILTERS = ["source", "type", "status", "channel", "verified", "since", "until", "q"];

/** `postern inbox export`: every matching event whole, one a line, each token as the daemon answers it. */
export async function runExport(call: Call): Promise<number> {
  const connection = await connectionOf(call);
  const name = flag(call, "file");
  const sink = name === undefined ? { write: call.io.out, end: () => {}, drop: () => {} } : fileSink(call, name);
  let [count, apart] = [0, 0];
  try {
    for await (const event of wholeEvents(connection, filtersOf(call))) {
      sink.write(`${onOneLine(event)}\n`);
      count++;
      if (membersOf(event)?.get("payload_url") !== "null") apart++;
    }
    sink.end();
  } catch (error) {
    sink.drop();
    throw error;
  }
  if (name !== undefined) call.io.err(`${count} ${count === 1 ? "event" : "events"} written to ${name}.\n`);
  if (apart > 0)
    call.io.err(`Large bodies that are not in it: ${apart}. Fetch each by its \`payload_url\` within the hour.\n`);
  return EXIT.done;
}

function filtersOf(call: Call): URLSearchParams {
  const query = new URLSearchParams({ status: "all", routed: "all", limit: "100" });
  for (const name of FILTERS) {
    const value = flag(call, name);
    if (value !== undefined) query.set(name, absoluteTime(value, Date.now(), false));
  }
  return query;
}

async function* wholeEvents(c: Connection, query: URLSearchParams): AsyncGenerator<string> {
  for (let cursor: string | undefined = ""; cursor !== undefined; ) {
    if (cursor !== "") query.set("cursor", cursor);
    const page = membersOf(await sendText(c, "GET", "/v1/inbox", { query }));
    for (const event of elementsOf(page?.get("events") ?? "[]") ?? []) yield await whole(c, event);
    const next = page?.get("next_cursor") ?? "null";
    cursor = next === "null" ? undefined : (JSON.parse(next) as string);
  }
}

async function whole(c: Connection, event: string): Promise<string> {
  const members = membersOf(event);
  if (members?.get("payload_truncated") !== "true") return event;
  const id = JSON.parse(members.get("id") ?? '""') as string;
  return sliceAt(await sendText(c, "GET", `/v1/events/${id}`), "event") ?? event;
}

type Sink = { write: (text: string) => void; end: () => void; drop: () => void };

/** A file that is there whole or not at all, and never in place of another. */
function fileSink(call: Call, name: string): Sink {
  const path = resolve(call.io.cwd, name);
  const part = `${path}.part-${process.pid}`;
  const wrong = (error: unknown) => {
    if (!(error instanceof Error && "code" in error)) return error;
    const why =
      error.code === "EEXIST" ? "is there already: it stays as it is" : `cannot be written (${String(error.code)})`;
    return new CliError(EXIT.failed, `${name} ${why}`);
  };
  const attempt = <T>(act: () => T): T => {
    try {
      return act();
    } catch (error) {
      throw wrong(error);
    }
  };
  const file = attempt(() => openSync(part, "wx", 0o600));
  const drop = () => {
    closeSync(file);
    rmSync(part, { force: true });
  };
  return {
    write: (text) => void attempt(() => writeSync(file, text)),
    drop,
    end: () => {
      // A link, unlike a rename, fails where the name is taken.
      attempt(() => linkSync(part, path));
      drop();
    },
  };
}
