import { parsePointer } from "./json-pointer.ts";
import type { Provider } from "./providers/provider.ts";
import type { TypeFrom } from "./settings.ts";
import type { Transmission } from "./transmission.ts";
import { lookUp } from "./value-at.ts";

/** The type of an event whose source has no rule, or whose rule finds nothing usable. */
const PLAIN_TYPE = "webhook.received";

const PRINTABLE_ASCII = /^[\x20-\x7e]{1,200}$/;

/**
 * Printable: no control, format (bidi among them), surrogate, private or unassigned character, nothing invisible, and
 * of all white space only the space of ASCII. A type goes into logs, terminals and prompts.
 */
const PRINTABLE = /^(?:(?![\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}])[ \P{Zs}]){1,200}$/u;

/** True for a text of 1 to 200 printable characters (code points). */
export function isTypeText(value: unknown): value is string {
  return typeof value === "string" && (PRINTABLE_ASCII.test(value) || (value.length <= 400 && PRINTABLE.test(value)));
}

/**
 * An event's type: by the source's `type_from`, which looks into the payload as it is stored, else by its provider's
 * rule, which looks into `content`; `webhook.received` where that gives no text of 1 to 200 printable characters.
 * Duplicate keys: the last one counts, as in `JSON.parse`.
 */
export function eventType(
  provider: Provider,
  typeFrom: TypeFrom | undefined,
  headers: Transmission["headers"],
  payloadValue: unknown,
  content: unknown,
): string {
  const type =
    typeFrom === undefined ? providerType(provider, headers, content) : ownType(typeFrom, headers, payloadValue);
  return isTypeText(type) ? type : PLAIN_TYPE;
}

function ownType(from: TypeFrom, headers: Transmission["headers"], value: unknown): string | undefined {
  const place = "pointer" in from ? { pointer: parsePointer(from.pointer) } : { header: from.header };
  return lookUp(place, headers, value);
}

function providerType({ type }: Provider, headers: Transmission["headers"], content: unknown): string | undefined {
  const [first, ...rest] = type;
  const start = first && lookUp(first, headers, content);
  if (start === undefined) return undefined;
  return rest.reduce((text, place) => {
    const more = lookUp(place, headers, content);
    return more === undefined ? text : `${text}.${more}`;
  }, start);
}
