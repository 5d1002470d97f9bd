import { z } from "zod";

/**
 * The typed form of values that came as strings, in a query or as flags: numbers, booleans, lists and JSON by what the
 * schema's field takes. What does not fit is left a string, so that the schema refuses it with its own words.
 */
export function fromStrings(
  schema: z.ZodObject,
  given: Readonly<Record<string, string | string[]>>,
): Record<string, unknown> {
  const typed: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    const field = Object.hasOwn(schema.shape, name) ? (schema.shape[name] as z.ZodType) : undefined;
    typed[name] = field ? typedValue(field, value) : value;
  }
  return typed;
}

/** What a field takes, as JSON Schema says it: `string`, `integer`, `number`, `boolean`, `array`, `object`, or undefined for any. */
export function fieldType(field: z.ZodType): string | undefined {
  const schema = z.toJSONSchema(field, { io: "input", unrepresentable: "any" }) as {
    type?: string;
    anyOf?: { type?: string }[];
  };
  return schema.type ?? schema.anyOf?.map(({ type }) => type).find((type) => type !== "null");
}

const types = new WeakMap<z.ZodType, string | undefined>();

function typedValue(field: z.ZodType, value: string | string[]): unknown {
  if (!types.has(field)) types.set(field, fieldType(field));
  const type = types.get(field);
  if (type === "array") return Array.isArray(value) ? value : value.split(",").filter((item) => item !== "");
  if (Array.isArray(value)) return value;
  if ((type === "integer" || type === "number") && /^-?\d+(?:\.\d+)?$/.test(value)) return Number(value);
  if (type === "boolean" && /^(?:true|false)$/.test(value)) return value === "true";
  if (type === "string") return value;
  return type === undefined || type === "object" ? parsedOr(value) : value;
}

function parsedOr(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch (error) {
    if (error instanceof SyntaxError) return value;
    throw error;
  }
}
