import { rfc3339 } from "../kernel/clock.ts";
import { invalid, Problem } from "../kernel/problems.ts";
import {
  type KeyKind,
  PRESETS,
  type Preset,
  presetScopes,
  SCOPES,
  type Scope,
  scopesOfKind,
} from "../kernel/scopes.ts";
import type { KeyRecord } from "../store/types.ts";

export type KeyMove = "freeze" | "thaw" | "contain" | "lift" | "revoke";

/** From which states a move leads to which; there is no way out of `revoked`. */
export const MOVES: Readonly<Record<KeyMove, [from: readonly KeyRecord["state"][], to: KeyRecord["state"]]>> = {
  freeze: [["active"], "frozen"],
  thaw: [["frozen"], "active"],
  contain: [["active", "frozen"], "contained"],
  lift: [["contained"], "active"],
  revoke: [["active", "frozen", "contained"], "revoked"],
};

export const PARTICIPLE: Readonly<Record<KeyMove, string>> = {
  freeze: "frozen",
  thaw: "thawed",
  contain: "contained",
  lift: "lifted",
  revoke: "revoked",
};

/** The scopes asked for, each once: `INVALID_REQUEST` where they are none, both ways at once, or not for this kind. */
export function wantedScopes(
  kind: KeyKind,
  { scopes, preset }: { scopes?: readonly Scope[] | undefined; preset?: Preset | undefined },
): Scope[] | Problem {
  if ((scopes === undefined) === (preset === undefined)) {
    return invalid("scopes", `give exactly one of \`scopes\` and \`preset\` (${PRESETS.join(", ")})`);
  }
  const wanted = preset ? presetScopes(preset, kind) : [...new Set(scopes)];
  if (wanted.length === 0) return invalid(preset ? "preset" : "scopes", `a key of kind ${kind} would hold no scope`);
  const wrong = wanted.find((scope) => !scopesOfKind(kind).includes(scope));
  if (!wrong) return wanted;
  const kinds = SCOPES[wrong].kinds.join(", ");
  return invalid("scopes", `a key of kind ${kind} cannot hold ${wrong} (kinds that can: ${kinds})`);
}

/** Why a key that `maker` makes or changes may not have these scopes and this end: it is never wider and never lives longer. */
export function widerThan(
  maker: KeyRecord,
  scopes: readonly Scope[],
  expiresAt: number | null,
  who = "the key that asks",
): Problem | undefined {
  const missing = scopes.find((scope) => !maker.scopes.includes(scope));
  if (missing) {
    return new Problem("SCOPE_MISSING", `no key is wider than what makes it: ${who} does not hold ${missing}`, {
      extra: { scope: missing },
    });
  }
  if (maker.expiresAt === null || (expiresAt !== null && expiresAt <= maker.expiresAt)) return undefined;
  return invalid("expires_at", `cannot be later than the end of ${who}, ${rfc3339(maker.expiresAt)}`);
}
