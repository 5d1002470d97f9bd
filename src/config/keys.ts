import { z } from "zod";
import type { KeyNotes } from "./fields.ts";
import { isTable, type KeyPath } from "./path.ts";
import { configSchema } from "./schema.ts";

/** What may be written for a key. `map` is a table of strings with names of one's own. */
export type ValueKind = "string" | "integer" | "boolean" | "choice" | "list" | "map";

/** One key as the schema describes it. `default` is undefined where there is none; `example` is then what to show. */
export type ConfigKey = {
  node: "key";
  name: string;
  doc: string;
  kind: ValueKind;
  /** What a `choice` may be; empty for other kinds. */
  choices: readonly string[];
  required: boolean;
  default: unknown;
  example: unknown;
  path: boolean;
  secret: KeyNotes["secret"];
};

/** A section, a list of tables (`repeated`), or a small table written on one line (`inline`). */
export type ConfigTable = {
  node: "table";
  name: string;
  doc: string;
  repeated: boolean;
  inline: boolean;
  required: boolean;
  example: unknown;
  members: ReadonlyMap<string, ConfigNode>;
};

export type ConfigNode = ConfigKey | ConfigTable;

/** The schema as a tree of keys: what the example, the dump, the environment and the errors are made from. */
export const CONFIG_KEYS: ConfigTable = describeTable("", configSchema, "");

function describeTable(name: string, schema: z.ZodObject, doc: string): ConfigTable {
  const members = new Map(Object.entries(schema.shape).map(([key, member]) => [key, describe(key, member)]));
  return { node: "table", name, doc, repeated: false, inline: false, required: false, example: undefined, members };
}

function describe(name: string, schema: z.ZodType): ConfigNode {
  const { inner, required, fallback } = unwrap(schema);
  const notes = notesOf(schema);
  const list = inner instanceof z.ZodArray ? unwrap(asType(inner.element)).inner : undefined;
  const table = inner instanceof z.ZodObject ? inner : list instanceof z.ZodObject ? list : undefined;
  if (table) {
    const described = describeTable(name, table, notes.doc);
    const inline = notes.inline === true;
    return { ...described, repeated: table !== inner, inline, required, example: notes.example };
  }
  return {
    node: "key",
    name,
    doc: notes.doc,
    kind: kindOf(inner),
    choices: inner instanceof z.ZodEnum ? inner.options.map(String) : [],
    required,
    default: fallback,
    example: notes.example,
    path: notes.path === true,
    secret: notes.secret,
  };
}

/** Takes off `.optional()`, `.default()` and `.prefault()`. */
function unwrap(schema: z.ZodType): { inner: z.ZodType; required: boolean; fallback: unknown } {
  let inner = schema;
  let required = true;
  let fallback: unknown;
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodDefault || inner instanceof z.ZodPrefault) {
    required = false;
    if (inner instanceof z.ZodDefault) fallback = inner.def.defaultValue;
    inner = asType(inner.unwrap());
  }
  return { inner, required, fallback };
}

/** Zod types what is inside a wrapper more loosely than what it is. */
function asType(schema: z.core.$ZodType): z.ZodType {
  if (schema instanceof z.ZodType) return schema;
  throw new Error("the configuration schema is made of classic zod types");
}

function notesOf(schema: z.ZodType): KeyNotes & { doc: string } {
  const meta = schema.meta();
  if (meta?.description === undefined) throw new Error("every key of the configuration schema is documented");
  return { ...(meta as KeyNotes), doc: meta.description };
}

function kindOf(schema: z.ZodType): ValueKind {
  if (schema instanceof z.ZodString) return "string";
  if (schema instanceof z.ZodNumber) return "integer";
  if (schema instanceof z.ZodBoolean) return "boolean";
  if (schema instanceof z.ZodEnum) return "choice";
  if (schema instanceof z.ZodArray) return "list";
  if (schema instanceof z.ZodRecord) return "map";
  throw new Error(`the configuration schema has a type that the example and the environment cannot show`);
}

/** The table that a path leads to, list places left out of account; undefined where the schema has none. */
export function tableAt(path: KeyPath): ConfigTable | undefined {
  let table = CONFIG_KEYS;
  for (const step of path) {
    if (typeof step === "number") continue;
    const next = table.members.get(step);
    if (next?.node !== "table") return undefined;
    table = next;
  }
  return table;
}

/** One key of a configuration, with its value; undefined where it is not set. */
export type Entry = { path: KeyPath; key: ConfigKey; value: unknown };

/** Every key of a configuration in the schema's order, the elements of repeated tables one by one. */
export function* entries(value: unknown, table: ConfigTable = CONFIG_KEYS, base: KeyPath = []): Generator<Entry> {
  for (const [name, member] of table.members) {
    const path = [...base, name];
    const inside = isTable(value) && Object.hasOwn(value, name) ? value[name] : undefined;
    if (member.node === "key") yield { path, key: member, value: inside };
    else if (!member.repeated) {
      if (inside !== undefined) yield* entries(inside, member, path);
    } else if (Array.isArray(inside)) {
      for (const [index, element] of inside.entries()) yield* entries(element, member, [...path, index]);
    }
  }
}
