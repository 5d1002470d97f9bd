/** The reference tokens of a JSON pointer (RFC 6901), unescaped. */
export type Pointer = readonly string[];

/** What a JSON pointer looks like: empty, or tokens each after a slash, `~` only as `~0` and `~1`. */
export const POINTER = /^(?:\/(?:[^/~]|~[01])*)*$/;

/** The tokens of a pointer that matches `POINTER`. */
export function parsePointer(pointer: string): Pointer {
  if (pointer === "") return [];
  const tokens = pointer.slice(1).split("/");
  return tokens.map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

const INDEX = /^(?:0|[1-9][0-9]{0,15})$/;

/** The value a pointer leads to, or undefined. Only own members count: outside content names no built-in property. */
export function resolvePointer(value: unknown, pointer: Pointer): unknown {
  let at = value;
  for (const token of pointer) {
    if (typeof at !== "object" || at === null) return undefined;
    if (Array.isArray(at)) at = INDEX.test(token) ? at[Number(token)] : undefined;
    else at = Object.hasOwn(at, token) ? (at as Record<string, unknown>)[token] : undefined;
  }
  return at;
}
