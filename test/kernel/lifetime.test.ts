import { expect, test } from "bun:test";
import { join } from "node:path";
import { projectRoot } from "../support/paths.ts";

const LIFETIME = join(projectRoot, "src/kernel/lifetime.ts");
const LOG = join(projectRoot, "src/kernel/log.ts");

/** A process of its own that runs this script; `say` writes a line of its output. */
function inProcess(script: string) {
  const code = `
    import { endOnBugs, takeSignals } from ${JSON.stringify(LIFETIME)};
    import { makeLog } from ${JSON.stringify(LOG)};
    const say = (line) => process.stdout.write(line + "\\n");
    const log = makeLog({ level: "info", format: "json", write: (line) => process.stderr.write(line) });
    const alive = setInterval(() => {}, 1000);
    ${script}`;
  const child = Bun.spawn([process.execPath, "-e", code], { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const reader = child.stdout.getReader();
  const decoder = new TextDecoder();
  let said = "";
  return {
    child,
    said: () => said,
    async until(line: string): Promise<void> {
      while (!said.includes(`${line}\n`)) {
        const { done, value } = await reader.read();
        if (done) throw new Error(`ended after: ${said}`);
        said += decoder.decode(value, { stream: true });
      }
    },
  };
}

for (const [what, bug] of [
  ["a rejection that no one looks at", 'void Promise.reject(new Error("the bug"));'],
  ["an error thrown in a timer", 'setTimeout(() => { throw new Error("the bug"); }, 1);'],
] as const) {
  test(`${what} is logged with its place, and ends the process with 1`, async () => {
    const { child } = inProcess(`endOnBugs(log); ${bug}`);
    const log = await child.stderr.text();
    expect(await child.exited).toBe(1);
    expect(JSON.parse(log)).toMatchObject({ level: "error", error: expect.stringContaining("the bug") });
    expect(JSON.parse(log).error).toMatch(/\bat .*:\d+:\d+/);
  });
}

test("the first SIGTERM is told, the second ends the process at once", async () => {
  const { child, until } = inProcess('takeSignals().stopped.then((signal) => say("asked by " + signal)); say("up");');
  await until("up");
  child.kill("SIGTERM");
  await until("asked by SIGTERM");
  child.kill("SIGTERM");
  expect(await child.exited).toBe(143);
});

test("a SIGHUP that comes before there is anything to reload is kept for then", async () => {
  const { child, until } = inProcess(`
    const lifetime = takeSignals();
    say("up");
    process.on("SIGHUP", () => {
      say("heard");
      setTimeout(() => lifetime.onReload(async () => say("reloaded")), 20);
    });`);
  await until("up");
  child.kill("SIGHUP");
  await until("heard");
  await until("reloaded");
  child.kill("SIGKILL");
});

test("reloads run one after the other, and those asked for meanwhile become one", async () => {
  const { child, until, said } = inProcess(`
    const lifetime = takeSignals();
    let running = 0, most = 0;
    const gate = { open() {} };
    lifetime.onReload(async () => {
      most = Math.max(most, ++running);
      say("begins");
      await new Promise((resolve) => { gate.open = resolve; });
      running--;
      say("ends, at most " + most + " at once");
    });
    process.on("SIGUSR2", () => gate.open());
    say("up");`);
  await until("up");
  child.kill("SIGHUP");
  await until("begins");
  for (let i = 0; i < 5; i++) {
    child.kill("SIGHUP");
    await Bun.sleep(10);
  }
  child.kill("SIGUSR2");
  await until("ends, at most 1 at once\nbegins");
  child.kill("SIGUSR2");
  await until("begins\nends, at most 1 at once\nbegins\nends, at most 1 at once");
  await Bun.sleep(50);
  expect(said().match(/begins/g)).toHaveLength(2);
  child.kill("SIGKILL");
});
