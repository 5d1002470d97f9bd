import { z } from "zod";
import { holderOf } from "../identity/index.ts";
import { rfc3339, wallOf } from "../kernel/clock.ts";
import { type Id, type IdPrefix, parseId } from "../kernel/ids.ts";
import { invalid, type Problem } from "../kernel/problems.ts";
import { CHANNELS } from "../kernel/trust.ts";
import type { EventFilter } from "../store/types.ts";
import type { Context } from "./operation.ts";

/** An id as input: the TypeID or the UUID of the same 128 bits; it reaches `run` as the TypeID. */
export function idField<P extends IdPrefix>(prefix: P) {
  return z
    .string()
    .max(64)
    .transform((text, ctx): Id<P> => {
      const id = parseId(prefix, text);
      if (id) return id;
      ctx.addIssue({ code: "custom", message: `must be an id such as ${prefix}_… or a UUID` });
      return z.NEVER;
    });
}

/** A moment as input, RFC 3339; it reaches `run` in wall milliseconds. */
export const TimeField = z.iso
  .datetime({ offset: true, error: "must be an RFC 3339 time such as 2026-10-07T09:12:44Z" })
  .transform((text) => Date.parse(text));

export const NameField = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, "must be 1 to 63 of a-z, 0-9, _ and -, beginning with a letter or digit");

/** What people read: one line of printable text. */
export const TitleField = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[^\p{Cc}]*$/u, "must not hold control characters");

export const LeaseSeconds = z.int().min(30).max(3600).default(300).describe("How long the lease holds, in seconds");
export const LeaseField = idField("lse").describe("The lease meant; needed where this key held several of the event");

export const PageFields = {
  limit: z.int().min(1).max(100).default(50).describe("At most so many"),
  cursor: z.string().min(1).max(200).optional().describe("`next_cursor` of the page before"),
};

/** More stars than this name nothing that fewer do not, and cost steps for every type there is. */
const STARS = 8;

const GLOB = z
  .string()
  .min(1)
  .max(200)
  .refine((glob) => glob.split("*").length <= STARS + 1, `must hold at most ${STARS} stars`);

/** Which events: by source and type (globs), channel, and whether they are verified. */
export const FilterFields = {
  source: GLOB.optional().describe("The source's name, or a glob"),
  type: GLOB.optional().describe("The type, or a glob such as `invoice.*`"),
  verified: z.boolean().optional().describe("Only events that are, or are not, verified"),
};

export const ChannelField = z.enum(CHANNELS).optional().describe("The channel it came in by");

/** The filter of an input, without the members that were not given. */
export function filterOf(input: {
  source?: string | undefined;
  type?: string | undefined;
  verified?: boolean | undefined;
  channel?: (typeof CHANNELS)[number] | undefined;
}): EventFilter {
  const { source, type, verified, channel } = input;
  return {
    ...(source === undefined ? {} : { source }),
    ...(type === undefined ? {} : { type }),
    ...(verified === undefined ? {} : { verified }),
    ...(channel === undefined ? {} : { channel }),
  };
}

export const Cursor = z.string().nullable().describe("Hand it in as `cursor` for the next page; null at the end");

/** Stands in the answer that an Idempotency-Key gives again, in the place of the secret. */
export const SecretShown = z.literal(true).optional().describe("The first answer to this Idempotency-Key showed it");

/** An opaque cursor for a number. */
export function cursorOf(number: number | undefined): string | null {
  return number === undefined ? null : Buffer.from(`n${number}`).toString("base64url");
}

/** The number of a cursor that `cursorOf` made. */
export function numberOf(cursor: string | undefined): number | undefined | Problem {
  if (cursor === undefined) return undefined;
  const match = /^n(\d{1,15})$/.exec(Buffer.from(cursor, "base64url").toString());
  return match ? Number(match[1]) : invalid("cursor", "is none of this list's: hand in `next_cursor` as it came");
}

/** One page of a list that is held in memory, ordered by id. */
export function pageById<T extends { id: string }>(
  items: readonly T[],
  page: { limit: number; cursor?: string | undefined },
): { items: T[]; next: string | null } | Problem {
  const after = page.cursor === undefined ? "" : Buffer.from(page.cursor, "base64url").toString();
  if (!/^(?:[a-z]{3}_[0-9a-z]{26})?$/.test(after))
    return invalid("cursor", "is none of this list's: hand in `next_cursor` as it came");
  const rest = items.filter((item) => item.id > after);
  const shown = rest.slice(0, page.limit);
  const last = shown.at(-1);
  return { items: shown, next: last && rest.length > shown.length ? Buffer.from(last.id).toString("base64url") : null };
}

/** A moment of gate time as an answer shows it. */
export function timeOf(ctx: Context, gate: number): string {
  return rfc3339(wallOf(ctx.services.clock, gate));
}

/** The caller as the inbox knows it. */
export function callerOf(ctx: Context): { project: Id<"prj">; holder: string; signal: AbortSignal } {
  return { project: ctx.project, holder: holderOf(ctx.actor), signal: ctx.signal };
}
