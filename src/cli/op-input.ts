import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { encodeJson, parseJson, RawJson } from "../kernel/json.ts";
import { isProblem } from "../kernel/problems.ts";
import { checkInput, fromStrings, type Operation } from "../operations/index.ts";
import { type Call, flag } from "./command.ts";
import { usageError } from "./exit.ts";
import { type Field, takesStdin } from "./op-fields.ts";
import { membersOf } from "./raw-json.ts";
import { absoluteTime } from "./relative-time.ts";

/** An operation's input: the values as the schema takes them, and the JSON text of each as it was written. */
export type OpInput = { values: Record<string, unknown>; texts: Record<string, RawJson | unknown> };

/** Collects an operation's input from words, flags and `--file`. Throws a usage error that names the wrong flag. */
export async function gatherInput(call: Call, op: Operation, fields: readonly Field[]): Promise<OpInput> {
  const input: OpInput = { values: {}, texts: {} };
  await takeFile(call, input);
  for (const field of fields) {
    const given = await givenFor(call, op, field);
    if (given === undefined) continue;
    const { value, text } = typed(op, field, given);
    input.values[field.name] = value;
    input.texts[field.name] = text;
  }
  return input;
}

/** Checks the input against the operation's schema, before anything is sent. */
export function verifyInput(op: Operation, { values }: OpInput, fields: readonly Field[], help: string): void {
  const checked = checkInput(op.input, values, []);
  if (!isProblem(checked)) return;
  const lines = (checked.errors ?? []).map(({ path, message }) => {
    const [first = "", ...inner] = path.split(".");
    const field = fields.find(({ name }) => name === first);
    const where = op.cli.args?.includes(first) ? first.toUpperCase() : `--${first.replaceAll("_", "-")}`;
    if (path === "" || !field) return path === "" ? message : `${path}: ${message}`;
    return `${[where, ...inner].join(".")}: ${inner.length > 0 ? message : forPeople(field, values[first], message)}`;
  });
  throw usageError(lines.join("\n"), help);
}

/** A schema's message in the words of the command line. */
function forPeople(field: Field, value: unknown, message: string): string {
  if (value === undefined) {
    return field.choices.length > 0 ? `is missing; one of ${field.choices.join(", ")}` : "is missing";
  }
  if (field.kind === "time")
    return "must be RFC 3339, such as 2026-10-07T09:12:44Z, or relative, such as 30m, 12h or 7d";
  if (field.kind !== "number") return message;
  return field.range === "" ? "must be a number" : `must be a number, ${field.range}`;
}

/** The body to send: JSON that was given keeps every token. */
export function bodyText({ texts }: OpInput, leaveOut: readonly string[]): string {
  return encodeJson(Object.fromEntries(Object.entries(texts).filter(([name]) => !leaveOut.includes(name))));
}

async function takeFile(call: Call, input: OpInput): Promise<void> {
  const file = flag(call, "file");
  if (file === undefined) return;
  const text = file === "-" ? await call.io.input() : readGiven(call, file);
  const members = parseJson(text) === undefined ? undefined : membersOf(text);
  if (!members) throw usageError(`--file ${file}: holds no JSON object`);
  for (const [name, raw] of members) {
    input.values[name] = JSON.parse(raw);
    input.texts[name] = new RawJson(raw);
  }
}

/** A file that was named on the command line, as text. */
export function readGiven(call: Call, file: string): string {
  try {
    return readFileSync(resolve(call.io.cwd, file), "utf8");
  } catch (error) {
    throw usageError(`${file} cannot be read (${error instanceof Error && "code" in error ? error.code : "unknown"})`);
  }
}

async function givenFor(call: Call, op: Operation, field: Field): Promise<readonly string[] | undefined> {
  const place = op.cli.args?.indexOf(field.name) ?? -1;
  const word = place < 0 ? undefined : call.args[place];
  const given = word === undefined ? call.flags.get(field.name.replaceAll("_", "-")) : [word];
  if (given?.length !== 1 || given[0] !== "-" || !takesStdin(field)) return given;
  const read = (await call.io.input()).replace(/\r?\n$/, "");
  if (read === "") throw usageError(`--${field.name} -: standard input is empty`);
  return [read];
}

function typed(op: Operation, field: Field, given: readonly string[]): { value: unknown; text: unknown } {
  const last = given.at(-1) ?? "";
  if (field.nullable && last === "null") return { value: null, text: null };
  if (field.kind === "json") {
    const parsed = parseJson(last);
    return parsed ? { value: parsed.value, text: new RawJson(last) } : { value: last, text: last };
  }
  const ahead = field.name.startsWith("expires");
  const flat = field.kind === "list" ? given.flatMap((one) => one.split(",")).filter((one) => one !== "") : last;
  const text = field.kind === "time" && typeof flat === "string" ? absoluteTime(flat, Date.now(), ahead) : flat;
  const value = fromStrings(op.input, { [field.name]: text })[field.name];
  return { value, text: value };
}
