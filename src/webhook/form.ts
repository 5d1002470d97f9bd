import { isAscii } from "node:buffer";

/** A file of a multipart form; `bytes` is a view into the body. */
export type FormFile = { readonly filename: string; readonly contentType: string; readonly bytes: Uint8Array };

/** One field as it was sent; a name may come again. */
export type FormEntry = readonly [name: string, value: string | FormFile];

/** A form with more fields is not read as one. */
export const MAX_FORM_FIELDS = 10_000;

/** The fields of an `application/x-www-form-urlencoded` body (WHATWG URL, 5.1); undefined where there are too many. */
export function parseUrlencoded(body: Uint8Array): FormEntry[] | undefined {
  if (hasMoreThan(MAX_FORM_FIELDS - 1, AMPERSAND, body)) return undefined;
  const text = escapeHighBytes(body);
  // URLSearchParams drops a leading question mark; the body's own stays behind an empty field.
  return [...new URLSearchParams(text.startsWith("?") ? `&${text}` : text)];
}

const AMPERSAND = 0x26;
const PERCENT = 0x25;
const HEX_DIGITS = "0123456789abcdef";

/** Told before the fields are made: millions of them would take seconds. An ampersand too many at the end counts for nothing. */
function hasMoreThan(limit: number, byte: number, body: Uint8Array): boolean {
  let count = 0;
  for (let at = body.indexOf(byte); at >= 0 && at < body.length - 1; at = body.indexOf(byte, at + 1)) {
    if (++count > limit) return true;
  }
  return false;
}

/** The standard decodes bytes, not characters: raw bytes over 127 join their percent-encoded neighbours. */
function escapeHighBytes(body: Uint8Array): string {
  if (isAscii(body)) return Buffer.from(body.buffer, body.byteOffset, body.length).toString("latin1");
  const escaped = Buffer.allocUnsafe(body.length * 3);
  let at = 0;
  for (const byte of body) {
    if (byte < 0x80) escaped[at++] = byte;
    else {
      escaped[at++] = PERCENT;
      escaped[at++] = HEX_DIGITS.charCodeAt(byte >> 4);
      escaped[at++] = HEX_DIGITS.charCodeAt(byte & 15);
    }
  }
  return escaped.toString("latin1", 0, at);
}

/** What a rule can look at: strings, and of files all but their content. */
type FormMember = string | { filename: string; content_type: string };

/**
 * A form as an object of strings: a repeated name gives an array, a file `{"filename","content_type","base64"}`, names
 * in the order of their first coming. `value` has no prototype, so no name reaches one; it leaves files' content out.
 */
export function formValue(entries: readonly FormEntry[]): Record<string, FormMember | FormMember[]> {
  const value: Record<string, FormMember | FormMember[]> = Object.create(null);
  for (const [name, values] of grouped(entries)) {
    const members = values.map((one) =>
      typeof one === "string" ? one : { filename: one.filename, content_type: one.contentType },
    );
    value[name] = members.length === 1 && members[0] !== undefined ? members[0] : members;
  }
  return value;
}

/** The JSON text of a form, as `formValue` describes it, with the files' content. */
export function formJson(entries: readonly FormEntry[]): string {
  const members: string[] = [];
  for (const [name, values] of grouped(entries)) {
    const texts = values.map((one) => (typeof one === "string" ? JSON.stringify(one) : fileJson(one)));
    members.push(`${JSON.stringify(name)}:${texts.length === 1 ? texts[0] : `[${texts.join(",")}]`}`);
  }
  return `{${members.join(",")}}`;
}

function fileJson({ filename, contentType, bytes }: FormFile): string {
  const base64 = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64");
  return JSON.stringify({ filename, content_type: contentType, base64 });
}

function grouped(entries: readonly FormEntry[]): Map<string, FormEntry[1][]> {
  const groups = new Map<string, FormEntry[1][]>();
  for (const [name, value] of entries) {
    const group = groups.get(name);
    if (group) group.push(value);
    else groups.set(name, [value]);
  }
  return groups;
}
