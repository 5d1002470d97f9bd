import { CONFIG_KEYS, type ConfigKey, type ConfigNode, type ConfigTable } from "./keys.ts";
import type { LoadedConfig } from "./load.ts";
import { dotted, isTable, type KeyPath } from "./path.ts";
import { tomlKey, tomlValue } from "./toml-value.ts";

/** What stands in place of a secret. */
const MASK = "********";

/** The effective configuration as TOML: every key with its value, secrets masked, and where the value comes from. */
export function dumpConfig(loaded: LoadedConfig, { showOrigins }: { showOrigins: boolean }): string {
  const source = loaded.file === null ? "no file" : JSON.stringify(loaded.file);
  const head = `# The effective configuration, from ${source}, the environment and the defaults. Secrets are masked.`;
  const lines = new Dump(loaded, showOrigins).table(loaded.config, CONFIG_KEYS, []);
  return `${[head, ...lines].join("\n")}\n`;
}

class Dump {
  readonly #loaded: LoadedConfig;
  readonly #showOrigins: boolean;

  constructor(loaded: LoadedConfig, showOrigins: boolean) {
    this.#loaded = loaded;
    this.#showOrigins = showOrigins;
  }

  /** The lines of a table: its own keys first, then the tables in it, as TOML needs it. */
  table(value: unknown, table: ConfigTable, path: KeyPath): string[] {
    if (!isTable(value)) return [];
    const members = [...table.members].map(([name, member]) => ({ path: [...path, name], member, value: value[name] }));
    const onLines = members.filter(({ member }) => onOneLine(member));
    const inTables = members.filter(({ member }) => !onOneLine(member));
    return [
      ...onLines.flatMap(({ path, member, value }) => this.#pair(path, member, value)),
      ...inTables.flatMap(({ path, member, value }) =>
        member.node === "table" ? this.#section(path, member, value) : [],
      ),
    ];
  }

  #section(path: KeyPath, table: ConfigTable, value: unknown): string[] {
    const name = path
      .filter((step) => typeof step === "string")
      .map(tomlKey)
      .join(".");
    if (!table.repeated) return ["", `[${name}]`, ...this.table(value, table, path)];
    const elements = Array.isArray(value) ? value : [];
    return elements.flatMap((element, index) => ["", `[[${name}]]`, ...this.table(element, table, [...path, index])]);
  }

  #pair(path: KeyPath, member: ConfigNode, value: unknown): string[] {
    const declared = path.length > 2;
    if (value === undefined) return declared ? [] : [`# ${member.name} is not set`];
    const shown = tomlValue(member.node === "key" ? masked(member, value) : value);
    return [`${member.name} = ${shown}${this.#origin(path, member)}`];
  }

  #origin(path: KeyPath, member: ConfigNode): string {
    if (!this.#showOrigins) return "";
    // A small table's own line is that of its first key.
    const first = member.node === "table" ? [...member.members.keys()].map((name) => [...path, name]) : [path];
    const origins = first.map((place) => this.#loaded.origins.get(dotted(place)));
    const origin = origins.find((found) => found !== undefined && found !== "default") ?? "default";
    return `  # ${origin.startsWith("file:") ? `${JSON.stringify(this.#loaded.file).slice(1, -1)}${origin.slice(4)}` : origin}`;
  }
}

function onOneLine(node: ConfigNode): boolean {
  return node.node === "key" || node.inline;
}

/** The value with what is secret in it taken out. */
function masked(key: ConfigKey, value: unknown): unknown {
  if (key.secret === "value") return MASK;
  if (key.secret === "members" && isTable(value)) {
    return Object.fromEntries(Object.keys(value).map((name) => [name, MASK]));
  }
  return key.secret === "url" && typeof value === "string" ? maskedUrl(value) : value;
}

/** A URL without its user and password and without its query and fragment: services put tokens in all of them. */
function maskedUrl(text: string): string {
  return text
    .replace(/^([^/?#]*\/\/)?[^/?#]*@/, (_, scheme = "") => `${scheme}${MASK}@`)
    .replace(/[?#].*$/s, (tail) => `${tail[0]}${MASK}`);
}
