import { expect, test } from "bun:test";
import { join } from "node:path";
import { notify, notifyReloading, watchdogIntervalMs } from "../../src/kernel/notify.ts";
import { needsCommand, testWith } from "../support/needs.ts";
import { projectRoot } from "../support/paths.ts";
import { tempDir } from "../support/tmp.ts";

const testWithPython = testWith(needsCommand("python3"));

// The service manager's side, by another hand than ours: prints CLOCK_MONOTONIC, then each datagram with it as JSON.
const RECEIVER = `
import json, socket, sys, time
name = sys.argv[1]
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind("\\0" + name[1:] if name[0] == "@" else name)
print(time.monotonic_ns() // 1000, flush=True)
for _ in range(int(sys.argv[2])):
    text = receiver.recv(4096).decode()
    print(json.dumps([text, time.monotonic_ns() // 1000]), flush=True)
`;

const SENDER = join(projectRoot, "src/kernel/notify.ts");

type Received = [text: string, monotonicUs: number][];

/** What a receiver at `socket` gets when a process with $NOTIFY_SOCKET calls `calls`, and what these answered. */
async function exchange(socket: string, calls: string, count: number) {
  const receiver = Bun.spawn(["python3", "-c", RECEIVER, socket, String(count)], { stdout: "pipe" });
  try {
    const lines = receiver.stdout.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
    const start = Number((await lines.next()).value);
    const script = `import * as n from ${JSON.stringify(SENDER)}; console.log(JSON.stringify(${calls}))`;
    const sender = Bun.spawn([process.execPath, "-e", script], {
      env: { ...process.env, NOTIFY_SOCKET: socket },
      stdout: "pipe",
    });
    const answers: unknown = JSON.parse(await sender.stdout.text());
    let text = "";
    for (let next = await lines.next(); !next.done; next = await lines.next()) text += next.value;
    const received = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)) as Received;
    return { answers, received, start };
  } finally {
    receiver.kill();
  }
}

testWithPython("each state is one datagram to the socket at a path", async () => {
  const calls = `[n.notifyReady("listens on é\\nport 1"), n.notifyWatchdog(), n.notifyStopping(), n.notifyReady()]`;
  const { answers, received } = await exchange(join(tempDir("notify"), "socket"), calls, 4);
  expect(answers).toEqual([true, true, true, true]);
  const texts = received.map(([text]) => text);
  expect(texts).toEqual(["READY=1\nSTATUS=listens on é port 1", "WATCHDOG=1", "STOPPING=1", "READY=1"]);
});

testWithPython("a socket in the abstract namespace is reached too", async () => {
  const { answers, received } = await exchange(`@postern-test-${process.pid}`, `[n.notify("READY=1")]`, 1);
  expect(answers).toEqual([true]);
  expect(received[0]?.[0]).toBe("READY=1");
});

testWithPython("a reload carries the time of CLOCK_MONOTONIC, not of the process", async () => {
  const script = "[n.notifyWatchdog(), n.notifyReloading(), n.notifyWatchdog()]";
  const { received, start } = await exchange(join(tempDir("notify"), "socket"), script, 3);
  const stated = /^RELOADING=1\nMONOTONIC_USEC=(\d+)$/.exec(received[1]?.[0] ?? "")?.[1];
  // It was taken between two looks of the receiver at that clock.
  expect(Number(stated)).toBeGreaterThanOrEqual(start);
  expect(Number(stated)).toBeLessThanOrEqual(received[2]?.[1] ?? 0);
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
