import { randomBytes } from "node:crypto";
import { didYouMean } from "../kernel/suggest.ts";
import { providerFor, SOURCE_KINDS } from "../webhook/index.ts";
import { reach, refusal, sendText } from "./client.ts";
import { type Call, flag, isOn } from "./command.ts";
import { connectionOf } from "./connection.ts";
import { CliError, EXIT, usageError } from "./exit.ts";
import { readGiven } from "./op-input.ts";
import { membersOf } from "./raw-json.ts";
import { byName } from "./resolve-name.ts";
import { signedHeaders } from "./sign.ts";
import { cellOf } from "./table.ts";

type Target = { url: string; kind: string; settings: unknown; socket: string | undefined };

/** `postern trigger SOURCE`: sends a sample, signed where the source verifies. */
export async function runTrigger(call: Call): Promise<number> {
  const target = await targetOf(call, call.args[0] ?? "");
  const provider = providerFor(target.kind);
  if (!provider)
    throw usageError(`--kind: must be one of ${SOURCE_KINDS.join(", ")}.${didYouMean(target.kind, SOURCE_KINDS)}`);
  const id = `msg_${randomBytes(12).toString("hex")}`;
  const given = flag(call, "body");
  const type = flag(call, "type");
  const body =
    given === undefined
      ? sampleOf(target.kind, type, id)
      : given === "-"
        ? await call.io.input()
        : readGiven(call, given);
  const headers = {
    "content-type": flag(call, "content-type") ?? "application/json",
    "user-agent": "postern-trigger",
    ...(target.kind === "github"
      ? { "x-github-event": type?.split(".")[0] ?? "ping", "x-github-delivery": crypto.randomUUID() }
      : {}),
    ...(await signature(call, provider, target, body, id)),
  };
  const { base, path } = splitUrl(target.url);
  const response = await reach({ base, socket: target.socket, key: undefined, project: undefined }, "POST", path, {
    body,
    headers,
  });
  const text = await response.text();
  if (!response.ok) throw refusal(response.status, text);
  if (isOn(call, "json") || isOn(call, "jsonl")) call.io.out(`${text}\n`);
  else {
    const members = membersOf(text);
    const event = cellOf(members?.get("id"));
    const note = members?.get("duplicate") === "true" ? " (a duplicate: nothing new was made)" : "";
    call.io.out(`${event}${note}\n`);
    call.io.err(`Next: postern inbox show ${event}\n`);
  }
  return EXIT.done;
}

async function signature(
  call: Call,
  provider: NonNullable<ReturnType<typeof providerFor>>,
  target: Target,
  body: string,
  id: string,
) {
  if (provider.scheme === null) return {};
  const given = flag(call, "secret");
  const secret = given === "-" ? (await call.io.input()).replace(/\r?\n$/, "") : given;
  if (!secret)
    throw usageError(
      `a source of kind ${target.kind} verifies: give its secret with --secret, or --secret - to read it`,
    );
  const headers = signedHeaders(provider, target.settings, { secret, body, id, now: Date.now() });
  if (headers) return headers;
  throw new CliError(EXIT.failed, `signatures of kind ${target.kind} cannot be made here`);
}

async function targetOf(call: Call, word: string): Promise<Target> {
  const kind = flag(call, "kind");
  if (/^https?:\/\//i.test(word))
    return { url: word, kind: kind ?? "unsigned", settings: undefined, socket: undefined };
  const connection = await connectionOf(call);
  const row = word.startsWith("src_")
    ? await sendText(connection, "GET", `/v1/sources/${encodeURIComponent(word)}`)
    : (await byName(connection, "sources", word))[0];
  const members = membersOf(row ?? "{}");
  const url = members?.get("ingest_url");
  if (url === undefined) throw usageError(`there is no source named ${word} in this project`, "postern sources list");
  return {
    url: JSON.parse(url) as string,
    kind: kind ?? (JSON.parse(members?.get("kind") ?? '"unsigned"') as string),
    settings: JSON.parse(members?.get("settings") ?? "{}") as unknown,
    socket: connection.socket,
  };
}

function splitUrl(url: string): { base: string; path: string } {
  if (!URL.canParse(url)) throw usageError(`${url} is no URL`);
  const { origin, pathname, search } = new URL(url);
  return { base: origin, path: `${pathname}${search}` };
}

/** A body as the kind's provider might send it. */
function sampleOf(kind: string, type: string | undefined, id: string): string {
  const created = Math.floor(Date.now() / 1000);
  if (kind === "stripe") {
    return JSON.stringify({
      id: `evt_${id.slice(4)}`,
      object: "event",
      type: type ?? "payment_intent.succeeded",
      created,
      livemode: false,
      data: { object: {} },
    });
  }
  if (kind === "github") {
    const action = type?.split(".")[1];
    return JSON.stringify({
      ...(action === undefined ? {} : { action }),
      zen: "A sample sent by postern trigger",
      hook_id: 1,
    });
  }
  return JSON.stringify({ id, type: type ?? "sample.event", created, data: { hello: "world" } });
}
