import { parseJson } from "../../kernel/json.ts";
import { parsePointer, resolvePointer } from "../json-pointer.ts";
import type { TimestampRule } from "./scheme.ts";

/** A rule whose timestamp stands in the signed body: it can only be judged once the signature matched. */
export type BodyTimestampRule = TimestampRule & { readonly at: { readonly pointer: string } };

/** True where the timestamp stands in the signed body. */
export function isInBody(rule: TimestampRule): rule is BodyTimestampRule {
  return typeof rule.at === "object" && "pointer" in rule.at;
}

/** Decimal digits of a time up to the year 33658 in milliseconds; anything else is no timestamp of a provider. */
const TIMESTAMP = /^[0-9]{1,15}$/;

/** What is wrong with a timestamp of a header at `nowMs` (Unix milliseconds), or undefined. */
export function judgeTimestamp(rule: TimestampRule, text: string, nowMs: number): string | undefined {
  if (!TIMESTAMP.test(text)) return "the timestamp is not a decimal number";
  return judgeAge(rule, Number(text), nowMs);
}

/** What is wrong with the timestamp in a body whose signature matched, or undefined. */
export function judgeBodyTimestamp(rule: BodyTimestampRule, body: Uint8Array, nowMs: number): string | undefined {
  const parsed = parseJson(Buffer.from(body.buffer, body.byteOffset, body.length).toString("utf8"));
  const at = resolvePointer(parsed?.value, parsePointer(rule.at.pointer));
  if (typeof at !== "number" || !Number.isSafeInteger(at) || at < 0) {
    return `the body has no timestamp at ${rule.at.pointer}`;
  }
  return judgeAge(rule, at, nowMs);
}

/**
 * Refused both ways: a timestamp from the future would be valid for longer than the tolerance. Counted in whole units
 * of the timestamp, as the providers' libraries count.
 */
function judgeAge({ unit, toleranceSeconds }: TimestampRule, timestamp: number, nowMs: number): string | undefined {
  if (toleranceSeconds === null) return undefined;
  const perSecond = unit === "s" ? 1 : 1000;
  const age = (unit === "s" ? Math.floor(nowMs / 1000) : nowMs) - timestamp;
  if (Math.abs(age) <= toleranceSeconds * perSecond) return undefined;
  const seconds = Math.ceil(Math.abs(age) / perSecond);
  return `the timestamp is ${seconds} seconds ${age > 0 ? "old" : "in the future"}, ${toleranceSeconds} are allowed`;
}
