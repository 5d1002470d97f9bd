import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { allCommands } from "../../src/cli/tree.ts";
import { needsCommand, testWith } from "../support/needs.ts";
import { tempDir } from "../support/tmp.ts";
import { runCli } from "./support.ts";

async function scriptFile(shell: string): Promise<string> {
  const { code, out } = await runCli(["completions", shell]);
  expect(code).toBe(0);
  const path = join(tempDir("completions"), `postern.${shell}`);
  writeFileSync(path, out);
  return path;
}

/** What bash offers for a line whose last word is being typed. */
async function offered(script: string, ...words: string[]): Promise<string[]> {
  const program = `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _postern; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const child = Bun.spawn(["bash", "-c", program, script, "postern", ...words], { stdout: "pipe", stderr: "pipe" });
  const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  expect(err).toBe("");
  return out.split("\n").filter((line) => line !== "");
}

describe("completion in bash", async () => {
  const script = await scriptFile("bash");

  test("the script is sound", async () => {
    expect(await Bun.spawn(["bash", "-n", script]).exited).toBe(0);
  });

  test("every command can be completed word by word", async () => {
    for (const { words } of await allCommands()) {
      const last = words.at(-1) ?? "";
      expect(await offered(script, ...words.slice(0, -1), last.slice(0, 1))).toContain(last);
    }
  });

  test.each([
    [["inbox", "list", "--st"], ["--status"]],
    [
      ["inbox", "list", "--status", "d"],
      ["done", "dead"],
    ],
    [["--project", "inbox", "keys", "fr"], ["freeze"]],
    [
      ["completions", ""],
      ["bash", "zsh", "fish"],
    ],
    [
      ["keys", "create", "--preset", ""],
      ["agent", "operator", "reporter"],
    ],
    [["inbox", "list", "--limit", ""], []],
  ])("%j offers %j", async (words, words_) => {
    expect(await offered(script, ...words)).toEqual(words_);
  });
});

for (const [shell, check] of [
  ["zsh", ["-n"]],
  ["fish", ["--no-execute"]],
] as const) {
  testWith(needsCommand(shell))(`the script for ${shell} is sound`, async () => {
    expect(await Bun.spawn([shell, ...check, await scriptFile(shell)]).exited).toBe(0);
  });
}

test("a shell that there is none for is refused", async () => {
  expect((await runCli(["completions", "tcsh"])).code).toBe(2);
});
