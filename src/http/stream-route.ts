import { type Actor, holderOf } from "../identity/index.ts";
import { envelope, type StreamedChange } from "../inbox/index.ts";
import type { Id } from "../kernel/ids.ts";
import { encodeJson } from "../kernel/json.ts";
import { invalid, isProblem, type Problem } from "../kernel/problems.ts";
import type { Services } from "../operations/index.ts";
import { authenticate, projectFor, refusedAccess } from "./authenticate.ts";
import type { Exchange } from "./exchange.ts";
import { queryOf } from "./target.ts";

/** A silent stream says so this often, so that proxies and clients know it lives. */
const BEAT_MS = 15_000;

/**
 * `GET /v1/stream`: server-sent events, one a change (`id:` a cursor, `event: event`). It begins with what comes, or
 * after `Last-Event-ID`; where that is older than what is kept, `event: reset` comes first and the stream begins at the oldest kept.
 */
export async function streamRoute(
  services: Services,
  request: Request,
  exchange: Exchange,
): Promise<Response | Problem> {
  const authorization = request.headers.get("authorization");
  const actor = authenticate(services, { door: exchange.door, authorization });
  if (isProblem(actor)) return actor;
  const refused = refusedAccess(actor, { scope: "inbox:read" });
  if (refused) return refused;
  const start = await startOf(services, request);
  if (isProblem(start)) return start;
  const project = projectFor(services, actor, queryOf(request.url).get("project"));
  if (isProblem(project)) return project;
  const headers = { "content-type": "text/event-stream", "cache-control": "no-store", "x-accel-buffering": "no" };
  // Nobody would read or cancel a body here, and it has no end of its own.
  if (request.method === "HEAD") return new Response(null, { headers });
  exchange.server.timeout(request, 0);
  return new Response(streamBody(services, { actor, project }, start, request.signal), { headers });
}

async function startOf(services: Services, request: Request): Promise<{ after: number; reset: boolean } | Problem> {
  const last = request.headers.get("last-event-id") ?? queryOf(request.url).get("last_event_id");
  const { oldest, newest } = await services.store.events.changeCursors();
  if (last === null || last === "") return { after: newest, reset: false };
  if (!/^\d{1,15}$/.test(last)) return invalid("Last-Event-ID", "must be the `id:` of a change of this stream");
  const after = Math.min(Number(last), newest);
  return after < oldest ? { after: oldest, reset: true } : { after, reset: false };
}

function streamBody(
  services: Services,
  who: { actor: Actor; project: Id<"prj"> },
  start: { after: number; reset: boolean },
  signal: AbortSignal,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const end = new AbortController();
  const stop = () => end.abort();
  signal.addEventListener("abort", stop);
  const leave = services.inbox.attend(holderOf(who.actor), stop);
  const changes = services.inbox.changes(who.project, start.after, end.signal);
  let beat: ReturnType<typeof setInterval>;
  const finish = () => {
    stop();
    clearInterval(beat);
    leave();
    signal.removeEventListener("abort", stop);
  };
  return new ReadableStream({
    start(controller) {
      const open = start.reset ? "event: reset\ndata: {}\n\n" : "";
      // An id without data is no event, but tells the client where to resume from if nothing comes before a break.
      controller.enqueue(encoder.encode(`: postern\nid: ${start.after}\n\n${open}`));
      beat = setInterval(() => controller.enqueue(encoder.encode(": beat\n\n")), BEAT_MS);
      beat.unref();
    },
    async pull(controller) {
      const { done, value } = await changes.next();
      if (!done) return controller.enqueue(encoder.encode(eventText(value)));
      finish();
      controller.close();
    },
    async cancel() {
      finish();
      await changes.return(undefined);
    },
  });
}

/** A payload may hold CR or LF between its tokens, which would end the line: as JSON white space they may be spaces. */
function eventText({ cursor, event }: StreamedChange): string {
  const data = encodeJson({ event: envelope(event, { form: "listed" }) }).replaceAll(/[\r\n]/g, " ");
  return `id: ${cursor}\nevent: event\ndata: ${data}\n\n`;
}
