import { parseJson } from "../kernel/json.ts";
import { type ContentType, isJsonType, isTextType, isXmlType, parseContentType } from "./content-type.ts";
import { type FormEntry, formJson, formValue, parseUrlencoded } from "./form.ts";
import { parseMultipart } from "./multipart.ts";
import { decodeText, decodeUtf8, xmlEncoding } from "./text.ts";

/** A longer body (decoded) is stored apart, as it came, and stands in no answer. */
export const MAX_INLINE_BODY = 262_144;

/** What a body is for an event. */
export type Payload = {
  /** The JSON text to put into answers, or null for a body over `MAX_INLINE_BODY`. */
  readonly json: string | null;
  readonly form: "json" | "form" | "text" | "binary";
  /** What the rules for type and duplicates look into: the JSON value, or the form's object. */
  readonly value?: unknown;
};

/** How a source's bodies are read. */
export type Reading = {
  /** They are JSON whatever their content type says. */
  readonly isJson?: boolean;
  /** False where no rule looks into them: a body that is stored apart then needs no parsing. */
  readonly wantsValue?: boolean;
};

/**
 * A decoded body as the event's payload. JSON keeps every token's text (only a byte order mark goes); a form becomes an
 * object; text and the empty body `{"text"}`; what claims to be JSON or text and isn't `{"text"}` where it is UTF-8;
 * all else `{"base64"}`. Never fails. A JSON text may hold line breaks, and escapes of lone surrogates and of NUL.
 */
export function payloadOf(body: Uint8Array, contentType: string | undefined, reading: Reading = {}): Payload {
  const { isJson = false, wantsValue = true } = reading;
  if (body.length === 0) return textPayload("", 0);
  const type = parseContentType(contentType);
  if (body.length > MAX_INLINE_BODY && !wantsValue) return { json: null, form: isJson ? "json" : claimedForm(type) };
  if (isJson || type === null || isJsonType(type)) return jsonPayload(body) ?? looseText(body);
  if (isTextType(type)) return typedText(body, type);
  const entries = formEntries(body, type);
  return entries === undefined ? binaryPayload(body) : formPayload(entries, body.length);
}

function claimedForm(type: ContentType | null): Payload["form"] {
  if (type === null) return "binary";
  if (isJsonType(type)) return "json";
  if (isTextType(type)) return "text";
  return FORM_TYPES.includes(type.essence) ? "form" : "binary";
}

/** The payload of a request whose form is its query string (without the question mark). */
export function queryPayload(query: string): Payload {
  const entries = parseUrlencoded(Buffer.from(query));
  return entries === undefined ? textPayload(query, query.length) : formPayload(entries, query.length);
}

function jsonPayload(body: Uint8Array): Payload | undefined {
  const json = decodeUtf8(body);
  const parsed = json === undefined ? undefined : parseJson(json);
  return parsed && { json: inline(body.length, () => json ?? ""), form: "json", value: parsed.value };
}

const URLENCODED = "application/x-www-form-urlencoded";
const MULTIPART = "multipart/form-data";
const FORM_TYPES = [URLENCODED, MULTIPART];

function formEntries(body: Uint8Array, { essence, boundary }: ContentType): FormEntry[] | undefined {
  if (essence === URLENCODED) return parseUrlencoded(body);
  return essence === MULTIPART ? parseMultipart(body, boundary) : undefined;
}

function formPayload(entries: readonly FormEntry[], size: number): Payload {
  return { json: inline(size, () => formJson(entries)), form: "form", value: formValue(entries) };
}

function typedText(body: Uint8Array, type: ContentType): Payload {
  const text = decodeText(body, type.charset, isXmlType(type) ? xmlEncoding(body) : undefined);
  return text === undefined ? binaryPayload(body) : textPayload(text, body.length);
}

function looseText(body: Uint8Array): Payload {
  const text = decodeUtf8(body);
  return text === undefined ? binaryPayload(body) : textPayload(text, body.length);
}

function textPayload(text: string, size: number): Payload {
  return { json: inline(size, () => `{"text":${JSON.stringify(text)}}`), form: "text" };
}

function binaryPayload(body: Uint8Array): Payload {
  const base64 = () => Buffer.from(body.buffer, body.byteOffset, body.length).toString("base64");
  return { json: inline(body.length, () => `{"base64":"${base64()}"}`), form: "binary" };
}

function inline(size: number, make: () => string): string | null {
  return size > MAX_INLINE_BODY ? null : make();
}
