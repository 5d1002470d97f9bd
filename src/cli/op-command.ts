import { type Operation, routeOf } from "../operations/index.ts";
import { printAnswer } from "./answer.ts";
import { sendText } from "./client.ts";
import { type Arg, type Call, type Command, type Flag, flag } from "./command.ts";
import { connectionOf } from "./connection.ts";
import { EXAMPLES } from "./examples.ts";
import { usageError } from "./exit.ts";
import { argOf, type Field, fieldsOf, flagOf } from "./op-fields.ts";
import { bodyText, gatherInput, verifyInput } from "./op-input.ts";
import { idFor } from "./resolve-name.ts";

/** The commands of the operations; those of one name are one command, told apart by whether its word is given. */
export function operationCommands(operations: readonly Operation[]): Command[] {
  const byCommand = Map.groupBy(operations, (op) => op.cli.command);
  return [...byCommand].map(([command, variants]) => commandOf(command, variants));
}

/** Fields, and so words and flags, are worked out when they are asked for: most command lines need those of one command. */
function commandOf(command: string, variants: readonly Operation[]): Command {
  let worked: Variant[] | undefined;
  const all = () => {
    worked ??= variants.map((op) => ({ op, fields: fieldsOf(op) }));
    return worked;
  };
  const details = detailsOf(variants);
  const examples = EXAMPLES[command];
  return {
    words: command.split(" "),
    summary: variants[0]?.summary ?? "",
    ...(details === "" ? {} : { details }),
    ...(examples ? { examples } : {}),
    get args() {
      return argsOf(all());
    },
    get flags() {
      return flagsOf(all());
    },
    run: (call) => runVariant(call, all(), `postern ${command} --help`),
  };
}

function detailsOf(variants: readonly Operation[]): string {
  const word = variants.flatMap((op) => op.cli.args ?? [])[0]?.toUpperCase() ?? "";
  const sentence = (op: Operation) => `${op.cli.args?.length ? "With" : "Without"} ${word}: ${op.summary}.`;
  return [
    ...(variants.length > 1 ? variants.map(sentence) : []),
    ...variants.flatMap((op) => (op.description === undefined ? [] : [op.description])),
  ].join(" ");
}

/** The words without a flag: optional where a variant of the command has none. */
function argsOf(variants: readonly Variant[]): Arg[] {
  const optional = variants.some(({ op }) => !op.cli.args?.length);
  const withArgs = variants.find(({ op }) => op.cli.args?.length);
  return (withArgs?.op.cli.args ?? []).flatMap((name) => {
    const field = withArgs?.fields.find((one) => one.name === name);
    return field ? [argOf(field, !optional && field.required)] : [];
  });
}

type Variant = { op: Operation; fields: readonly Field[] };

function flagsOf(variants: readonly Variant[]): Flag[] {
  const flags = new Map<string, Flag>();
  for (const { op, fields } of variants) {
    for (const field of fields) {
      if (op.cli.args?.includes(field.name)) continue;
      const made = flagOf(field);
      const shared = variants.length > 1 && made.required ? { ...made, required: false } : made;
      flags.set(made.name, flags.get(made.name) ?? shared);
    }
    if (!op.http.startsWith("GET") && !op.http.startsWith("DELETE") && fields.length > (op.cli.args?.length ?? 0)) {
      flags.set("file", FILE);
    }
    if (op.creates) flags.set("idempotency-key", IDEMPOTENCY);
  }
  return [...flags.values()];
}

const FILE: Flag = {
  name: "file",
  doc: "A JSON object with the fields; flags win over it; `-` reads standard input",
  takes: "value",
  metavar: "FILE",
};
const IDEMPOTENCY: Flag = {
  name: "idempotency-key",
  doc: "24 hours: the same key makes nothing a second time",
  takes: "value",
  metavar: "TEXT",
};

async function runVariant(call: Call, variants: readonly Variant[], help: string): Promise<number> {
  const chosen =
    variants.length === 1
      ? variants[0]
      : variants.find(({ op }) => (op.cli.args?.length ?? 0) > 0 === call.args.length > 0);
  if (!chosen) throw usageError("an argument is missing", help);
  const { op, fields } = chosen;
  for (const [name, values] of call.flags) {
    const elsewhere = variants.some(
      (other) => other !== chosen && other.fields.some((one) => flagOf(one).name === name),
    );
    if (!elsewhere || fields.some((one) => flagOf(one).name === name)) continue;
    const word = call.args.length > 0 ? `together with ${values.length > 0 ? call.args[0] : ""}` : "without an ID";
    throw usageError(`--${name} does not go ${word}`, help);
  }
  const missing = op.cli.args?.find((name, index) => {
    const required = fields.find((one) => one.name === name)?.required ?? true;
    return required && call.args[index] === undefined && call.flags.get("file") === undefined;
  });
  if (missing !== undefined) throw usageError(`${missing.toUpperCase()} is missing`, help);
  const input = await gatherInput(call, op, fields);
  const connection = await connectionOf(call);
  const { method, path, params } = routeOf(op);
  for (const name of params) {
    const value = input.values[name];
    if (typeof value === "string") input.values[name] = await idFor(connection, path, value);
  }
  verifyInput(op, input, fields, help);
  const key = flag(call, "idempotency-key");
  const hasBody = method === "POST" || method === "PATCH";
  const target = path.replaceAll(/:([a-z_]+)/g, (_, name: string) => encodeURIComponent(String(input.values[name])));
  const text = await sendText(connection, method, target, {
    ...(hasBody ? { body: bodyText(input, params) } : { query: queryOf(input.values, params) }),
    ...(key === undefined ? {} : { headers: { "idempotency-key": key } }),
  });
  return await printAnswer(call, op, text, connection);
}

function queryOf(values: Readonly<Record<string, unknown>>, leaveOut: readonly string[]): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (leaveOut.includes(name)) continue;
    for (const one of Array.isArray(value) ? value : [value]) query.append(name, String(one));
  }
  return query;
}
