import { describe, expect, test } from "bun:test";
import { parseArgs } from "../../src/cli/argv.ts";
import { allCommands } from "../../src/cli/tree.ts";
import { CONFIG_KEYS } from "../../src/config/keys.ts";
import { PROBLEMS } from "../../src/kernel/problems.ts";
import { OPERATIONS } from "../../src/operations/index.ts";
import { runCli } from "./support.ts";

const commands = await allCommands();

describe("help", () => {
  test("every operation is a command, and each of its fields a flag or a word", async () => {
    for (const op of OPERATIONS) {
      const help = await runCli([...op.cli.command.split(" "), "--help"]);
      expect(help.code, op.name).toBe(0);
      for (const field of Object.keys(op.input.shape)) {
        const shown = op.cli.args?.includes(field) ? field.toUpperCase() : `${field.replaceAll("_", "-")}`;
        expect(help.out, op.name).toContain(shown);
      }
    }
  });

  test("every command has a summary, the exit codes, and says each flag of its own", async () => {
    for (const command of commands) {
      const { code, out } = await runCli([...command.words, "--help"]);
      expect(code).toBe(0);
      expect(out).toStartWith(command.summary);
      expect(out).toContain("Exit codes:");
      for (const flag of command.flags) expect(out).toContain(`${flag.name}`);
    }
  });

  test("no two commands share their words, and no flag hides a global one", () => {
    const names = commands.map(({ words }) => words.join(" "));
    expect(new Set(names).size).toBe(names.length);
    for (const { flags, words } of commands) {
      for (const { name } of flags) {
        expect(["url", "key", "project", "profile", "config", "json", "jsonl", "help"], words.join(" ")).not.toContain(
          name,
        );
      }
    }
  });

  test("every example is a command line that parses", () => {
    for (const { examples = [], words, flags, args } of commands) {
      for (const example of examples.filter((line) => line.startsWith("postern "))) {
        const [line = ""] = example.split(/ [<>] /);
        const tokens = [...line.matchAll(/'([^']*)'|(\S+)/g)].map((match) => match[1] ?? match[2] ?? "");
        expect(tokens.slice(1, 1 + words.length)).toEqual([...words]);
        expect(() => parseArgs(tokens.slice(1 + words.length), flags, args, ""), example).not.toThrow();
      }
    }
  });

  test("a command without its words shows what there is and is a usage error", async () => {
    const bare = await runCli([]);
    expect(bare).toMatchObject({ code: 2, out: "" });
    expect(bare.err).toContain("Usage: postern COMMAND");
    expect((await runCli(["inbox"])).err).toContain("claim");
    expect((await runCli(["--help"])).code).toBe(0);
    expect((await runCli(["inbox", "--help"])).code).toBe(0);
  });

  test("`help errors` has every code, `help config` every key", async () => {
    const errors = await runCli(["help", "errors"]);
    for (const [code, [status]] of Object.entries(PROBLEMS))
      expect(errors.out).toMatch(new RegExp(`${code}\\s+${status}`));
    const keys = await runCli(["help", "config"]);
    for (const section of CONFIG_KEYS.members.keys()) expect(keys.out).toContain(section);
    const one = await runCli(["help", "config", "http.listen"]);
    expect(one.out).toContain("POSTERN_HTTP__LISTEN");
    expect(one.out).toContain("127.0.0.1:8484");
    expect((await runCli(["help", "config", "listen"])).err).toContain("Did you mean `http.listen`?");
  });
});

describe("a mistyped line", () => {
  test.each([
    [["inbxo", "list"], "inbox"],
    [["inbox", "clam"], "claim"],
    [["sources", "craete"], "create"],
    [["inbox", "list", "--stauts", "dead"], "--status"],
    [["inbox", "list", "--status", "deed"], "dead"],
    [["keys", "create", "--name", "x", "--kind", "aplication"], "application"],
    [["help", "errrs"], "errors"],
    [["completions", "bahs"], "bash"],
    [["config", "dmp"], "dump"],
  ])("%j gets the nearest right one and exit 2", async (argv, right) => {
    const { code, err, out } = await runCli(argv);
    expect(err).toContain(`Did you mean \`${right}\`?`);
    expect({ code, out }).toEqual({ code: 2, out: "" });
  });

  test("values are checked before anything is sent", async () => {
    const { code, err } = await runCli(["inbox", "list", "--limit", "1000", "--since", "yesterday"]);
    expect(code).toBe(2);
    expect(err).toContain("--limit: must be a number, 1 to 100");
    expect(err).toContain("--since: must be RFC 3339");
  });

  test("a flag of the other variant of a command is refused", async () => {
    const { code, err } = await runCli(["inbox", "claim", "evt_01k6xyh4w1f4mr3n7v0e8a2b9c", "--max", "3"]);
    expect(code).toBe(2);
    expect(err).toContain("--max does not go together with");
  });
});
