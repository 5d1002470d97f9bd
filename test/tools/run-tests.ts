/**
 * `bun run test [path…]`: builds the binary, runs every test (what needs no binary first, then test/e2e), and closes
 * with what was skipped and why, and a plain `N passed, N failed, N skipped`. Ends with the status of `bun test`, or
 * with 1 where a skipped test gives no reason, or where POSTERN_NO_SKIPS=1 and anything was skipped.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A script of package.json starts in its folder. */
const root = process.cwd();
const scratch = mkdtempSync(join(tmpdir(), "postern-run-"));

/** More than the 5 s of `bun test`, for tests that share the machine's cores with the daemon that they drive. */
const TEST_LIMIT_MS = 20_000;

type Counts = { passed: number; failed: number; skipped: number };
type Run = Counts & { status: number; skips: string[] };

/** Bun by its own path: it need not be on $PATH. */
async function bun(args: string[]): Promise<number> {
  return await Bun.spawn([process.execPath, ...args], { cwd: root, stdio: ["ignore", "inherit", "inherit"] }).exited;
}

/** Runs the test files that `paths` name, showing what Bun prints as it comes. */
async function runTests(paths: string[]): Promise<Run> {
  const report = join(scratch, "report.xml");
  rmSync(report, { force: true });
  const options = [`--timeout=${TEST_LIMIT_MS}`, "--reporter=junit", `--reporter-outfile=${report}`];
  const child = Bun.spawn([process.execPath, "test", ...options, ...paths], {
    cwd: root,
    stdio: ["ignore", "inherit", "pipe"],
  });
  let output = "";
  const decoder = new TextDecoder();
  for await (const chunk of child.stderr) {
    process.stderr.write(chunk);
    output += decoder.decode(chunk, { stream: true });
  }
  const status = await child.exited;
  const skips = existsSync(report) ? skippedTests(readFileSync(report, "utf8")) : [];
  return { ...counts(output, status), status, skips };
}

/** The sums that Bun prints at the end of a run. One that broke off before them counts as a failure. */
function counts(output: string, status: number): Counts {
  const plain = Bun.stripANSI(output);
  const last = (word: string) => Number([...plain.matchAll(new RegExp(`^ *(\\d+) ${word}$`, "gm"))].at(-1)?.[1] ?? 0);
  const failed = last("fail");
  return {
    passed: last("pass"),
    failed: failed === 0 && status !== 0 ? 1 : failed,
    skipped: last("skip") + last("todo"),
  };
}

/** The full names of the skipped tests of a JUnit report: groups, then the test, each with `>` between. */
function skippedTests(xml: string): string[] {
  const names: string[] = [];
  const path: string[] = [];
  let current = "";
  for (const [tag, attributes = ""] of xml.matchAll(/<\/?(?:testsuite|testcase|skipped)\b([^>]*)>/g)) {
    const name = unescapeXml(/\bname="([^"]*)"/.exec(attributes)?.[1] ?? "");
    if (tag.startsWith("<testsuite") && !tag.endsWith("/>")) path.push(name);
    else if (tag.startsWith("</testsuite")) path.pop();
    else if (tag.startsWith("<testcase")) current = [...path, name].join(" > ");
    else if (tag.startsWith("<skipped")) names.push(current);
  }
  return names;
}

function unescapeXml(text: string): string {
  const named: Record<string, string> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };
  return text.replaceAll(/&(?:#(\d+)|(\w+));/g, (whole, code: string | undefined, name: string | undefined) =>
    code === undefined ? (named[name ?? ""] ?? whole) : String.fromCodePoint(Number(code)),
  );
}

/** Every test file, in two runs: those that drive the built binary come after all others. */
function allTests(): string[][] {
  const files = [...new Bun.Glob("test/**/*.test.ts").scanSync({ cwd: root })].sort().map((file) => `./${file}`);
  const [drives, others] = [true, false].map((e2e) => files.filter((file) => file.startsWith("./test/e2e/") === e2e));
  return [others ?? [], drives ?? []].filter((group) => group.length > 0);
}

async function main(paths: string[]): Promise<number> {
  const started = performance.now();
  if (existsSync(join(root, "src/main.ts")) && (await bun(["run", "build"])) !== 0) return 1;
  const runs: Run[] = [];
  for (const group of paths.length > 0 ? [paths] : allTests()) runs.push(await runTests(group));

  const sum = (of: keyof Counts) => runs.reduce((total, run) => total + run[of], 0);
  const skips = runs.flatMap((run) => run.skips);
  if (sum("skipped") > 0) console.log("\nSkipped:");
  for (const name of skips) console.log(`  ${name}`);
  const silent = sum("skipped") - skips.filter((name) => name.includes("(skipped: ")).length;
  if (silent > 0) console.log(`${silent} of them without a reason: use test/support/needs.ts`);
  const refused = process.env.POSTERN_NO_SKIPS === "1" && sum("skipped") > 0;
  if (refused) console.log("POSTERN_NO_SKIPS=1: none may be skipped here");

  console.log(`\nTests took ${((performance.now() - started) / 1000).toFixed(0)} s`);
  console.log(`${sum("passed")} passed, ${sum("failed")} failed, ${sum("skipped")} skipped`);
  const failure = runs.find((run) => run.status !== 0);
  return failure?.status ?? (runs.length === 0 || silent > 0 || refused ? 1 : 0);
}

const status = await main(process.argv.slice(2)).finally(() => rmSync(scratch, { recursive: true, force: true }));
process.exit(status);
