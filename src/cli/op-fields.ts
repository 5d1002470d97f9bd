import { z } from "zod";
import type { Operation } from "../operations/index.ts";
import { routeOf } from "../operations/index.ts";
import type { Arg, Flag } from "./command.ts";

/** A field of an operation's input as the command line sees it. */
export type Field = {
  name: string;
  doc: string;
  /** `json`: any JSON, or a plain string; `time`: RFC 3339, or such as 30m. */
  kind: "string" | "number" | "boolean" | "list" | "json" | "time";
  nullable: boolean;
  required: boolean;
  choices: readonly string[];
  default: unknown;
  range: string;
};

type Schema = {
  type?: string;
  anyOf?: Schema[];
  format?: string;
  enum?: unknown[];
  items?: Schema;
  description?: string;
  default?: unknown;
  minimum?: number;
  maximum?: number;
};

/** The fields of an operation, from its schema. */
export function fieldsOf(op: Operation): Field[] {
  const schema = z.toJSONSchema(op.input, { io: "input", unrepresentable: "any" }) as {
    properties?: Record<string, Schema>;
    required?: string[];
  };
  const inPath = routeOf(op).params;
  return Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const alternatives = property.anyOf ?? [property];
    const one = alternatives.find(({ type }) => type !== "null") ?? {};
    const only = alternatives.filter(({ type }) => type !== "null").length === 1;
    return {
      name,
      doc: property.description ?? one.description ?? "",
      kind: only ? kindOf(one) : "json",
      nullable: only && alternatives.some(({ type }) => type === "null"),
      required: inPath.includes(name) || (schema.required ?? []).includes(name),
      choices: (one.enum ?? one.items?.enum ?? []).map(String),
      default: property.default ?? one.default,
      range: rangeOf(one),
    };
  });
}

function kindOf({ type, format, items }: Schema): Field["kind"] {
  if (type === "array") return items?.type === "string" ? "list" : "json";
  if (type === "integer" || type === "number") return "number";
  if (type === "boolean") return "boolean";
  if (type === "string") return format === "date-time" ? "time" : "string";
  return "json";
}

function rangeOf({ minimum, maximum }: Schema): string {
  const known = [minimum, maximum].filter((edge) => edge !== undefined && Math.abs(edge) < Number.MAX_SAFE_INTEGER);
  return known.length === 2 ? `${minimum} to ${maximum}` : "";
}

const METAVARS = { string: "TEXT", number: "N", boolean: "", list: "A,B", json: "JSON", time: "TIME" } as const;

/** A field as a flag: kebab-case, with what its values look like. */
export function flagOf(field: Field): Flag {
  const range = field.range === "" ? [] : [field.range];
  const stdin = takesStdin(field) ? ["`-` reads standard input"] : [];
  return {
    name: field.name.replaceAll("_", "-"),
    doc: [field.doc, ...range, ...stdin].filter((part) => part !== "").join("; "),
    takes: field.kind === "boolean" ? "switch" : field.kind === "list" ? "list" : "value",
    metavar: METAVARS[field.kind],
    ...(field.choices.length > 0 ? { choices: field.choices } : {}),
    ...(field.default === undefined ? {} : { default: String(field.default) }),
    ...(field.required ? { required: true } : {}),
  };
}

/** A field as a word of the command. */
export function argOf(field: Field, required: boolean): Arg {
  return { name: field.name, doc: field.doc, required };
}

/** A secret need not stand in the process list, nor a long document in the shell's history. */
export function takesStdin(field: Field): boolean {
  return field.name === "secret" || field.kind === "json";
}
