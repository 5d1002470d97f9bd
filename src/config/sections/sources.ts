import { z } from "zod";
import { documented, headerName, integer, slug, textLike, textThat } from "../fields.ts";
import { atMostOne, onlyWhere, type Rule, ruled } from "./rules.ts";
import { inlineSecret, secretReferences } from "./secret-keys.ts";

function wrongTemplate(text: string): string | undefined {
  const unknown = text.replaceAll("{body}", "").replaceAll("{timestamp}", "");
  if (/[{}]/.test(unknown)) return "may hold {body} and {timestamp} and no other braces";
  return text.includes("{body}") && text.length <= 256 ? undefined : "must hold {body}, in at most 256 characters";
}

const rateLimit = z.strictObject({
  requests: documented(integer(1, 1_000_000), "How many transmissions."),
  per_seconds: documented(integer(1, 86_400), "In how many seconds."),
});

const typeFrom = ruled(
  z.strictObject({
    pointer: documented(
      textLike(/^(?:\/(?:[^~/]|~[01])*)*$/, "a JSON pointer (RFC 6901) such as /event/name").optional(),
      "A JSON pointer into the payload.",
    ),
    header: documented(headerName().optional(), "A header."),
  }),
  [
    atMostOne(["pointer", "header"]),
    ({ pointer, header }) =>
      pointer === undefined && header === undefined
        ? { key: "pointer", wrong: "must be given, or `header`" }
        : undefined,
  ],
);

const isEmail: Rule = ({ channel, kind }) => {
  if (channel === "email" && kind !== undefined && kind !== "email") {
    return { key: "kind", wrong: "must be email where channel is email" };
  }
  return channel === "webhook" && kind === "email"
    ? { key: "kind", wrong: "must be the kind of a webhook where channel is webhook" }
    : undefined;
};

const notReserved: Rule = ({ name }) =>
  name === "postern" ? { key: "name", wrong: "is reserved for Postern's own events" } : undefined;

const timestampHasHeader: Rule = ({ signed, timestamp_header }) =>
  typeof signed === "string" && signed.includes("{timestamp}") && timestamp_header === undefined
    ? { key: "signed", wrong: "holds {timestamp}, so it needs `timestamp_header` beside it" }
    : undefined;

const unverifiedSignals: Rule = ({ signals, signals_unverified }) =>
  signals_unverified === true && signals !== true
    ? { key: "signals_unverified", wrong: "needs `signals = true` beside it" }
    : undefined;

const SECRETS = ["secret", "secret_env", "secret_file"];
const EMAIL_KEYS = ["local_part", "catch_all"];
const WEBHOOK_KEYS = [
  ...SECRETS,
  ...["header", "encoding", "prefix", "signed", "timestamp_header", "tolerance_seconds"],
  ...["type_from", "allow_get", "signals", "signals_unverified"],
];

/** One declared source. What is not given is left to the source's kind, so these keys have no default here. */
export const sourceSection = ruled(
  z.strictObject({
    name: documented(slug(), "Unique in its project."),
    channel: documented(z.enum(["webhook", "email"]), "The door it belongs to."),
    kind: documented(
      textLike(/^[a-z0-9][a-z0-9_-]{0,62}$/, "the name of a kind, such as stripe or hmac_sha256"),
      "How transmissions are checked: stripe, github, hmac_sha256, standard_webhooks, unsigned or a preset of the " +
        "catalogue; email for an email source.",
    ),
    secret: inlineSecret,
    ...secretReferences,
    header: documented(
      headerName().optional(),
      "hmac_sha256: the header with the signature. Default: x-signature-256.",
    ),
    encoding: documented(
      z.enum(["hex", "base64"]).optional(),
      "hmac_sha256: how the signature is written. Default: hex.",
    ),
    prefix: documented(
      z.string().max(64).optional(),
      'hmac_sha256: what must stand before the signature, "" for nothing. Default: sha256=.',
    ),
    signed: documented(
      textThat(wrongTemplate).optional(),
      "hmac_sha256: what is signed, a template of {body} and {timestamp}. Default: {body}.",
    ),
    timestamp_header: documented(
      headerName().optional(),
      "hmac_sha256: the header with the time of signing. Default: none.",
    ),
    tolerance_seconds: documented(
      integer(1, 31_536_000).optional(),
      "How far the time of signing may be off, both ways. Default: 300.",
    ),
    dedup: documented(
      z.enum(["auto", "id", "none"]).optional(),
      "What counts as a duplicate: auto, by the provider's id or else the content; id, by the id only; none. Default: auto.",
    ),
    rate_limit: documented(
      rateLimit.optional(),
      "At most so many transmissions in so many seconds. Default: no limit.",
      {
        inline: true,
      },
    ),
    type_from: documented(
      typeFrom.optional(),
      "Where the event's type stands: a JSON pointer into the payload, or a header. Default: the kind's own rule.",
      { inline: true },
    ),
    allow_get: documented(z.boolean().optional(), "Take GET as well; its query is the form. Default: false."),
    local_part: documented(
      textLike(
        /^(?!\.)(?!.*\.\.)[A-Za-z0-9._-]{1,64}(?<!\.)$/,
        "the part before the @: letters, digits, `.`, `_` and `-` (a tag after + reaches it too)",
      ).optional(),
      "email: the part of the address before the @. Default: a random one.",
    ),
    catch_all: documented(z.boolean().optional(), "email: take what no other source takes. Default: false."),
    signals: documented(
      z.boolean().optional(),
      "Monitoring kinds: feed issues, alerts and incidents besides making events. Default: false.",
    ),
    signals_unverified: documented(
      z.boolean().optional(),
      "Let an unsigned source do so. Anyone who learns its URL can then raise alerts. Default: false.",
    ),
  }),
  [
    notReserved,
    isEmail,
    atMostOne(SECRETS),
    timestampHasHeader,
    unverifiedSignals,
    ...onlyWhere(WEBHOOK_KEYS, ({ channel }) => channel !== "email", "is for webhook sources only"),
    ...onlyWhere(EMAIL_KEYS, ({ channel }) => channel !== "webhook", "is for email sources only"),
  ],
);

/** One declared source. */
export type SourceConfig = z.output<typeof sourceSection>;
