import type { SignatureCoding, SignatureKind, SignatureScheme } from "./scheme.ts";

/** The signatures a header holds, decoded, and the timestamp where the header carries one. */
export type SignatureHeader = {
  readonly candidates: readonly { readonly kind: SignatureKind; readonly bytes: Uint8Array }[];
  readonly timestamp: string | undefined;
};

/** Longer headers are no signature of anyone's; 16 signatures of 88 characters fit in well. */
const MAX_HEADER = 4096;
const MAX_SIGNATURES = 16;

/**
 * Reads a signature header. Signatures that are not written exactly in their coding are no candidates, labels that the
 * scheme does not know are passed over. A text as answer says why the header as a whole is refused; it repeats nothing
 * of the header's value.
 */
export function readSignatureHeader(scheme: SignatureScheme, value: string): SignatureHeader | string {
  if (value.length > MAX_HEADER) return `is longer than ${MAX_HEADER} characters`;
  const { header } = scheme;
  if (header.layout === "whole") {
    if (!value.startsWith(header.prefix)) return `does not begin with ${header.prefix}`;
    return collect(scheme, [["", value.slice(header.prefix.length)]]);
  }
  return collect(scheme, pairsOf(value, header.separator, header.assign));
}

function pairsOf(value: string, separator: string, assign: string): [label: string, value: string][] {
  const pairs: [string, string][] = [];
  for (const item of value.split(separator)) {
    // White space around an item is what joining header lines makes (RFC 9110 section 5.3): without it, a second
    // header's first label would not be recognised as a repeated one.
    const text = item.trim();
    const at = text.indexOf(assign);
    if (at > 0) pairs.push([text.slice(0, at), text.slice(at + assign.length)]);
  }
  return pairs;
}

function collect(scheme: SignatureScheme, pairs: readonly [string, string][]): SignatureHeader | string {
  const stamped = scheme.timestamp?.at;
  const stampLabel = typeof stamped === "object" && "label" in stamped ? stamped.label : undefined;
  const candidates: { kind: SignatureKind; bytes: Uint8Array }[] = [];
  let timestamp: string | undefined;
  let seen = 0;
  for (const [label, text] of pairs) {
    if (label === stampLabel) {
      if (timestamp !== undefined) return `holds more than one ${label}`;
      timestamp = text;
      continue;
    }
    const kind = scheme.signatures.find((known) => known.label === label);
    if (!kind) continue;
    if (++seen > MAX_SIGNATURES) return `holds more than ${MAX_SIGNATURES} signatures`;
    const bytes = decodeSignature(text, kind.coding);
    if (bytes) candidates.push({ kind, bytes });
  }
  if (stampLabel !== undefined && timestamp === undefined) return `holds no ${stampLabel}`;
  if (seen === 0) return `holds no signature of a known version (${labelsOf(scheme)})`;
  if (candidates.length === 0) return `holds no well-formed signature`;
  return { candidates, timestamp };
}

function labelsOf(scheme: SignatureScheme): string {
  return scheme.signatures.map((kind) => kind.label).join(", ");
}

const LOWER_HEX = /^(?:[0-9a-f]{2})+$/;
const ANY_HEX = /^(?:[0-9a-fA-F]{2})+$/;

/** The bytes of a signature's text, or undefined unless it is the one and only way to write them in this coding. */
function decodeSignature(text: string, coding: SignatureCoding): Uint8Array | undefined {
  if (coding !== "base64") {
    return (coding === "hex" ? LOWER_HEX : ANY_HEX).test(text) ? Buffer.from(text, "hex") : undefined;
  }
  if (text === "") return undefined;
  const bytes = Buffer.from(text, "base64");
  // The decoder forgives other alphabets, missing padding and stray bits; writing it again does not.
  return bytes.toString("base64") === text ? bytes : undefined;
}
