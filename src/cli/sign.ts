import { createHmac } from "node:crypto";
import type { providerFor } from "../webhook/index.ts";

type Provider = NonNullable<ReturnType<typeof providerFor>>;
type Scheme = Exclude<NonNullable<Provider["scheme"]>, (...args: never[]) => unknown>;
type SchemeSettings = Parameters<Extract<NonNullable<Provider["scheme"]>, (...args: never[]) => unknown>>[0];

export type ToSign = { secret: string; body: string; id: string; now: number };

/**
 * The headers with which a provider would sign a body, made from the same description that the daemon verifies by.
 * Undefined where it can't be made here: a public-key scheme, or one that signs the URL or another header.
 */
export function signedHeaders(
  provider: Provider,
  settings: unknown,
  toSign: ToSign,
): Record<string, string> | undefined {
  const { scheme } = provider;
  if (scheme === null) return {};
  return headersFor(typeof scheme === "function" ? scheme(settings as SchemeSettings) : scheme, toSign);
}

function headersFor(scheme: Scheme, { secret, body, id, now }: ToSign): Record<string, string> | undefined {
  const [family] = scheme.families;
  const kind = scheme.signatures.find(({ algorithm }) => algorithm.startsWith("hmac-"));
  if (!family || !kind) return undefined;
  const { timestamp } = scheme;
  const stamp = String(timestamp?.unit === "ms" ? now : Math.floor(now / 1000));
  const key = keyOf(secret, kind.key);
  if (timestamp && typeof timestamp.at === "object" && "pointer" in timestamp.at) return undefined;
  const fields: Partial<Record<string, string>> = { id, timestamp: stamp, body };
  const parts = scheme.signed.map((part) =>
    "text" in part ? part.text : "field" in part ? fields[part.field] : undefined,
  );
  if (key === undefined || parts.some((part) => part === undefined)) return undefined;
  const mac = createHmac(kind.algorithm.slice(5), key).update(parts.join(""));
  const signature = mac.digest(kind.coding === "base64" ? "base64" : "hex");
  return {
    [family.signature]: headerOf(scheme, kind.label, signature, stamp),
    ...(family.timestamp === undefined ? {} : { [family.timestamp]: stamp }),
    ...(family.id === undefined ? {} : { [family.id]: id }),
  };
}

function headerOf(scheme: Scheme, label: string, signature: string, stamp: string): string {
  const { header, timestamp } = scheme;
  if (header.layout === "whole") return header.prefix + signature;
  const at = timestamp?.at;
  const stamped = typeof at === "object" && "label" in at ? [`${at.label}${header.assign}${stamp}`] : [];
  return [...stamped, `${label}${header.assign}${signature}`].join(header.separator);
}

function keyOf(secret: string, coding: Scheme["signatures"][number]["key"]): string | Buffer | undefined {
  if (coding.coding === "utf8") return secret;
  if (coding.coding === "hex") return Buffer.from(secret, "hex");
  const text = secret.startsWith(coding.prefix) ? secret.slice(coding.prefix.length) : secret;
  const bytes = Buffer.from(text, "base64");
  return bytes.length === 0 ? undefined : bytes;
}
