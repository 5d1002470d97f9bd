import { expect, test } from "bun:test";
import { join } from "node:path";
import { CONFIG_KEYS, type ConfigTable } from "../../src/config/keys.ts";
import { configSchema } from "../../src/config/schema.ts";
import { projectRoot } from "../support/paths.ts";
import { accepted } from "./setup.ts";

const example = await Bun.file(join(projectRoot, "config.example.toml")).text();

/** The example with every setting in force. */
const uncommented = example.replace(/^# (?=\[\[|[a-z_]+ = )/gm, "");
const env = { CREDENTIALS_DIRECTORY: "/run/credentials/postern.service" };

test("the example is the one that the schema makes (bun run test/config/write-example.ts)", async () => {
  const { exampleConfig } = await import("../../src/config/example.ts");
  expect(example).toBe(exampleConfig());
});

test("as it stands, it changes nothing", () => {
  const { config } = accepted({ toml: example });
  expect(config).toEqual(accepted({}).config);
  expect({ ...config, data_dir: "./postern-data" }).toEqual(configSchema.parse({}));
});

test("every setting in it can be put in force", () => {
  const { config } = accepted({ toml: uncommented, env });
  expect(config.projects[0]?.sources.map(({ name }) => name)).toEqual([
    "billing",
    "builds",
    "shop",
    "monitoring",
    "office",
  ]);
  expect(config.mail.relay).toBe("smtp://mail.example.org:587");
});

test("a key with a default stands there with it", () => {
  const { config } = accepted({ toml: uncommented, env });
  const defaults = configSchema.parse({});
  for (const section of ["http", "smtp", "dns", "delivery", "requests", "retention", "log"] as const) {
    expect(config[section]).toMatchObject(defaults[section]);
  }
});

test("it documents every key", () => {
  const missing = (table: ConfigTable, header: string): string[] =>
    [...table.members.values()].flatMap((member) => {
      if (member.node === "table" && !member.inline) {
        const path = header === "" ? member.name : `${header}.${member.name}`;
        const shown = uncommented.includes(member.repeated ? `\n[[${path}]]\n` : `\n[${path}]\n`);
        return [...(shown ? [] : [path]), ...missing(member, path)];
      }
      const block = new RegExp(`^# .+\\n${member.name} = `, "m");
      return block.test(tableText(header)) ? [] : [`${header}.${member.name}`];
    });
  expect(missing(CONFIG_KEYS, "")).toEqual([]);
});

/** What stands under a header, wherever it is repeated. */
function tableText(header: string): string {
  const parts = uncommented.split(/^(?=\[)/m);
  if (header === "") return parts[0] ?? "";
  return parts.filter((part) => part.startsWith(`[${header}]`) || part.startsWith(`[[${header}]]`)).join("");
}

test("its lines are at most 100 columns wide", () => {
  expect(example.split("\n").filter((line) => line.length > 100)).toEqual([]);
});

test("the defaults pass their own checks", () => {
  const defaults = configSchema.parse({});
  expect(configSchema.parse(defaults)).toEqual(defaults);
});
