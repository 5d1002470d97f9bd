import { describe, expect, test } from "bun:test";
import { leadingWords, parseArgs } from "../../src/cli/argv.ts";
import type { Flag } from "../../src/cli/command.ts";
import { CliError } from "../../src/cli/exit.ts";
import { absoluteTime } from "../../src/cli/relative-time.ts";

const FLAGS: Flag[] = [
  { name: "verified", doc: "", takes: "switch" },
  { name: "lease-seconds", doc: "", takes: "value" },
  { name: "status", doc: "", takes: "value", choices: ["pending", "dead"] },
  { name: "scopes", doc: "", takes: "list" },
  { name: "secret", doc: "", takes: "value" },
];
const ARGS = [{ name: "id", doc: "", required: true }];

function parsed(...argv: string[]): Record<string, string[]> {
  const { args, flags } = parseArgs(argv, FLAGS, ARGS, "postern x --help");
  return { args, ...Object.fromEntries(flags) };
}

function refusal(...argv: string[]): CliError {
  try {
    parsed(...argv);
  } catch (error) {
    if (error instanceof CliError) return error;
    throw error;
  }
  throw new Error(`${argv.join(" ")} was taken`);
}

describe("a command's flags", () => {
  test("stand before and after its words, with or without an equals sign", () => {
    expect(parsed("--lease-seconds", "60", "evt_1")).toEqual({ args: ["evt_1"], "lease-seconds": ["60"] });
    expect(parsed("evt_1", "--lease-seconds=60")).toEqual({ args: ["evt_1"], "lease-seconds": ["60"] });
    expect(parsed("evt_1", "--lease_seconds=60")).toEqual({ args: ["evt_1"], "lease-seconds": ["60"] });
  });

  test.each([
    [["--verified"], "true"],
    [["--verified=false"], "false"],
    [["--verified", "false"], "false"],
    [["--no-verified"], "false"],
    [["--no-verified=false"], "true"],
  ])("a switch given as %j is %s", (argv, value) => {
    expect(parsed(...argv)).toEqual({ args: [], verified: [value] });
  });

  test("a list may be given several times, another flag once", () => {
    expect(parsed("--scopes", "a,b", "--scopes", "c")).toEqual({ args: [], scopes: ["a,b", "c"] });
    expect(refusal("--secret", "a", "--secret", "b").message).toContain("--secret is given twice");
  });

  test("a value may be a dash, begin with one, or be empty", () => {
    expect(parsed("--secret", "-")).toEqual({ args: [], secret: ["-"] });
    expect(parsed("--secret", "--x--")).toEqual({ args: [], secret: ["--x--"] });
    expect(parsed("--secret=")).toEqual({ args: [], secret: [""] });
  });

  test("after two dashes all are words", () => {
    expect(parsed("--", "--verified")).toEqual({ args: ["--verified"] });
  });

  test.each([
    [["--lease-second", "1"], "Did you mean `--lease-seconds`?"],
    [["--status", "ded"], "Did you mean `dead`?"],
    [["--jsn"], "Did you mean `--json`?"],
    [["--secret"], "--secret needs a value"],
    [["--secret", "--verified"], "--secret needs a value"],
    [["-x"], "flags begin with two dashes"],
    [["a", "verifed"], "Did you mean `--verified`?"],
    [["--verified=maybe"], "takes true or false"],
  ])("%j is a usage error that says what is right", (argv, message) => {
    expect(refusal(...argv).message).toContain(message);
    expect(refusal(...argv).exit).toBe(2);
  });
});

test("global flags may stand before the command's words", () => {
  const known = ["inbox", "inbox list"];
  expect(
    leadingWords(["--url", "http://x", "inbox", "--json", "list", "--limit", "3"], (w) => known.includes(w.join(" "))),
  ).toEqual({ words: ["inbox", "list"], rest: ["--url", "http://x", "--json", "--limit", "3"] });
});

test.each([
  ["30m", false, "2026-10-07T08:42:44.120Z"],
  ["7d", false, "2026-09-30T09:12:44.120Z"],
  ["30d", true, "2026-11-06T09:12:44.120Z"],
  ["2026-10-01", false, "2026-10-01T00:00:00Z"],
  ["2026-10-01T00:00:00+02:00", false, "2026-10-01T00:00:00+02:00"],
  ["yesterday", false, "yesterday"],
])("the time %s is %s", (text, ahead, absolute) => {
  expect(absoluteTime(text, Date.UTC(2026, 9, 7, 9, 12, 44, 120), ahead)).toBe(absolute);
});
