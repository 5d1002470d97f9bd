import { z } from "zod";
import type { FieldError } from "../kernel/problems.ts";
import { POINTER } from "./json-pointer.ts";
import { isCredentialHeader } from "./safe-headers.ts";
import { countField, parseTemplate } from "./signatures/template.ts";

/** A header's name, in any case; kept in lower case (RFC 9110 section 5.1: a token). */
export const HeaderName = z
  .string()
  .toLowerCase()
  .max(64)
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "must be a header's name");

/**
 * What a source of kind `hmac_sha256` may set. A member left out has its default; null takes `timestamp_header` away.
 * The members are checked against each other by `hmacSettings`.
 */
export const HmacFields = z.strictObject({
  header: HeaderName.optional().describe("The header that holds the signature. Default: x-signature-256"),
  encoding: z.enum(["hex", "base64"]).optional().describe("How the signature is written. Default: hex"),
  prefix: z
    .string()
    .max(64)
    .regex(/^(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?$/, "must be printable ASCII without spaces around it")
    .optional()
    .describe('What the header begins with; required there unless "". Default: sha256='),
  signed: z
    .string()
    .max(256)
    .optional()
    .describe(
      "What the signature covers: a template of {body}, the exact bytes, and {timestamp}, for instance {timestamp}.{body}. Default: {body}",
    ),
  timestamp_header: HeaderName.nullable()
    .optional()
    .describe(
      "The header that holds the time of signing in Unix seconds; `signed` then holds {timestamp}. Default: none",
    ),
  tolerance_seconds: z
    .int()
    .min(1)
    .max(86_400)
    .optional()
    .describe("How far the time of signing may be off, both ways; only with timestamp_header. Default: 300"),
});
export type HmacFields = z.infer<typeof HmacFields>;

/** The settings of an `hmac_sha256` source, whole. */
export type HmacSettings = {
  readonly header: string;
  readonly encoding: "hex" | "base64";
  readonly prefix: string;
  readonly signed: string;
  readonly timestamp_header: string | null;
  readonly tolerance_seconds: number;
};

/** What holds where a source of kind `hmac_sha256` sets nothing. */
export const DEFAULT_HMAC: HmacSettings = {
  header: "x-signature-256",
  encoding: "hex",
  prefix: "sha256=",
  signed: "{body}",
  timestamp_header: null,
  tolerance_seconds: 300,
};

/** Fills in the defaults and checks the members against each other; a list as answer says what does not fit. */
export function hmacSettings(given: HmacFields): HmacSettings | readonly FieldError[] {
  const settings: HmacSettings = {
    header: given.header ?? DEFAULT_HMAC.header,
    encoding: given.encoding ?? DEFAULT_HMAC.encoding,
    prefix: given.prefix ?? DEFAULT_HMAC.prefix,
    signed: given.signed ?? DEFAULT_HMAC.signed,
    timestamp_header: given.timestamp_header ?? DEFAULT_HMAC.timestamp_header,
    tolerance_seconds: given.tolerance_seconds ?? DEFAULT_HMAC.tolerance_seconds,
  };
  const errors = [...signedErrors(settings)];
  if (settings.timestamp_header === settings.header) {
    errors.push({ path: "timestamp_header", message: "must be another header than the signature's" });
  }
  return errors.length === 0 ? settings : errors;
}

function signedErrors({ signed, timestamp_header }: HmacSettings): FieldError[] {
  const error = (message: string): FieldError[] => [{ path: "signed", message }];
  const parts = parseTemplate(signed);
  if (typeof parts === "string") return error(parts);
  const foreign = parts.some(
    (part) => "header" in part || ("field" in part && !/^(?:body|timestamp)$/.test(part.field)),
  );
  if (foreign) return error("only {body} and {timestamp} can stand here");
  const timestamps = countField(parts, "timestamp");
  if (timestamps > 0 && timestamp_header === null) return error("{timestamp} needs timestamp_header");
  // A timestamp that nobody signed can be set to now by whoever replays the rest.
  if (timestamps === 0 && timestamp_header !== null) return error("with timestamp_header it must hold {timestamp}");
  return [];
}

/** Where a source takes its events' type from, instead of its kind's own rule. */
export const TypeFrom = z
  .union([
    z.strictObject({
      pointer: z.string().max(256).regex(POINTER, "must be a JSON pointer (RFC 6901), such as /event/type"),
    }),
    z.strictObject({
      header: HeaderName.refine((name) => !isCredentialHeader(name), "must not name a header that may hold a secret"),
    }),
  ])
  .describe("Where the event's type stands: a JSON pointer into the payload, or a header");
export type TypeFrom = z.infer<typeof TypeFrom>;

/** How a source tells duplicates. */
export const DedupMode = z
  .enum(["auto", "id", "none"])
  .describe(
    "auto: by the provider's id, else by the body; id: by the provider's id only; none: every transmission is new",
  );
export type DedupMode = z.infer<typeof DedupMode>;

/** What the webhook door needs to know of a source to read its transmissions. */
export type WebhookSettings = {
  readonly dedup: DedupMode;
  readonly type_from?: TypeFrom | undefined;
  /** Only kind `hmac_sha256` reads it. */
  readonly hmac?: HmacSettings | undefined;
};
