import { createHmac, timingSafeEqual } from "node:crypto";
import { EVENT, githubBody } from "../load/github-event.ts";

/** An event as a library's queue keeps it. */
export type Job = { type: string; delivery: string; payload: unknown };

/** What a front needs of a queue. */
export type JobQueue = {
  /** Adds one event; resolves once it is durable. */
  add(job: Job): Promise<void>;
  /** Adds many at once, to prepare a run. */
  addMany(jobs: readonly Job[]): Promise<void>;
  /** Takes up to `max` of the oldest events. */
  claim(max: number): Promise<{ id: unknown; data: unknown }[]>;
  ack(ids: readonly unknown[]): Promise<void>;
};

/** The command line of a front: where to listen, the sender's secret, and where its store is. */
export function frontArguments(): { port: number; secret: string; where: string } {
  const [port = "0", secret = "", where = ""] = process.argv.slice(2);
  return { port: Number(port), secret, where };
}

const FILL_STEP = 500;

/**
 * The HTTP front that every library stands behind: it reads the body, checks its signature over the raw bytes and
 * parses it, as Postern does, and hands it on. It knows no keys, no duplicates and no sources, which is less than Postern does.
 */
export function serveFront(queue: JobQueue, { port, secret }: { port: number; secret: string }): void {
  Bun.serve({
    hostname: "127.0.0.1",
    port,
    routes: {
      "/in/:token": { POST: (request) => ingest(queue, secret, request) },
      "/claim": {
        POST: async (request) => {
          const { max } = (await request.json()) as { max: number };
          return Response.json({ claims: await queue.claim(max) });
        },
      },
      "/ack": {
        POST: async (request) => {
          const { ids } = (await request.json()) as { ids: unknown[] };
          await queue.ack(ids);
          return Response.json({ acked: ids.length });
        },
      },
      "/fill": {
        POST: async (request) => {
          const { count } = (await request.json()) as { count: number };
          await fill(queue, count);
          return Response.json({ count });
        },
      },
    },
  });
}

async function ingest(queue: JobQueue, secret: string, request: Request): Promise<Response> {
  const { headers } = request;
  const body = new Uint8Array(await request.arrayBuffer());
  const given = Buffer.from(headers.get("x-hub-signature-256") ?? "");
  const wanted = Buffer.from(`sha256=${createHmac("sha256", secret).update(body).digest("hex")}`);
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return new Response(null, { status: 401 });
  const payload = JSON.parse(new TextDecoder().decode(body));
  const event = headers.get("x-github-event") ?? "";
  const type = typeof payload.action === "string" ? `${event}.${payload.action}` : event;
  const delivery = headers.get("x-github-delivery") ?? "";
  await queue.add({ type, delivery, payload });
  return Response.json({ id: delivery, duplicate: false });
}

async function fill(queue: JobQueue, count: number): Promise<void> {
  for (let made = 0; made < count; made += FILL_STEP) {
    const jobs = Array.from({ length: Math.min(FILL_STEP, count - made) }, (_, index) => ({
      type: `${EVENT}.opened`,
      delivery: crypto.randomUUID(),
      payload: JSON.parse(githubBody(made + index)) as unknown,
    }));
    await queue.addMany(jobs);
  }
}
