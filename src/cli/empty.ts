import type { Operation } from "../operations/index.ts";
import { sendText } from "./client.ts";
import type { Call } from "./command.ts";
import type { Connection } from "./connection.ts";
import { CliError } from "./exit.ts";
import { elementsOf, membersOf } from "./raw-json.ts";
import { cellOf } from "./table.ts";

const HINTS: Readonly<Record<string, string>> = {
  inbox_wait: "No event came. Wait longer with --timeout-seconds, or see `postern inbox watch`.",
  inbox_claim_next: "Nothing to claim. Wait for an event with --wait-seconds 60.",
  inbox_history: "Nothing has happened to it yet.",
  sources_list: "No sources. Make one:\n  postern sources create --name hello --kind unsigned",
  sources_rejections: "Nothing was refused.",
  keys_list: "No keys. Make one:\n  postern keys create --name worker --kind application --preset agent",
};

/** What to say where a list is empty, and what to do next. */
export async function emptyHint(op: Operation, call: Call, c: Connection): Promise<string> {
  if (op.name !== "inbox_list") return `${HINTS[op.name] ?? "There is nothing."}\n`;
  const filtered = [...call.flags.keys()].some((name) => op.input.shape[name.replaceAll("-", "_")] !== undefined);
  if (filtered) return "No events match. `postern inbox list --status all --routed all` shows every event.\n";
  return `No pending events. ${await howToSend(c)}\n`;
}

async function howToSend(c: Connection): Promise<string> {
  const sources = await sourcesOf(c);
  if (sources === undefined) return "Send one to a source's ingest URL.";
  const open = sources.find((row) => membersOf(row)?.get("kind") === '"unsigned"');
  if (open !== undefined) {
    const url = cellOf(membersOf(open)?.get("ingest_url"));
    return `Send one:\n  curl -H 'content-type: application/json' -d '{"hello":"world"}' ${url}`;
  }
  const first = sources[0];
  if (first !== undefined) {
    return `Send one:\n  postern trigger ${cellOf(membersOf(first)?.get("name"))} --secret -`;
  }
  return "Make a source, and send something to the URL it prints:\n  postern sources create --name hello --kind unsigned";
}

/** The sources, as far as the first page shows them; undefined where this credential may not see them. */
async function sourcesOf(c: Connection): Promise<string[] | undefined> {
  try {
    return elementsOf(membersOf(await sendText(c, "GET", "/v1/sources"))?.get("sources") ?? "[]");
  } catch (error) {
    if (error instanceof CliError) return undefined;
    throw error;
  }
}
