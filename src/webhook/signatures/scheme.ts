import type { KeyCoding } from "./keys.ts";
import { parseTemplate, type TemplatePart } from "./template.ts";

export type Algorithm = "hmac-sha1" | "hmac-sha256" | "hmac-sha512" | "ed25519";

/** How a signature's bytes are written. `HEX` takes both cases, for providers whose own library does; `hex` lower case only. */
export type SignatureCoding = "hex" | "HEX" | "base64";

/**
 * One kind of signature a scheme knows. `label` is its version (`v1`) in a header of pairs, `""` where the whole header
 * is the signature. What bears another label is passed over.
 */
export type SignatureKind = {
  readonly label: string;
  readonly algorithm: Algorithm;
  readonly coding: SignatureCoding;
  readonly key: KeyCoding;
};

/** The headers that go together. A scheme with aliases has several families, and values of two are never mixed. */
export type HeaderFamily = {
  readonly signature: string;
  readonly timestamp?: string;
  readonly id?: string;
};

/** The whole header is one signature after a fixed prefix, or it is a list of `label<assign>value`. */
export type HeaderLayout =
  | { readonly layout: "whole"; readonly prefix: string }
  | { readonly layout: "pairs"; readonly separator: string; readonly assign: string };

/**
 * When it was signed: in the family's timestamp header, under a label of the signature header, or (RFC 6901 pointer, a
 * number) in the signed JSON body. Judged both ways; with `toleranceSeconds` null it is signed but not judged.
 */
export type TimestampRule = {
  readonly at: "header" | { readonly label: string } | { readonly pointer: string };
  readonly unit: "s" | "ms";
  readonly toleranceSeconds: number | null;
};

/** How a provider signs, as data: `verify` reads it. Made with `defineScheme`. */
export type SignatureScheme = {
  readonly families: readonly HeaderFamily[];
  readonly header: HeaderLayout;
  readonly signatures: readonly SignatureKind[];
  readonly signed: readonly TemplatePart[];
  readonly timestamp: TimestampRule | null;
  /** What an id that goes into the signed content may look like. */
  readonly idPattern: RegExp;
};

/** A scheme as it is written down: the signed content as a template (see `parseTemplate`). */
export type SchemeSpec = {
  readonly families: readonly HeaderFamily[];
  readonly header: HeaderLayout;
  readonly signatures: readonly SignatureKind[];
  readonly signed: string;
  readonly timestamp?: TimestampRule;
  readonly idPattern?: RegExp;
};

/** Visible ASCII: no header library changes it on its way, so that what is hashed is what was sent. */
const VISIBLE_ASCII = /^[\x21-\x7e]{1,1024}$/;

/** A scheme from its description. Throws where the description contradicts itself: that is a bug of whoever wrote it. */
export function defineScheme(spec: SchemeSpec): SignatureScheme {
  const signed = parseTemplate(spec.signed);
  if (typeof signed === "string") throw new Error(`signature scheme: ${signed}`);
  const uses = (field: string) => signed.some((part) => "field" in part && part.field === field);
  const timestamp = spec.timestamp ?? null;
  if (uses("timestamp") && (timestamp === null || (typeof timestamp.at === "object" && "pointer" in timestamp.at))) {
    throw new Error("signature scheme: {timestamp} needs a timestamp outside the body");
  }
  if (timestamp?.at === "header" && spec.families.some((family) => family.timestamp === undefined)) {
    throw new Error("signature scheme: each family needs its timestamp header");
  }
  if (uses("id") && spec.families.some((family) => family.id === undefined)) {
    throw new Error("signature scheme: each family needs its id header");
  }
  return { ...spec, signed, timestamp, idPattern: spec.idPattern ?? VISIBLE_ASCII };
}

/** The lower-case names of the headers that hold a scheme's signatures. */
export function signatureHeaders(scheme: SignatureScheme): readonly string[] {
  return scheme.families.map((family) => family.signature);
}
