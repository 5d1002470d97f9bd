import { z } from "zod";
import type { FieldError } from "../kernel/problems.ts";
import { DedupMode, HmacFields, hmacSettings, TypeFrom, type WebhookSettings } from "./settings.ts";

/** At most so many transmissions in so many seconds. */
export const RateLimit = z.strictObject({
  requests: z.int().min(1).max(1_000_000).describe("How many transmissions"),
  per_seconds: z.int().min(1).max(86_400).describe("In how many seconds"),
});
export type RateLimit = z.infer<typeof RateLimit>;

/** What a webhook source may set beside its kind and secret; members left out have their defaults, null takes away. */
export const SourceFields = z.strictObject({
  ...HmacFields.shape,
  dedup: DedupMode.optional(),
  rate_limit: RateLimit.nullable()
    .optional()
    .describe("At most so many transmissions in so many seconds. Default: none"),
  type_from: TypeFrom.nullable().optional(),
  allow_get: z.boolean().optional().describe("Take GET as well; its query is the form. Default: false"),
});
export type SourceFields = z.infer<typeof SourceFields>;

/** A source's settings, whole, as they are stored. */
export type SourceSettings = WebhookSettings & { rate_limit: RateLimit | null; allow_get: boolean };

const HMAC_KEYS = Object.keys(HmacFields.shape) as (keyof HmacFields)[];

/** Fills in defaults and checks the members against the kind and each other. */
export function sourceSettings(kind: string, given: SourceFields): SourceSettings | readonly FieldError[] {
  const hmacGiven = HMAC_KEYS.filter((key) => given[key] !== undefined);
  if (kind !== "hmac_sha256" && hmacGiven.length > 0) {
    return hmacGiven.map((path) => ({ path, message: `only a source of kind hmac_sha256 sets this, not ${kind}` }));
  }
  const hmac = kind === "hmac_sha256" ? hmacSettings(pick(given)) : undefined;
  if (Array.isArray(hmac)) return hmac as readonly FieldError[];
  return {
    dedup: given.dedup ?? "auto",
    rate_limit: given.rate_limit ?? null,
    allow_get: given.allow_get ?? false,
    ...(given.type_from ? { type_from: given.type_from } : {}),
    ...(hmac === undefined ? {} : { hmac: hmac as NonNullable<WebhookSettings["hmac"]> }),
  };
}

/** The fields that would make these settings, for a change of some of them. */
export function fieldsOf(settings: SourceSettings): SourceFields {
  const { hmac, dedup, rate_limit, allow_get, type_from } = settings;
  return { ...(hmac ?? {}), dedup, rate_limit, allow_get, ...(type_from ? { type_from } : {}) };
}

function pick(given: SourceFields): HmacFields {
  return Object.fromEntries(HMAC_KEYS.flatMap((key) => (given[key] === undefined ? [] : [[key, given[key]]])));
}
