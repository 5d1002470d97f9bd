import { expect, test } from "bun:test";
import { join } from "node:path";
import { notify, notifyReloading, watchdogIntervalMs } from "../../src/kernel/notify.ts";
import { needsCommand, testWith } from "../support/needs.ts";
import { projectRoot } from "../support/paths.ts";
import { ServiceManager } from "../support/service-manager.ts";
import { tempDir } from "../support/tmp.ts";

const testWithPython = testWith(needsCommand("python3"));

const MODULE = join(projectRoot, "src/kernel/notify.ts");

/** What the functions of the module answer in a process of its own that this manager started. */
async function inService(manager: ServiceManager, calls: string): Promise<unknown> {
  const script = `import * as n from ${JSON.stringify(MODULE)}; console.log(JSON.stringify(${calls}))`;
  const service = Bun.spawn([process.execPath, "-e", script], {
    env: { ...process.env, NOTIFY_SOCKET: manager.socket },
    stdout: "pipe",
  });
  return JSON.parse(await service.stdout.text());
}

testWithPython("each state is one datagram to the socket at a path", async () => {
  const manager = await ServiceManager.listen(join(tempDir("notify"), "socket"));
  const calls = `[n.notifyReady("listens on é\\nport 1"), n.notifyWatchdog(), n.notifyStopping(), n.notifyReady()]`;
  expect(await inService(manager, calls)).toEqual([true, true, true, true]);
  for (const text of ["READY=1\nSTATUS=listens on é port 1", "WATCHDOG=1", "STOPPING=1", "READY=1"]) {
    expect((await manager.next()).text).toBe(text);
  }
});

testWithPython("a socket in the abstract namespace is reached too", async () => {
  const manager = await ServiceManager.listen(`@postern-test-${process.pid}`);
  expect(await inService(manager, "[n.notifyReady()]")).toEqual([true]);
  expect((await manager.next()).text).toBe("READY=1");
});

testWithPython("a reload carries the time of CLOCK_MONOTONIC, not of the process", async () => {
  const manager = await ServiceManager.listen(join(tempDir("notify"), "socket"));
  expect(await inService(manager, "[n.notifyReloading()]")).toEqual([true]);
  const { text, at } = await manager.next();
  const stated = Number(/^RELOADING=1\nMONOTONIC_USEC=(\d+)$/.exec(text)?.[1]);
  // The receiver looked at that clock before and after.
  expect(stated).toBeGreaterThanOrEqual(manager.since);
  expect(stated).toBeLessThanOrEqual(at);
});

test("without a manager nothing is sent and nothing fails", () => {
  expect(notify("READY=1", {})).toBe(false);
  expect(notify("READY=1", { NOTIFY_SOCKET: "" })).toBe(false);
  expect(notify("READY=1", { NOTIFY_SOCKET: join(tempDir("notify"), "nobody") })).toBe(false);
  expect(notifyReloading()).toBe(false);
});

test("an address that is no Unix socket, or longer than one can be, is refused", () => {
  for (const name of ["relative", "@", "/", "vsock:2:1234", `/${"x".repeat(107)}`, `@${"x".repeat(108)}`]) {
    expect(notify("READY=1", { NOTIFY_SOCKET: name })).toBe(false);
  }
});

test("the watchdog is fed twice in its time, and only for the process that it watches", () => {
  const own = String(process.pid);
  expect(watchdogIntervalMs({ WATCHDOG_USEC: "30000000" })).toBe(15_000);
  expect(watchdogIntervalMs({ WATCHDOG_USEC: "30000000", WATCHDOG_PID: own })).toBe(15_000);
  expect(watchdogIntervalMs({ WATCHDOG_USEC: "30000000", WATCHDOG_PID: "1" })).toBeUndefined();
  expect(watchdogIntervalMs({ WATCHDOG_USEC: "1" })).toBe(1);
  for (const limit of ["", "0", "-5", "1e9", "soon", "9".repeat(17)]) {
    expect(watchdogIntervalMs({ WATCHDOG_USEC: limit })).toBeUndefined();
  }
  expect(watchdogIntervalMs({})).toBeUndefined();
});
