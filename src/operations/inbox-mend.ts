import { z } from "zod";
import { holderOf } from "../identity/index.ts";
import { invalid, isProblem, Problem } from "../kernel/problems.ts";
import { EventOnly, listed } from "./event-answers.ts";
import { FilterFields, filterOf, idField, TimeField } from "./fields.ts";
import { operation } from "./operation.ts";

const EVENT_COLUMNS = ["id", "received_at", "source", "type", "status", "attempts"];

export const inboxRequeue = operation({
  name: "inbox_requeue",
  http: "POST /v1/events/:id/requeue",
  access: { scope: "inbox:requeue" },
  summary: "Bring a dead, done or failed event back to pending",
  input: z.strictObject({ id: idField("evt") }),
  output: EventOnly,
  cli: { command: "inbox requeue", args: ["id"], table: { rows: "event", columns: EVENT_COLUMNS } },
  async run(ctx, { id }) {
    const event = await ctx.services.inbox.requeue(ctx.project, id, holderOf(ctx.actor));
    return isProblem(event) ? event : { event: listed(event) };
  },
});

export const inboxRequeueMany = operation({
  name: "inbox_requeue_many",
  http: "POST /v1/inbox/requeue",
  access: { scope: "inbox:requeue" },
  summary: "Bring back every event that matches",
  description: "At least one filter besides the status. `done` in bulk takes a management key or a person.",
  input: z.strictObject({
    status: z.enum(["dead", "done", "failed"]),
    source: FilterFields.source,
    type: FilterFields.type,
    since: TimeField.optional().describe("Received at or after"),
    until: TimeField.optional().describe("Received before"),
    dry_run: z.boolean().default(false).describe("Only count"),
  }),
  output: z.object({ matched: z.int(), requeued: z.int(), dry_run: z.boolean() }),
  cli: { command: "inbox requeue" },
  async run(ctx, { status, source, type, since, until, dry_run }) {
    if (status === "done" && ctx.actor.kind === "key" && ctx.actor.key.kind !== "management") {
      return new Problem("NOT_ALLOWED", "requeueing done events in bulk takes a management key or a person");
    }
    if ([source, type, since, until].every((filter) => filter === undefined)) {
      return invalid("", "give at least one of source, type, since and until besides the status");
    }
    const matched = await ctx.services.inbox.requeueMany(
      {
        project: ctx.project,
        statuses: [status],
        ...filterOf({ source, type }),
        ...(since === undefined ? {} : { since }),
        ...(until === undefined ? {} : { until }),
      },
      holderOf(ctx.actor),
      dry_run,
    );
    return isProblem(matched) ? matched : { matched, requeued: dry_run ? 0 : matched, dry_run };
  },
});

export const inboxPurge = operation({
  name: "inbox_purge",
  http: "POST /v1/events/:id/purge",
  access: { scope: "inbox:requeue" },
  summary: "Delete an event's content for good",
  input: z.strictObject({ id: idField("evt") }),
  output: EventOnly,
  cli: { command: "inbox purge", args: ["id"], table: { rows: "event", columns: EVENT_COLUMNS } },
  async run(ctx, { id }) {
    const purged = await ctx.services.inbox.purge(ctx.project, id, holderOf(ctx.actor));
    if (isProblem(purged)) return purged;
    if (purged.blob !== null) await ctx.services.blobs.delete([purged.blob]);
    return { event: listed(purged.event) };
  },
});
