import { EXAMPLE_PROJECT } from "./example-projects.ts";
import { CONFIG_KEYS, type ConfigKey, type ConfigNode, type ConfigTable } from "./keys.ts";
import { isTable } from "./path.ts";
import { tomlValue } from "./toml-value.ts";

const WIDTH = 100;

const INTRODUCTION = [
  "Postern's configuration. Nothing here is needed: without a file, or with every line left as it is, the defaults " +
    "apply. Each key stands with its default; where there is none, an example stands in its place.",
  "Postern reads the file named by --config, or by $POSTERN_CONFIG, or ./postern.toml, or /etc/postern/postern.toml. " +
    "Relative paths in it start at its folder. The environment wins over the file: POSTERN_HTTP__LISTEN is listen in " +
    "[http], POSTERN_DATA_DIR is data_dir; lists are comma-separated there, and an empty variable counts as unset. " +
    "`postern check` checks it, and `postern config dump` shows what applies and where each value comes from.",
];

/** The text of config.example.toml, made from the schema: every key with its documentation and default, as a comment. */
export function exampleConfig(): string {
  const members = [...CONFIG_KEYS.members.values()];
  const keys = members.filter((member) => member.node === "key");
  const tables = members.filter((member) => member.node === "table");
  const blocks = [
    INTRODUCTION.map((paragraph) => comment(paragraph)).join("\n#\n"),
    ...keys.map(keyBlock),
    ...tables.flatMap((table) =>
      table.repeated ? repeatedBlocks(table, [EXAMPLE_PROJECT], table.name) : sectionBlocks(table),
    ),
  ];
  return `${blocks.join("\n\n")}\n`;
}

/** A section whose header stands uncommented, so that a key works as soon as its own line does. */
function sectionBlocks(table: ConfigTable): string[] {
  const keys = [...table.members.values()].filter((member) => member.node === "key");
  return [`${ruler(table.name)}\n${comment(table.doc)}\n[${table.name}]`, ...keys.map(keyBlock)];
}

function keyBlock(key: ConfigKey): string {
  const shown = key.default ?? key.example;
  const example =
    key.default !== undefined && key.example !== undefined ? ` For example: ${tomlValue(key.example)}.` : "";
  const unset = key.default === undefined ? " Not set by default." : "";
  return `${comment(key.doc + choices(key) + example + unset)}\n# ${key.name} = ${tomlValue(shown)}`;
}

/** Tables that are declared, all of them commented out: each key's documentation stands where it is first used. */
function repeatedBlocks(table: ConfigTable, shown: readonly unknown[], path: string): string[] {
  const explained = new Set<string>();
  return shown.flatMap((values, index) => {
    if (!isTable(values)) return [];
    const header = index === 0 ? `${ruler(path)}\n${comment(table.doc)}\n# [[${path}]]` : `# [[${path}]]`;
    const own = [...table.members.values()].filter((member) => member.node === "key" || member.inline);
    const lines = own
      .filter(({ name }) => values[name] !== undefined)
      .map((member) => declaredKey(member, values[member.name], explained));
    const inner = [...table.members.values()].filter((member) => member.node === "table" && !member.inline);
    const blocks = inner.flatMap((member) => {
      const elements = values[member.name];
      return member.node === "table" && Array.isArray(elements)
        ? repeatedBlocks(member, elements, `${path}.${member.name}`)
        : [];
    });
    return [[header, ...lines].join("\n"), ...blocks];
  });
}

function declaredKey(member: ConfigNode, value: unknown, explained: Set<string>): string {
  const setting = `# ${member.name} = ${tomlValue(value)}`;
  if (explained.has(member.name)) return setting;
  explained.add(member.name);
  return `${comment(member.doc + (member.node === "key" ? choices(member) : ""))}\n${setting}`;
}

function choices(key: ConfigKey): string {
  return key.choices.length === 0 ? "" : ` One of: ${key.choices.join(", ")}.`;
}

function ruler(name: string): string {
  return `# ---- ${name} ${"-".repeat(WIDTH - name.length - 8)}`;
}

/** A paragraph as comment lines of at most 100 columns; a longer word stands on a line of its own. */
function comment(paragraph: string): string {
  const lines: string[] = [];
  let line = "#";
  for (const word of paragraph.split(" ")) {
    if (line.length + 1 + word.length > WIDTH && line !== "#") {
      lines.push(line);
      line = "#";
    }
    line += ` ${word}`;
  }
  return [...lines, line].join("\n");
}
