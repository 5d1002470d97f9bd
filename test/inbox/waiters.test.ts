import { describe, expect, test } from "bun:test";
import { Waiters } from "../../src/inbox/waiters.ts";
import type { Change } from "../../src/store/types.ts";
import { turns } from "../support/fake-clock.ts";

describe("who is asked to look", () => {
  const change = (more: Partial<Change>): Change => ({
    ...{
      cursor: 1,
      seq: 1,
      project: "prj_a",
      id: "evt_a",
      source: "billing",
      channel: "webhook",
      type: "invoice.paid",
    },
    ...{ verified: true, status: "pending", attempts: 0, ready: true, visible: true, ...more },
  });

  /** A waiter that never finds anything, and how often it looked. */
  function looker(waiters: Waiters, filter: object, takes = false) {
    const seen = { looks: 0, end: new AbortController() };
    const look = async () => {
      seen.looks++;
      return undefined;
    };
    void waiters.until({ project: "prj_a", filter, takes }, seen.end.signal, look);
    return seen;
  }

  test("only those whose filter matches what became claimable", async () => {
    const waiters = new Waiters();
    const all = looker(waiters, {});
    const type = looker(waiters, { type: "invoice.*" });
    const source = looker(waiters, { source: "bill?ng", verified: true, channel: "webhook" });
    await turns();
    const looks = () => [all.looks, type.looks, source.looks];
    expect(looks()).toEqual([1, 1, 1]);
    for (const [more, expected] of [
      [{ ready: false }, [1, 1, 1]],
      [{ project: "prj_b" }, [1, 1, 1]],
      [{ type: "push" }, [2, 1, 2]],
      [{ verified: false }, [3, 2, 2]],
      [{ channel: "email" }, [4, 3, 2]],
      [{ source: "other" }, [5, 4, 2]],
      [{}, [6, 5, 3]],
    ] as const) {
      waiters.notify([change(more)]);
      await turns();
      expect([more, looks()]).toEqual([more, [...expected]]);
    }
    for (const { end } of [all, type, source]) end.abort();
    await turns();
    expect(waiters.count).toBe(0);
  });

  test("of those that would take it, one for each change; of those that only wait, all", async () => {
    const waiters = new Waiters();
    const taking = Array.from({ length: 4 }, () => looker(waiters, {}, true));
    const waiting = Array.from({ length: 3 }, () => looker(waiters, {}));
    await turns();
    waiters.notify([change({}), change({})]);
    await turns();
    expect(taking.map(({ looks }) => looks)).toEqual([2, 2, 1, 1]);
    expect(waiting.map(({ looks }) => looks)).toEqual([2, 2, 2]);
    for (const { end } of [...taking, ...waiting]) end.abort();
  });

  test("a change that comes while a waiter looks is not missed", async () => {
    const waiters = new Waiters();
    const gate = Promise.withResolvers<void>();
    let looks = 0;
    const found = waiters.until(
      { project: "prj_a", filter: {}, takes: true },
      new AbortController().signal,
      async () => {
        looks++;
        if (looks === 1) await gate.promise;
        return looks === 2 ? "found" : undefined;
      },
    );
    waiters.notify([change({})]);
    gate.resolve();
    expect(await found).toBe("found");
    expect(waiters.count).toBe(0);
  });

  test("a look that fails ends the wait with its error and leaves nothing behind", async () => {
    const waiters = new Waiters();
    const fails = waiters.until(
      { project: "prj_a", filter: {}, takes: true },
      new AbortController().signal,
      async () => {
        throw new Error("a bug");
      },
    );
    await expect(fails).rejects.toThrow("a bug");
    expect(waiters.count).toBe(0);
  });
});
