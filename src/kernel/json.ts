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
  if (typeof value === "string") return quoted(value);
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return value.length === 0 ? "[]" : `[${value.map(encodeJson).join(",")}]`;
  const convertible = value as { toJSON?: () => unknown };
  if (typeof convertible.toJSON === "function") return encodeJson(convertible.toJSON());
  let text = "";
  for (const key of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[key];
    if (member === undefined) continue;
    text += `${text === "" ? "" : ","}${nameOf(key)}${encodeJson(member)}`;
  }
  return `{${text}}`;
}

/** Stands in JSON as it is. Most strings of our answers do, and calling JSON.stringify for each costs more than the rest. */
const PLAIN = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;

function quoted(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** Our answers have few names; names from outside, which have no end, must not fill the memory. */
const MAX_NAMES = 500;
const names = new Map<string, string>();

/** A member's name with its colon. */
function nameOf(key: string): string {
  const known = names.get(key);
  if (known !== undefined) return known;
  const name = `${JSON.stringify(key)}:`;
  if (names.size < MAX_NAMES) names.set(key, name);
  return name;
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

/** True where a text, read as JSON, opens more than `depth` objects and arrays one in another. */
export function nestsDeeper(text: string, depth: number): boolean {
  let open = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (inString) {
      if (c === "\\") i++;
      else if (c === '"') inString = false;
    } else if (c === '"') inString = true;
    else if (c === "[" || c === "{") {
      if (++open > depth) return true;
    } else if (c === "]" || c === "}") open--;
  }
  return false;
}
