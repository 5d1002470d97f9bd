import { z } from "zod";
import { parseId } from "../kernel/ids.ts";
import { isProblem } from "../kernel/problems.ts";
import { EVENT_STATUSES } from "../store/types.ts";
import { ClaimAnswer, claimAnswer, leaseAnswer, listed, SettledAnswer, settledAnswer } from "./event-answers.ts";
import { callerOf, FilterFields, filterOf, idField, LeaseField, LeaseSeconds } from "./fields.ts";
import { operation } from "./operation.ts";

const EVENT_COLUMNS = ["id", "received_at", "source", "type", "verified", "status", "attempts"];

export const inboxClaim = operation({
  name: "inbox_claim",
  http: "POST /v1/events/:id/claim",
  access: { scope: "inbox:write" },
  summary: "Take an exclusive lease on one event",
  input: z.strictObject({ id: idField("evt"), lease_seconds: LeaseSeconds }),
  output: ClaimAnswer,
  cli: { command: "inbox claim", args: ["id"] },
  async run(ctx, input) {
    const claim = await ctx.services.inbox.claim(callerOf(ctx), input.id, input.lease_seconds * 1000);
    return isProblem(claim) ? claim : claimAnswer(ctx, claim);
  },
});

export const inboxClaimNext = operation({
  name: "inbox_claim_next",
  http: "POST /v1/inbox/claim",
  access: { scope: "inbox:write" },
  summary: "Claim the next event, or several, waiting for one if asked",
  description:
    "The loop for workers: the oldest events that can be claimed, atomically. An empty list where there was none.",
  input: z.strictObject({
    ...FilterFields,
    max: z.int().min(1).max(100).default(1).describe("At most so many"),
    lease_seconds: LeaseSeconds,
    wait_seconds: z.number().min(0).max(300).default(0).describe("How long to wait where there is none"),
  }),
  output: z.object({ claims: z.array(ClaimAnswer) }),
  cli: {
    command: "inbox claim",
    emptyWhen: "claims",
    table: {
      rows: "claims",
      columns: ["event.id", "event.received_at", "event.source", "event.type", "lease.id", "lease.expires_at"],
    },
  },
  waits: true,
  async run(ctx, input) {
    const claims = await ctx.services.inbox.claimNext(callerOf(ctx), filterOf(input), {
      max: input.max,
      leaseMs: input.lease_seconds * 1000,
      waitMs: input.wait_seconds * 1000,
    });
    return isProblem(claims) ? claims : { claims: claims.map((claim) => claimAnswer(ctx, claim)) };
  },
});

export const inboxExtend = operation({
  name: "inbox_extend",
  http: "POST /v1/events/:id/extend",
  access: { scope: "inbox:write" },
  summary: "Prolong a lease: that long from now, at most 12 hours from the claim",
  input: z.strictObject({
    id: idField("evt"),
    lease_seconds: z.int().min(30).max(3600).describe("How long from now, in seconds"),
    lease: LeaseField.optional(),
  }),
  output: ClaimAnswer,
  cli: { command: "inbox extend", args: ["id"] },
  async run(ctx, input) {
    const claim = await ctx.services.inbox.extend(callerOf(ctx), input.id, input.lease, input.lease_seconds * 1000);
    return isProblem(claim) ? claim : { event: listed(claim.event), lease: leaseAnswer(ctx, claim.lease) };
  },
});

const ResultField = z.json().optional().describe("What came of it: any JSON up to 4,096 bytes, kept in the history");
const ReasonField = z.string().max(1000).optional().describe("Why, for the history");
const DelayField = z.int().min(0).max(3600).optional().describe("Not due before so many seconds");
const RetryField = z.boolean().optional().describe("false: do not try again, it is dead");

