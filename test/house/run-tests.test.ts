import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { projectRoot } from "../support/paths.ts";
import { tempDir } from "../support/tmp.ts";

const PASSES = `test("good", () => {});`;
const FAILS = `test("bad", () => { throw new Error("so it is"); });`;
const SKIPS = `describe.skip("mail (skipped: needs the package <swaks>)", () => { test("one", () => {}); });`;
const SKIPS_SILENTLY = `test.skip("why", () => {});`;

/** What the tool says of these test files, each without its first line, and how it ends. */
async function runTests(files: Record<string, string>, env: Record<string, string> = {}, paths: string[] = []) {
  const root = tempDir("run");
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), `import { describe, test } from "bun:test";\n${text}\n`);
  }
  const child = Bun.spawn([process.execPath, join(projectRoot, "test/tools/run-tests.ts"), ...paths], {
    cwd: root,
    env: { ...process.env, POSTERN_NO_SKIPS: "", ...env },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { code, stdout, stderr, last: stdout.trimEnd().split("\n").at(-1) };
}

describe("the test command", () => {
  test("closes with the sum of what ran before and with the binary", async () => {
    const files = { "test/a.test.ts": PASSES, "test/deep/b.test.ts": PASSES, "test/e2e/c.test.ts": PASSES };
    const { code, last, stderr } = await runTests(files);
    expect({ code, last }).toEqual({ code: 0, last: "3 passed, 0 failed, 0 skipped" });
    expect(stderr.match(/^Ran \d+ tests?/gm)).toEqual(["Ran 2 tests", "Ran 1 test"]);
  });

  test("runs the rest after a failure, and ends with Bun's status", async () => {
    const { code, last, stderr } = await runTests({ "test/a.test.ts": FAILS, "test/e2e/b.test.ts": PASSES });
    expect({ code, last }).toEqual({ code: 1, last: "1 passed, 1 failed, 0 skipped" });
    expect(stderr).toContain("so it is");
  });

  test("counts a file that cannot be loaded as a failure", async () => {
    const { code, last } = await runTests({ "test/a.test.ts": `import "./nowhere.ts";` });
    expect({ code, last }).toEqual({ code: 1, last: "0 passed, 1 failed, 0 skipped" });
  });

  test("counts a run that broke off as a failure", async () => {
    const { code, last } = await runTests({ "test/a.test.ts": `${PASSES} test("end", () => process.exit(9));` });
    expect({ code, last }).toEqual({ code: 9, last: "0 passed, 1 failed, 0 skipped" });
  });

  test("names each skipped test with its reason", async () => {
    const { code, last, stdout } = await runTests({ "test/a.test.ts": `${PASSES} ${SKIPS}` });
    expect(stdout).toContain("test/a.test.ts > mail (skipped: needs the package <swaks>) > one\n");
    expect({ code, last }).toEqual({ code: 0, last: "1 passed, 0 failed, 1 skipped" });
  });

  test("fails for a skipped test that gives no reason", async () => {
    const { code, last, stdout } = await runTests({ "test/a.test.ts": `${SKIPS} ${SKIPS_SILENTLY}` });
    expect(stdout).toContain("1 of them without a reason");
    expect({ code, last }).toEqual({ code: 1, last: "0 passed, 0 failed, 2 skipped" });
  });

  test("fails for any skipped test where POSTERN_NO_SKIPS is 1", async () => {
    const { code, last } = await runTests({ "test/a.test.ts": `${PASSES} ${SKIPS}` }, { POSTERN_NO_SKIPS: "1" });
    expect({ code, last }).toEqual({ code: 1, last: "1 passed, 0 failed, 1 skipped" });
    const none = await runTests({ "test/a.test.ts": PASSES }, { POSTERN_NO_SKIPS: "1" });
    expect(none.code).toBe(0);
  });

  test("runs only the files that it is given", async () => {
    const files = { "test/a.test.ts": PASSES, "test/b.test.ts": FAILS };
    const { code, last } = await runTests(files, {}, ["test/a.test.ts"]);
    expect({ code, last }).toEqual({ code: 0, last: "1 passed, 0 failed, 0 skipped" });
  });

  test("fails where there is no test at all", async () => {
    const { code, last } = await runTests({ "src/x.ts": "" });
    expect({ code, last }).toEqual({ code: 1, last: "0 passed, 0 failed, 0 skipped" });
  });
});
