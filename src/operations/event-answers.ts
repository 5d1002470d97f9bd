import { z } from "zod";
import { Envelope, type EventAnswer, envelope } from "../inbox/index.ts";
import type { Settled } from "../store/store.ts";
import type { Claim, EventRecord, LeaseRecord } from "../store/types.ts";
import { timeOf } from "./fields.ts";
import type { Context } from "./operation.ts";

export const Lease = z.object({ id: z.string(), expires_at: z.string() }).meta({ id: "Lease" });
export const EventOnly = z.object({ event: Envelope });
export const ClaimAnswer = z.object({ event: Envelope, lease: Lease });
export const SettledAnswer = z.object({
  event: Envelope,
  retry_at: z.string().nullable().describe("When it is due again; null where it is not waiting"),
});

/** An event with its whole payload and fresh links. */
export function whole(ctx: Context, event: EventRecord): EventAnswer {
  return envelope(event, { form: "whole", link: (e) => payloadLink(ctx, e) });
}

/** An event as lists and settles show it. */
export function listed(event: EventRecord): EventAnswer {
  return envelope(event, { form: "listed" });
}

/** The path at which a body that lies apart is served. */
export function payloadPath(id: string): string {
  return `/v1/events/${id}/payload`;
}

function payloadLink(ctx: Context, event: EventRecord): string {
  const path = payloadPath(event.id);
  return `${ctx.baseUrl}${path}?${ctx.services.links.sign(path)}`;
}

export function leaseAnswer(ctx: Context, lease: LeaseRecord): z.input<typeof Lease> {
  return { id: lease.id, expires_at: timeOf(ctx, lease.expiresAt) };
}

export function claimAnswer(ctx: Context, { event, lease }: Claim): z.input<typeof ClaimAnswer> {
  return { event: whole(ctx, event), lease: leaseAnswer(ctx, lease) };
}

export function settledAnswer(ctx: Context, { event, retryAt }: Settled): z.input<typeof SettledAnswer> {
  return { event: listed(event), retry_at: retryAt === null ? null : timeOf(ctx, retryAt) };
}
