import { z } from "zod";
import { Envelope } from "../inbox/index.ts";
import { rfc3339 } from "../kernel/clock.ts";
import { isProblem } from "../kernel/problems.ts";
import { EVENT_STATUSES, type EventRecord } from "../store/types.ts";
import { leaseAnswer, listed, whole } from "./event-answers.ts";
import {
  ChannelField,
  Cursor,
  callerOf,
  cursorOf,
  FilterFields,
  filterOf,
  idField,
  numberOf,
  PageFields,
  TimeField,
  timeOf,
} from "./fields.ts";
import { type Context, operation } from "./operation.ts";

const Details = z.record(
  z.string(),
  z.object({
    lease_expires_at: z.string().optional(),
    retry_at: z.string().optional(),
    routed: z.literal(true).optional(),
  }),
);

export const inboxList = operation({
  name: "inbox_list",
  http: "GET /v1/inbox",
  access: { scope: "inbox:read" },
  summary: "List events, oldest first",
  description:
    "Pending events that no route pushes, unless asked otherwise. With a rare match a page may be shorter than `limit` and still have a `next_cursor`.",
  input: z.strictObject({
    status: z.enum([...EVENT_STATUSES, "all"]).default("pending"),
    ...FilterFields,
    channel: ChannelField,
    routed: z
      .enum(["true", "false", "all"])
      .default("false")
      .describe("Events that a route pushes: only those, none, both"),
    since: TimeField.optional().describe("Received at or after"),
    until: TimeField.optional().describe("Received before"),
    q: z.string().min(1).max(200).optional().describe("A part of type or source, in any case"),
    ...PageFields,
  }),
  output: z.object({ events: z.array(Envelope), next_cursor: Cursor, details: Details }),
  cli: {
    command: "inbox list",
    table: { rows: "events", columns: ["id", "received_at", "source", "type", "verified", "status", "attempts"] },
  },
  async run(ctx, input) {
    const afterSeq = numberOf(input.cursor);
    if (isProblem(afterSeq)) return afterSeq;
    const { rows, next } = await ctx.services.inbox.list({
      project: ctx.project,
      ...filterOf(input),
      statuses: input.status === "all" ? EVENT_STATUSES : [input.status],
      limit: input.limit,
      ...(input.routed === "all" ? {} : { routed: input.routed === "true" }),
      ...(input.since === undefined ? {} : { since: input.since }),
      ...(input.until === undefined ? {} : { until: input.until }),
      ...(input.q === undefined ? {} : { text: input.q }),
      ...(afterSeq === undefined ? {} : { afterSeq }),
    });
    return { events: rows.map(listed), next_cursor: cursorOf(next), details: detailsOf(ctx, rows) };
  },
});

function detailsOf(ctx: Context, rows: readonly EventRecord[]): z.input<typeof Details> {
  const details = rows.map((event) => [
    event.id,
    {
      ...(event.dueAt === null
        ? {}
        : { [event.status === "claimed" ? "lease_expires_at" : "retry_at"]: timeOf(ctx, event.dueAt) }),
      ...(event.routed ? { routed: true as const } : {}),
    },
  ]);
  return Object.fromEntries(details.filter(([, detail]) => Object.keys(detail ?? {}).length > 0));
}

export const inboxWait = operation({
  name: "inbox_wait",
  http: "POST /v1/inbox/wait",
  access: { scope: "inbox:read" },
  summary: "Wait for the first event that can be claimed",
  description:
    'Answers at once where there is one, else when there is one, else `{"event": null}` after the timeout. Claims nothing.',
  input: z.strictObject({
    timeout_seconds: z.number().min(0).max(300).default(25),
    ...FilterFields,
    after: idField("evt").optional().describe("Only events after this one"),
  }),
  output: z.object({ event: Envelope.nullable() }),
  cli: {
    command: "inbox wait",
    emptyWhen: "event",
    table: { rows: "event", columns: ["id", "received_at", "source", "type", "verified", "status", "attempts"] },
  },
  waits: true,
  async run(ctx, input) {
    const event = await ctx.services.inbox.wait(callerOf(ctx), filterOf(input), {
      timeoutMs: input.timeout_seconds * 1000,
      after: input.after,
    });
    return isProblem(event) ? event : { event: event ? listed(event) : null };
  },
});

const HistoryEntry = z.looseObject({ at: z.string(), kind: z.string() });

export const inboxGet = operation({
  name: "inbox_get",
  http: "GET /v1/events/:id",
  access: { scope: "inbox:read" },
  summary: "Get one event whole, with its lease, history and deliveries",
  input: z.strictObject({ id: idField("evt") }),
  output: z.object({
    event: Envelope,
    lease: z.object({ id: z.string(), expires_at: z.string(), held_by: z.string() }).nullable(),
    retry_at: z.string().nullable(),
    history: z.array(HistoryEntry),
    deliveries: z.array(z.unknown()),
  }),
  cli: { command: "inbox show", args: ["id"] },
  async run(ctx, { id }) {
    const event = await ctx.services.inbox.get(ctx.project, id);
    if (isProblem(event)) return event;
    const lease = await ctx.services.inbox.lease(event);
    return {
      event: whole(ctx, event),
      lease: lease ? { ...leaseAnswer(ctx, lease), held_by: lease.holder } : null,
      retry_at: event.dueAt !== null && event.status !== "claimed" ? timeOf(ctx, event.dueAt) : null,
      history: await historyAnswer(ctx, event),
      deliveries: [],
    };
  },
});

async function historyAnswer(ctx: Context, event: EventRecord): Promise<z.input<typeof HistoryEntry>[]> {
  const entries = await ctx.services.inbox.history(event);
  return entries.map(({ at, ...entry }) => ({ at: rfc3339(at), ...entry }));
}

export const inboxHistory = operation({
  name: "inbox_history",
  http: "GET /v1/events/:id/history",
  access: { scope: "inbox:read" },
  summary: "What happened to one event, oldest first",
  input: z.strictObject({ id: idField("evt") }),
  output: z.object({ history: z.array(HistoryEntry) }),
  cli: {
    command: "inbox history",
    args: ["id"],
    table: { rows: "history", columns: ["at", "kind", "status", "by", "lease"] },
  },
  async run(ctx, { id }) {
    const event = await ctx.services.inbox.get(ctx.project, id);
    return isProblem(event) ? event : { history: await historyAnswer(ctx, event) };
  },
});
