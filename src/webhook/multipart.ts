import { parseContentType } from "./content-type.ts";
import { type FormEntry, MAX_FORM_FIELDS } from "./form.ts";
import { decodeText } from "./text.ts";

/** RFC 2046 section 5.1.1: 1 to 70 characters, of which the last is no space. */
const BOUNDARY = /^[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]$/;

/** A part's headers are a disposition and a type. */
const MAX_PART_HEADERS = 16 * 1024;

const CRLF = Buffer.from("\r\n");
const BLANK_LINE = Buffer.from("\r\n\r\n");

/**
 * The fields of a `multipart/form-data` body (RFC 7578). Strict: lines end in CRLF, every part has a name, the closing
 * delimiter is there. Undefined for all else, and for more than `MAX_FORM_FIELDS` parts. A field's text stays the
 * string that was sent, whatever type its part claims.
 */
export function parseMultipart(body: Uint8Array, boundary: string | undefined): FormEntry[] | undefined {
  if (boundary === undefined || !BOUNDARY.test(boundary)) return undefined;
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  const delimiter = Buffer.from(`\r\n--${boundary}`, "latin1");
  const entries: FormEntry[] = [];
  let open = firstDelimiter(bytes, delimiter);
  while (open && !open.closing) {
    const next = findDelimiter(bytes, delimiter, open.end - CRLF.length);
    const entry = next && parsePart(bytes.subarray(open.end, Math.max(open.end, next.start)));
    if (entry === undefined || entries.push(entry) > MAX_FORM_FIELDS) return undefined;
    open = next;
  }
  return open && entries;
}

/** Where a delimiter line begins (with the line end before it) and where what follows it begins. */
type Delimiter = { start: number; end: number; closing: boolean };

function firstDelimiter(bytes: Buffer, delimiter: Buffer): Delimiter | undefined {
  const dashes = delimiter.subarray(CRLF.length);
  const atStart = bytes.subarray(0, dashes.length).equals(dashes);
  const first = atStart ? delimiterEnd(bytes, 0, dashes.length) : undefined;
  return first ?? findDelimiter(bytes, delimiter, 0);
}

function findDelimiter(bytes: Buffer, delimiter: Buffer, from: number): Delimiter | undefined {
  for (let at = bytes.indexOf(delimiter, from); at >= 0; at = bytes.indexOf(delimiter, at + 1)) {
    const found = delimiterEnd(bytes, at, at + delimiter.length);
    if (found) return found;
  }
  return undefined;
}

/** A longer word that only begins like the boundary is content. */
function delimiterEnd(bytes: Buffer, start: number, after: number): Delimiter | undefined {
  if (bytes[after] === 0x2d && bytes[after + 1] === 0x2d) return { start, end: after + 2, closing: true };
  let at = after;
  while (bytes[at] === 0x20 || bytes[at] === 0x09) at++;
  const isLine = bytes[at] === 0x0d && bytes[at + 1] === 0x0a;
  return isLine ? { start, end: at + CRLF.length, closing: false } : undefined;
}

function parsePart(part: Buffer): FormEntry | undefined {
  const blank = part.indexOf(BLANK_LINE);
  // Without content, the line end before the next delimiter may be the blank line itself.
  const headersEnd = blank >= 0 ? blank : part.length - CRLF.length;
  if (headersEnd < 0 || headersEnd > MAX_PART_HEADERS) return undefined;
  if (blank < 0 && !part.subarray(headersEnd).equals(CRLF)) return undefined;
  const headers = part.subarray(0, headersEnd).toString("utf8");
  const disposition = parseDisposition(/^content-disposition:(.*)$/im.exec(headers)?.[1] ?? "");
  if (!disposition) return undefined;
  const contentType = /^content-type:(.*)$/im.exec(headers)?.[1]?.trim();
  const bytes = part.subarray(blank >= 0 ? blank + BLANK_LINE.length : part.length);
  const { name, filename } = disposition;
  const text = filename === undefined ? decodeText(bytes, parseContentType(contentType)?.charset) : undefined;
  // A field without a file's name whose bytes are no text keeps them the way a file does.
  return [name, text ?? { filename: filename ?? "", contentType: contentType ?? "text/plain", bytes }];
}

const PARAMETER = /;\s*(name|filename\*?)=(?:"((?:[^"\\]|\\.)*)"|([^;\s]*))/gi;

function parseDisposition(value: string): { name: string; filename: string | undefined } | undefined {
  if (!/^\s*form-data\s*;/i.test(value)) return undefined;
  const parameters = new Map<string, string>();
  for (const [, key = "", quoted, bare = ""] of value.matchAll(PARAMETER)) {
    const text = quoted === undefined ? bare : unquote(quoted);
    if (!parameters.has(key.toLowerCase())) parameters.set(key.toLowerCase(), text);
  }
  const name = parameters.get("name");
  const filename = parameters.get("filename") ?? extended(parameters.get("filename*"));
  return name === undefined ? undefined : { name, filename };
}

/** A quote in a name is written `%22` by browsers (WHATWG HTML, 4.10.21.8) and `\"` by older libraries (RFC 2183). */
function unquote(text: string): string {
  return text.replace(/\\(["\\])/g, "$1").replace(/%(?:22|0D|0A)/gi, (code) => decodeURIComponent(code));
}

/** A `filename*` (RFC 8187). RFC 7578 forbids it in forms; libraries send it all the same. */
function extended(value: string | undefined): string | undefined {
  const encoded = /^utf-8'[^']*'(.*)$/i.exec(value ?? "")?.[1];
  if (encoded === undefined || /%(?![0-9a-f]{2})/i.test(encoded)) return undefined;
  const bytes = Buffer.from(
    encoded.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  );
  return bytes.toString("utf8");
}
