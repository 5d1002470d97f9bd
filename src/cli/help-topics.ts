import { CONFIG_KEYS, type ConfigNode, type ConfigTable } from "../config/keys.ts";
import { tomlValue } from "../config/toml-value.ts";
import { PROBLEMS } from "../kernel/problems.ts";
import { didYouMean } from "../kernel/suggest.ts";
import { columns, WIDTH, wrapped } from "./columns.ts";
import { OWN_CODES, usageError } from "./exit.ts";
import type { Io } from "./io.ts";

/** `postern help errors`: every error code with its HTTP status. */
export function printErrors(io: Io): number {
  const lines = Object.entries(PROBLEMS).map(([code, [status, title]]) => [code, `${status}  ${title}`] as const);
  const own = columns(Object.entries(OWN_CODES)).join("\n");
  io.out(`The API's error codes, with their HTTP status:\n\n${columns(lines).join("\n")}\n`);
  io.out(`\nThe command line's own:\n\n${own}\n`);
  return 0;
}

/** `postern help config [KEY]`: all keys in short, or one key or section with its documentation. */
export function printKeys(io: Io, key: string | undefined): number {
  const all = [...flatten(CONFIG_KEYS, "")];
  if (key === undefined) {
    const lines = all.filter(([, node]) => node.node === "key").map(([name, node]) => [name, node.doc] as const);
    io.out(
      `The keys of the configuration file. The environment has POSTERN_<SECTION>__<KEY>.\n\n${columns(lines).join("\n")}\n`,
    );
    return 0;
  }
  const wanted = key.replaceAll(/\[\d*\]|\.\d+(?=\.|$)/g, "");
  const found = all.find(([name]) => name === wanted)?.[1];
  if (!found) {
    const names = all.map(([name]) => name);
    const byLast = names.find((name) => name.endsWith(`.${wanted}`));
    const hint = byLast === undefined ? didYouMean(wanted, names) : ` Did you mean \`${byLast}\`?`;
    throw usageError(`there is no configuration key \`${key}\`.${hint}`, "postern help config");
  }
  io.out(`${[wanted, "", ...wrapped(found.doc, WIDTH), "", ...facts(found, wanted)].join("\n")}\n`);
  return 0;
}

function facts(node: ConfigNode, name: string): string[] {
  if (node.node === "table") {
    return columns([...node.members.values()].map((member) => [`${name}.${member.name}`, member.doc] as const));
  }
  const steps = name.split(".");
  return [
    `Type: ${node.kind}${node.choices.length > 0 ? `, one of ${node.choices.join(", ")}` : ""}`,
    node.default === undefined
      ? node.required
        ? "Required"
        : "Not set by default"
      : `Default: ${tomlValue(node.default)}`,
    ...(node.example === undefined ? [] : [`Example: ${node.name} = ${tomlValue(node.example)}`]),
    ...(steps[0] === "projects" ? [] : [`Environment: POSTERN_${steps.join("__").toUpperCase()}`]),
  ];
}

function* flatten(table: ConfigTable, base: string): Generator<readonly [string, ConfigNode]> {
  for (const [name, node] of table.members) {
    const path = base === "" ? name : `${base}.${name}`;
    yield [path, node];
    if (node.node === "table") yield* flatten(node, path);
  }
}
