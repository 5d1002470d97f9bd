import { headerOf, type Transmission } from "../transmission.ts";
import { anySignatureMatches, type SignedContent } from "./mac.ts";
import type { HeaderFamily, SignatureScheme } from "./scheme.ts";
import { readSignatureHeader } from "./signature-header.ts";
import { isInBody, judgeBodyTimestamp, judgeTimestamp } from "./timestamp.ts";

/**
 * Whether a transmission is signed as its scheme asks. `reason` says what is missing or wrong, for the source's list of
 * refused transmissions; it holds neither a secret nor anything computed with one, nor any text of the transmission.
 */
export type Verdict = { readonly ok: true } | { readonly ok: false; readonly reason: string };

const OK: Verdict = { ok: true };
const refuse = (reason: string): Verdict => ({ ok: false, reason });

/** The values of a transmission that go into the signed content beside its body. */
type SignedFields = { readonly id: string; readonly timestamp: string };

/**
 * Checks a transmission against a scheme at `nowMs` (Unix milliseconds): any of its signatures made with any of
 * `secrets` (the present one and, while a rotation lasts, older ones) will do. Works on the exact bytes of the body and
 * parses nothing of it before a signature matched. Without a usable secret the answer is always a refusal.
 */
export function verify(
  scheme: SignatureScheme,
  secrets: readonly string[],
  transmission: Transmission,
  nowMs: number,
): Verdict {
  if (!secrets.some((secret) => secret !== "")) {
    return refuse("the source has no secret yet: set the one that the provider shows");
  }
  const { headers, body } = transmission;
  const family = familyOf(scheme, headers);
  if (typeof family === "string") return refuse(`the header ${family} is missing or empty`);
  const header = readSignatureHeader(scheme, headerOf(headers, family.signature) ?? "");
  if (typeof header === "string") return refuse(`the header ${family.signature} ${header}`);

  const id = textOf(headers, family.id);
  if (family.id !== undefined && !scheme.idPattern.test(id)) return refuse(`the header ${family.id} is no usable id`);
  const rule = scheme.timestamp;
  const timestamp = header.timestamp ?? textOf(headers, family.timestamp);
  const untimely = rule === null || isInBody(rule) ? undefined : judgeTimestamp(rule, timestamp, nowMs);
  if (untimely !== undefined) return refuse(untimely);

  const content = signedContent(scheme, transmission, { id, timestamp });
  if (typeof content === "string") return refuse(content);
  if (!anySignatureMatches(header.candidates, secrets, content)) {
    return refuse("no signature matches: the secret is another one, or the body was changed on its way");
  }
  const stale = rule !== null && isInBody(rule) ? judgeBodyTimestamp(rule, body, nowMs) : undefined;
  return stale === undefined ? OK : refuse(stale);
}

/**
 * The family of headers that a transmission is judged by: the first whose headers are all there and not empty. A text
 * as answer names the header that is missing. Whoever else reads a header of the scheme (for the id that tells
 * duplicates) has to ask here too, or would read one that nobody signed.
 */
export function familyOf(scheme: SignatureScheme, headers: Transmission["headers"]): HeaderFamily | string {
  let missing: string | undefined;
  for (const family of scheme.families) {
    const { signature, timestamp, id } = family;
    const absent = absentOf(headers, signature) ?? absentOf(headers, timestamp) ?? absentOf(headers, id);
    if (absent === undefined) return family;
    // Of several families the one whose signature is there says best what is missing.
    if (missing === undefined || absent !== signature) missing = absent;
  }
  return missing ?? "";
}

function absentOf(headers: Transmission["headers"], name: string | undefined): string | undefined {
  return name === undefined || textOf(headers, name) !== "" ? undefined : name;
}

function textOf(headers: Transmission["headers"], name: string | undefined): string {
  return name === undefined ? "" : (headerOf(headers, name) ?? "");
}

function signedContent(
  { signed }: SignatureScheme,
  transmission: Transmission,
  fields: SignedFields,
): SignedContent | string {
  const pieces: (string | Uint8Array)[] = [];
  let text = "";
  for (const part of signed) {
    if ("text" in part) text += part.text;
    else if ("header" in part) {
      const value = headerOf(transmission.headers, part.header);
      if (value === undefined) return `the header ${part.header} is missing`;
      text += value;
    } else if (part.field === "body") {
      if (text !== "") pieces.push(text);
      pieces.push(transmission.body);
      text = "";
    } else if (part.field === "url") {
      if (transmission.url === undefined) return "the public URL that the provider signs is not known";
      text += transmission.url;
    } else text += part.field === "method" ? transmission.method : fields[part.field];
  }
  if (text !== "") pieces.push(text);
  return pieces;
}
