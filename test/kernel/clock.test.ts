import { describe, expect, test } from "bun:test";
import { rfc3339, systemClock, wallOf } from "../../src/kernel/clock.ts";
import { FAKE_START, FakeClock } from "../support/fake-clock.ts";

describe("the system's clock", () => {
  test("gate time starts no earlier than an earlier run had come, though the wall clock was set back since", () => {
    const tomorrow = Date.now() + 86_400_000;
    expect(systemClock(tomorrow).gate()).toBeGreaterThanOrEqual(tomorrow);
  });

  test("gate time starts at the wall clock where that is ahead: time passes while the daemon is down", () => {
    const before = Date.now();
    expect(systemClock(before - 86_400_000).gate()).toBeGreaterThanOrEqual(before);
  });

  test("gate time never goes back and is whole milliseconds", () => {
    const clock = systemClock();
    let last = clock.gate();
    for (let i = 0; i < 10_000; i++) {
      const now = clock.gate();
      expect(now).toBeGreaterThanOrEqual(last);
      last = now;
    }
    expect(Number.isInteger(last)).toBe(true);
  });

  test("a timer fires, one that was cancelled does not, and one of months does not fire at once", async () => {
    const clock = systemClock();
    const fired: string[] = [];
    const cancel = clock.after(0, () => fired.push("cancelled"));
    const cancelLong = clock.after(2 ** 40, () => fired.push("long"));
    cancel();
    await new Promise<void>((resolve) => clock.after(5, resolve));
    cancelLong();
    expect(fired).toEqual([]);
  });

  test("a timer that is due already fires", async () => {
    await new Promise<void>((resolve) => systemClock().after(-1000, resolve));
  });
});

test("times are RFC 3339 UTC with milliseconds", () => {
  expect(rfc3339(FAKE_START)).toBe("2026-10-07T09:12:44.120Z");
  expect(rfc3339(0)).toBe("1970-01-01T00:00:00.000Z");
});

test("gate time is shown as wall time, judged from now, whatever the wall clock does", async () => {
  const clock = new FakeClock();
  const inAMinute = clock.gate() + 60_000;
  expect(wallOf(clock, inAMinute)).toBe(FAKE_START + 60_000);
  clock.stepWall(-3_600_000);
  expect(wallOf(clock, inAMinute)).toBe(FAKE_START - 3_540_000);
});

describe("the tests' clock", () => {
  test("fires timers in the order they fall due, each at its own time, also those set by another", async () => {
    const clock = new FakeClock();
    const fired: [string, number][] = [];
    const note = (name: string) => fired.push([name, clock.gate() - FAKE_START]);
    clock.after(20, () => note("b"));
    clock.after(10, () => {
      note("a");
      clock.after(5, () => note("set by a"));
    });
    clock.after(31, () => note("later"));
    await clock.advance(30);
    expect(fired).toEqual([
      ["a", 10],
      ["set by a", 15],
      ["b", 20],
    ]);
    expect(clock.gate()).toBe(FAKE_START + 30);
    expect(clock.timers).toBe(1);
  });

  test("a step of the wall clock fires nothing, and the next run's gate does not go back", async () => {
    const clock = new FakeClock();
    let fired = false;
    clock.after(10, () => {
      fired = true;
    });
    clock.stepWall(-3_600_000);
    expect(fired).toBe(false);
    expect(clock.restarted(clock.gate(), 1000).gate()).toBe(FAKE_START);
    expect(clock.restarted(clock.gate(), 3_601_000).gate()).toBe(FAKE_START + 1000);
  });
});