export const inboxAck = operation({
  name: "inbox_ack",
  http: "POST /v1/events/:id/ack",
  access: { scope: "inbox:write" },
  summary: "Settle an event: done",
  input: z.strictObject({ id: idField("evt"), result: ResultField, lease: LeaseField.optional() }),
  output: z.object({ event: SettledAnswer.shape.event }),
  cli: { command: "inbox ack", args: ["id"], table: { rows: "event", columns: EVENT_COLUMNS } },
  async run(ctx, { id, result, lease }) {
    const settled = await ctx.services.inbox.settle(callerOf(ctx), id, lease, { action: "ack", result });
    return isProblem(settled) ? settled : { event: listed(settled.event) };
  },
});

export const inboxNack = operation({
  name: "inbox_nack",
  http: "POST /v1/events/:id/nack",
  access: { scope: "inbox:write" },
  summary: "Settle an event: failed, to be tried again after a while",
  description: "Again after 30 s, 1, 2, 4 minutes; the fifth failure makes it dead.",
  input: z.strictObject({ id: idField("evt"), retry: RetryField, reason: ReasonField, lease: LeaseField.optional() }),
  output: SettledAnswer,
  cli: { command: "inbox nack", args: ["id"], table: { rows: "event", columns: EVENT_COLUMNS } },
  async run(ctx, { id, retry, reason, lease }) {
    const settled = await ctx.services.inbox.settle(callerOf(ctx), id, lease, { action: "nack", retry, reason });
    return isProblem(settled) ? settled : settledAnswer(ctx, settled);
  },
});

export const inboxRelease = operation({
  name: "inbox_release",
  http: "POST /v1/events/:id/release",
  access: { scope: "inbox:write" },
  summary: "Give an event back without counting an attempt",
  description: "For what is not yours, a rate limit or a shutdown; at most 20 times since arrival or requeue.",
  input: z.strictObject({ id: idField("evt"), delay_seconds: DelayField, lease: LeaseField.optional() }),
  output: SettledAnswer,
  cli: { command: "inbox release", args: ["id"], table: { rows: "event", columns: EVENT_COLUMNS } },
  async run(ctx, { id, delay_seconds, lease }) {
    const settled = await ctx.services.inbox.settle(callerOf(ctx), id, lease, { action: "release", delay_seconds });
    return isProblem(settled) ? settled : settledAnswer(ctx, settled);
  },
});

const ItemFields = { id: z.string().max(64), lease: LeaseField.optional() };
const SettleItem = z.discriminatedUnion("action", [
  z.strictObject({ ...ItemFields, action: z.literal("ack"), result: ResultField }),
  z.strictObject({ ...ItemFields, action: z.literal("nack"), retry: RetryField, reason: ReasonField }),
  z.strictObject({ ...ItemFields, action: z.literal("release"), delay_seconds: DelayField }),
]);

export const inboxSettle = operation({
  name: "inbox_settle",
  http: "POST /v1/inbox/settle",
  access: { scope: "inbox:write" },
  summary: "Settle up to 100 events at once; one that fails fails alone",
  input: z.strictObject({ items: z.array(SettleItem).min(1).max(100) }),
  output: z.object({
    results: z.array(
      z.union([
        SettledAnswer.extend({ id: z.string() }),
        z.object({
          id: z.string(),
          code: z.string(),
          detail: z.string(),
          event_status: z.enum(EVENT_STATUSES).optional(),
        }),
      ]),
    ),
  }),
  cli: { command: "inbox settle", table: { rows: "results", columns: ["id", "event.status", "code", "detail"] } },
  async run(ctx, { items }) {
    const caller = callerOf(ctx);
    const results = await Promise.all(
      items.map(async ({ id, lease, ...settle }) => {
        const known = parseId("evt", id);
        if (!known) return { id, code: "NOT_FOUND", detail: "there is no such event in this project" };
        const settled = await ctx.services.inbox.settle(caller, known, lease, settle);
        if (!isProblem(settled)) return { id, ...settledAnswer(ctx, settled) };
        return { id, code: settled.code, detail: settled.detail, ...settled.extra };
      }),
    );
    return { results };
  },
});
