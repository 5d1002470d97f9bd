import { describe, expect } from "bun:test";
import { isProblem } from "../../src/kernel/problems.ts";
import { ok } from "../store/conformance/bed.ts";
import { turns } from "../support/fake-clock.ts";
import { idOf, inboxTest, type Pending } from "./bed.ts";

describe("waiting", () => {
  inboxTest("answers at once with the oldest that is there", async (on) => {
    const event = await on.bed.arrive();
    await on.bed.arrive();
    expect(idOf(await on.waiting())).toBe(event.id);
    expect(await on.bed.event(event.id)).toEqual(event);
  });

  inboxTest("ends with nothing when its time has passed, by elapsed time", async (on) => {
    const wait = await on.waiting();
    on.bed.clock.stepWall(3_600_000);
    await on.bed.clock.advance(25_000 - 1);
    expect(wait.answer).toBeUndefined();
    await on.bed.clock.advance(1);
    expect(wait.answer).toEqual({ value: undefined });
    const taking = await on.claiming();
    await on.bed.clock.advance(25_000);
    expect(taking.answer).toEqual({ value: [] });
  });

  inboxTest("after an event means after it in the order of arrival", async (on) => {
    const [a, b] = [await on.bed.arrive(), await on.bed.arrive()];
    expect(idOf(await on.waiting({}, { after: a.id }))).toBe(b.id);
    const wait = await on.waiting({}, { after: b.id });
    expect(wait.answer).toBeUndefined();
    const c = await on.bed.arrive();
    await turns();
    expect(idOf(wait)).toBe(c.id);
    expect(
      await on.inbox.wait(on.caller(), {}, { timeoutMs: 1, after: "evt_01h455vb4pex5vsknk084sn02q" }),
    ).toMatchObject({
      code: "NOT_FOUND",
    });
  });

  inboxTest("ends when the caller goes, and leaves nothing behind", async (on) => {
    const timers = on.bed.clock.timers;
    const gone = new AbortController();
    const wait = await on.waiting({}, {}, on.caller("key_a", gone.signal));
    const taking = await on.claiming({}, 1, on.caller("key_a", gone.signal));
    expect([on.inbox.waiters.count, on.bed.clock.timers]).toEqual([2, timers + 2]);
    gone.abort();
    await turns();
    expect([wait.answer, taking.answer]).toEqual([{ value: undefined }, { value: [] }]);
    expect([on.inbox.waiters.count, on.bed.clock.timers]).toEqual([0, timers]);
  });

  inboxTest("of a caller that has gone already ends at once and takes nothing", async (on) => {
    await on.bed.arrive();
    const gone = AbortSignal.abort();
    expect((await on.waiting({}, {}, on.caller("key_a", gone))).answer).toEqual({ value: undefined });
    expect((await on.claiming({}, 1, on.caller("key_a", gone))).answer).toEqual({ value: [] });
    expect(await on.bed.store.upkeep.counts()).toMatchObject([{ status: "pending", count: 1 }]);
  });

  inboxTest("ends for all when the daemon stops, as if their time were over", async (on) => {
    const wait = await on.waiting();
    const taking = await on.claiming({}, 1, on.caller("key_b"));
    on.inbox.endWaits();
    await turns();
    expect([wait.answer, taking.answer]).toEqual([{ value: undefined }, { value: [] }]);
  });

  inboxTest("another project's events wake nobody", async (on) => {
    const other = { ...on.caller(), project: "prj_01h455vb4pex5vsknk084sn02q" as const };
    const wait = await on.waiting({}, {}, other);
    await on.bed.arrive();
    await turns();
    expect(wait.answer).toBeUndefined();
  });
});

