/** JSON text that goes into an answer as it is: numbers, escapes, key order and duplicate keys unchanged. */
export class RawJson {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/**
 * JSON text of a value that may hold `RawJson` anywhere. Undefined members are left out, as in JSON.stringify.
 * The depth is that of our own answers, never of outside content: that is raw.
 */
export function encodeJson(value: unknown): string {
  if (value instanceof RawJson) return value.text;
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(encodeJson).join(",")}]`;
  const convertible = value as { toJSON?: () => unknown };
  if (typeof convertible.toJSON === "function") return encodeJson(convertible.toJSON());
  let text = "";
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined) continue;
    text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${encodeJson(member)}`;
  }
  return `{${text}}`;
}

/** A JSON text's parsed value, or undefined if it is not JSON (also where it nests deeper than the parser can go). */
export function parseJson(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return undefined;
    throw error;
  }
}
