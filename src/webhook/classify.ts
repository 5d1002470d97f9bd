import { parseJson } from "../kernel/json.ts";
import { parseContentType } from "./content-type.ts";
import { type DedupIdentity, dedupIdentity } from "./dedup-key.ts";
import { eventType } from "./event-type.ts";
import { type Payload, payloadOf, queryPayload, type Reading } from "./payload.ts";
import type { Provider } from "./providers/provider.ts";
import { safeHeaders } from "./safe-headers.ts";
import type { WebhookSettings } from "./settings.ts";
import { type SignatureScheme, signatureHeaders } from "./signatures/scheme.ts";
import { headerOf, type Transmission } from "./transmission.ts";

/** A transmission of a source, read and (where its kind verifies) verified. */
export type Received = {
  readonly provider: Provider;
  /** The source's scheme, made once by `schemeFor`. */
  readonly scheme: SignatureScheme | null;
  readonly settings: WebhookSettings;
  readonly transmission: Transmission;
  /** The body after content-decoding. */
  readonly decoded: Uint8Array;
  /** True if a signature over the body was checked. */
  readonly verified: boolean;
};

/** What a transmission is as an event. */
export type Classified = {
  readonly type: string;
  readonly payload: Payload;
  /** The headers that are kept, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body's type, for a body that is stored apart. */
  readonly contentType: string;
  /** Null where no later transmission can be a duplicate of this one. */
  readonly dedup: DedupIdentity | null;
};

/** Reads type, payload, kept headers and identity of a transmission. Pure; never fails, whatever the bytes. */
export function classify(received: Received): Classified {
  const { provider, scheme, settings, transmission, decoded, verified } = received;
  const { headers } = transmission;
  const isQuery = transmission.method === "GET";
  const payload = isQuery
    ? queryPayload(transmission.query)
    : payloadOf(decoded, headerOf(headers, "content-type"), readingOf(provider, settings));
  const content = contentOf(provider, payload);
  const body = isQuery ? Buffer.from(transmission.query) : decoded;
  return {
    type: eventType(provider, settings.type_from, headers, payload.value, content),
    payload,
    headers: safeHeaders(headers, secretHeaders(provider, scheme)),
    contentType: typeOfBody(headerOf(headers, "content-type")) ?? TYPES[payload.form],
    dedup: dedupIdentity(provider, settings.dedup, verified, headers, content, body),
  };
}

function readingOf({ json = false, type, ids }: Provider, { type_from }: WebhookSettings): Reading {
  const places = type_from === undefined ? [...type, ...ids] : [type_from, ...ids];
  return { isJson: json, wantsValue: places.some((place) => typeof place === "object" && "pointer" in place) };
}

/** The type that the sender gave, where it is one and can stand in an answer's header. */
function typeOfBody(header: string | undefined): string | undefined {
  return header !== undefined && /^[\x20-\x7e]{1,255}$/.test(header) && parseContentType(header) ? header : undefined;
}

/** What a body is called whose sender gave it no type. */
const TYPES: Record<Payload["form"], string> = {
  json: "application/json",
  form: "application/x-www-form-urlencoded",
  text: "text/plain; charset=utf-8",
  binary: "application/octet-stream",
};

/** What a provider's own rules look into: the JSON that some send in a field of a form, else the payload. */
function contentOf({ formField }: Provider, payload: Payload): unknown {
  if (formField === undefined || payload.form !== "form") return payload.value;
  const field = (payload.value as Record<string, unknown>)[formField];
  return typeof field === "string" ? parseJson(field)?.value : undefined;
}

function secretHeaders(provider: Provider, scheme: SignatureScheme | null): readonly string[] {
  const own = provider.secretHeaders ?? [];
  return scheme === null ? own : [...signatureHeaders(scheme), ...own];
}