describe("claiming the next", () => {
  inboxTest("one arrival is taken by one of many, the longest waiting; the others wait on", async (on) => {
    const taking: Pending<unknown>[] = [];
    for (let i = 0; i < 10; i++) taking.push(await on.claiming({}, 1, on.caller(`key_${i}`)));
    for (let i = 0; i < 3; i++) await on.bed.arrive();
    await turns();
    expect(taking.map((one) => one.answer !== undefined)).toEqual(Array.from({ length: 10 }, (_, i) => i < 3));
    expect(new Set(taking.slice(0, 3).map(idOf)).size).toBe(3);
    expect(on.inbox.waiters.count).toBe(7);
  });

  inboxTest("several arrivals of one commit go to as many that wait", async (on) => {
    const taking: Pending<unknown>[] = [];
    for (let i = 0; i < 5; i++) taking.push(await on.claiming(i % 2 ? { type: "*" } : {}));
    await Promise.all([1, 2, 3].map(() => on.bed.arrive()));
    await turns(8);
    expect(taking.filter((one) => one.answer !== undefined)).toHaveLength(3);
    expect((await on.bed.claimNext()).length).toBe(0);
  });

  inboxTest("with waiters of several filters nothing is left lying that one of them matches", async (on) => {
    const a = await on.claiming({ type: "a.*" });
    const any = await on.claiming({});
    const b = await on.claiming({ type: "b" });
    await on.bed.arrive({ type: "b" });
    await on.bed.arrive({ type: "a.1" });
    await turns(8);
    expect(a.answer).toBeDefined();
    expect([any.answer, b.answer].filter(Boolean)).toHaveLength(1);
    expect((await on.bed.claimNext()).length).toBe(0);
  });

  inboxTest("a woken one that has gone by then passes the call on", async (on) => {
    const gone = new AbortController();
    const first = await on.claiming({}, 1, on.caller("key_a", gone.signal));
    const second = await on.claiming({}, 1, on.caller("key_b"));
    const stop = on.bed.store.onCommit(() => gone.abort());
    const event = await on.bed.arrive();
    await turns(8);
    stop();
    expect(first.answer).toEqual({ value: [] });
    expect(idOf(second)).toBe(event.id);
    expect(await on.bed.historyKinds(event)).toEqual(["received", "claimed"]);
  });

  inboxTest("a claim whose caller went while it was made is undone, and the next one gets the event", async (on) => {
    const gone = new AbortController();
    const [event, single] = [await on.bed.arrive(), await on.bed.arrive()];
    const call = on.inbox.claimNext(on.caller("key_a", gone.signal), {}, { max: 1, leaseMs: 300_000, waitMs: 0 });
    const one = on.inbox.claim(on.caller("key_a", gone.signal), single.id, 300_000);
    gone.abort();
    expect(await call).toEqual([]);
    expect(isProblem(await one)).toBe(true);
    for (const { id } of [event, single]) {
      expect(await on.bed.event(id)).toMatchObject({ status: "pending", attempts: 0 });
      expect(await on.bed.historyKinds({ id })).toEqual(["received"]);
    }
    expect((await on.bed.claimNext({}, 2)).map((claim) => claim.event.id)).toEqual([event.id, single.id]);
  });

  inboxTest("a claim that is undone goes to whoever waits for it", async (on) => {
    const gone = new AbortController();
    const first = await on.claiming({}, 1, on.caller("key_a", gone.signal));
    const second = await on.claiming({}, 1, on.caller("key_b"));
    const stop = on.bed.store.onCommit(
      (changes) => changes.some((change) => change.status === "claimed") && gone.abort(),
    );
    const event = await on.bed.arrive();
    await turns(10);
    stop();
    expect(first.answer).toEqual({ value: [] });
    expect(idOf(second)).toBe(event.id);
    expect((await on.bed.store.leases.current(await on.bed.event(event.id)))?.holder).toBe("key_b");
  });

  inboxTest("takes up to as many as asked, once there is one", async (on) => {
    const taking = await on.claiming({}, 3);
    await Promise.all([1, 2, 3, 4].map(() => on.bed.arrive()));
    await turns();
    expect(await ok(taking.promise)).toHaveLength(3);
  });
});

describe("a holder that loses its right", () => {
  inboxTest("loses its waits at once and gives back its leases, uncounted; others keep theirs", async (on) => {
    const leased = await on.bed.claimed(await on.bed.arrive(), "key_a");
    const wait = await on.waiting({ type: "x" }, {}, on.caller("key_a"));
    const taking = await on.claiming({ type: "x" }, 1, on.caller("key_a"));
    const other = await on.waiting({ type: "x" }, {}, on.caller("key_b"));
    let streamEnded = false;
    const leave = on.inbox.attend("key_a", () => {
      streamEnded = true;
    });
    expect(await on.inbox.dismiss("key_a")).toBeUndefined();
    await turns();
    leave();
    expect([wait.answer, taking.answer, other.answer]).toEqual([{ value: undefined }, { value: [] }, undefined]);
    expect(streamEnded).toBe(true);
    expect(await on.bed.event(leased.event.id)).toMatchObject({ status: "pending", attempts: 0 });
    expect(await on.bed.historyKinds(leased.event)).toEqual(["received", "claimed", "lease_revoked"]);
  });

  inboxTest("takes nothing of what arrives with its end", async (on) => {
    const taking = await on.claiming({}, 1, on.caller("key_a"));
    const arrival = on.bed.arrive();
    const dismissal = on.inbox.dismiss("key_a");
    const event = await arrival;
    await dismissal;
    await turns();
    expect(taking.answer).toEqual({ value: [] });
    expect(await on.bed.event(event.id)).toMatchObject({ status: "pending", attempts: 0 });
  });
});

describe("thousands of waiters", () => {
  inboxTest(
    "cost memory only: one timer each, no look but when woken, and one arrival wakes one that would take it",
    async (on) => {
      const timers = on.bed.clock.timers;
      const taking = Array.from({ length: 5000 }, (_, i) =>
        on.inbox.claimNext(on.caller(`key_${i}`), {}, { max: 1, leaseMs: 300_000, waitMs: 300_000 }),
      );
      let answered = 0;
      for (const one of taking) one.then(() => answered++);
      await turns(40);
      expect([on.inbox.waiters.count, on.bed.clock.timers - timers]).toEqual([5000, 5000]);
      let commits = 0;
      on.bed.store.onCommit(() => commits++);
      for (let i = 0; i < 5; i++) await on.bed.arrive();
      await turns();
      expect(answered).toBe(5);
      // Five arrivals and the five claims that took them; nobody else asked the store for anything.
      expect(commits).toBeLessThanOrEqual(10);
      on.inbox.endWaits();
      await turns();
      expect(answered).toBe(5000);
      expect([on.inbox.waiters.count, on.bed.clock.timers - timers]).toEqual([0, 1]);
    },
    20_000,
  );
});
