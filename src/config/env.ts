import { parse, TomlError } from "smol-toml";
import { didYouMean, nearest } from "../kernel/suggest.ts";
import type { ConfigError } from "./errors.ts";
import { CONFIG_KEYS, type ConfigKey } from "./keys.ts";
import { dotted, isTable, type KeyPath } from "./path.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

const PREFIX = "POSTERN_";
/** The command line's own variables, which are no settings. */
const COMMAND_LINE = new Set(["POSTERN_CONFIG", "POSTERN_URL", "POSTERN_KEY", "POSTERN_PROJECT"]);

type Setting = { path: KeyPath; key: ConfigKey };

/** Every setting that a variable can give, by the variable's name. */
const SETTINGS: ReadonlyMap<string, Setting> = settings();

function settings(): Map<string, Setting> {
  const found = new Map<string, Setting>();
  for (const [name, member] of CONFIG_KEYS.members) {
    if (member.node === "key") found.set(variableName([name]), { path: [name], key: member });
    else if (!member.repeated) {
      for (const [inner, key] of member.members) {
        if (key.node === "key") found.set(variableName([name, inner]), { path: [name, inner], key });
      }
    }
  }
  return found;
}

/** `POSTERN_HTTP__LISTEN` for `http.listen`. */
function variableName(path: KeyPath): string {
  return PREFIX + path.join("__").toUpperCase();
}

/** What the environment sets: the values by path, and which variable gave each, by dotted key. */
export type Overrides = {
  values: { path: KeyPath; value: unknown }[];
  variables: Map<string, string>;
  errors: ConfigError[];
};

/**
 * Reads `POSTERN_<SECTION>__<KEY>`, in any case after the prefix. An empty variable counts as unset. Lists are
 * comma-separated, or TOML. `mentioned` are variables that the file names as holding a secret: they are no settings.
 */
export function readOverrides(env: Environment, mentioned: ReadonlySet<string>): Overrides {
  const overrides: Overrides = { values: [], variables: new Map(), errors: [] };
  for (const [name, text] of Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (!name.startsWith(PREFIX) || COMMAND_LINE.has(name) || mentioned.has(name) || !text) continue;
    const setting = SETTINGS.get(name.toUpperCase());
    if (setting) take(overrides, name, text, setting);
    else {
      const message = unknownVariable(name);
      if (message !== undefined) overrides.errors.push({ file: name, line: 0, key: "", message });
    }
  }
  return overrides;
}

function take(overrides: Overrides, name: string, text: string, { path, key }: Setting): void {
  const id = dotted(path);
  const other = overrides.variables.get(id);
  const wrong = other === undefined ? undefined : `is set by ${other} as well; keep one of them`;
  const value = wrong === undefined ? settingValue(key, text) : undefined;
  if (value === undefined) {
    const message = wrong ?? "must be comma-separated, or a TOML list of strings";
    overrides.errors.push({ file: name, line: 0, key: id, message });
    return;
  }
  overrides.variables.set(id, name);
  overrides.values.push({ path, value });
}

/** The value of a variable's text. What has another form stays a string, for the schema to refuse. Undefined: a broken list. */
function settingValue(key: ConfigKey, text: string): unknown {
  const trimmed = text.trim();
  if (key.kind === "integer") return /^[+-]?\d{1,15}$/.test(trimmed) ? Number(trimmed) : text;
  if (key.kind === "boolean") {
    if (/^(?:true|1|yes|on)$/i.test(trimmed)) return true;
    return /^(?:false|0|no|off)$/i.test(trimmed) ? false : text;
  }
  if (key.kind !== "list") return text;
  if (trimmed.startsWith("[")) return tomlList(trimmed);
  return trimmed
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

function tomlList(text: string): unknown {
  try {
    return parse(`list = ${text}`).list;
  } catch (error) {
    if (error instanceof TomlError) return undefined;
    throw error;
  }
}

/** What is wrong with a variable that is no setting; undefined where it looks like somebody else's. */
function unknownVariable(name: string): string | undefined {
  const rest = name.slice(PREFIX.length).toLowerCase();
  if (/^projects?__/.test(rest)) return "is no setting: projects are declared in the configuration file only.";
  const known = [...SETTINGS.keys()];
  if (rest.includes("__")) return `is no setting.${suggestSetting(rest) || didYouMean(name, known)}`;
  // A single underscore between section and key is the usual slip.
  const slip = known.find((candidate) => candidate.replace("__", "_") === name.toUpperCase());
  const topLevel = known
    .filter((candidate) => !candidate.includes("__"))
    .map((candidate) => candidate.slice(PREFIX.length));
  const near = slip?.slice(PREFIX.length) ?? nearest(rest, topLevel);
  return near === undefined ? undefined : `is no setting. Did you mean \`${PREFIX}${near}\`?`;
}

/** Looks for the section first, then for the key in it. */
function suggestSetting(rest: string): string {
  const [section = "", key = ""] = rest.split(/__(.*)/s);
  const sections = [...CONFIG_KEYS.members].filter(([, member]) => member.node === "table" && !member.repeated);
  const name = sections.some(([known]) => known === section)
    ? section
    : nearest(
        section,
        sections.map(([known]) => known),
      );
  const member = name === undefined ? undefined : CONFIG_KEYS.members.get(name);
  if (name === undefined || member?.node !== "table") return "";
  const near = member.members.has(key) ? key : nearest(key, member.members.keys());
  if (near !== undefined) return ` Did you mean \`${variableName([name, near])}\`?`;
  return ` The keys of [${name}] are: ${[...member.members.keys()].join(", ")}.`;
}

/** Puts the values of the environment over those of the file. A section that is no table is left for the schema to refuse. */
export function applyOverrides(raw: Record<string, unknown>, overrides: Overrides): void {
  for (const { path, value } of overrides.values) {
    let table: unknown = raw;
    for (const step of path.slice(0, -1)) {
      if (!isTable(table)) break;
      table[step] ??= {};
      table = table[step];
    }
    const last = path.at(-1);
    if (isTable(table) && last !== undefined) table[last] = value;
  }
}
