import { expect } from "bun:test";
import { ACK, DAY, HOUR, MINUTE, NACK, ok, RELEASE, refused, SECOND } from "./bed.ts";
import type { Rule } from "./rule.ts";

/** What happens by time alone: retries, leases that run out, delays; by elapsed time, across restarts. */
export function dueRules(rule: Rule): void {
  rule("nacked, it rests 30 s, 1, 2 and 4 min, and is dead at the fifth", async (bed) => {
    const event = await bed.arrive();
    for (const [i, rest] of [30 * SECOND, MINUTE, 2 * MINUTE, 4 * MINUTE].entries()) {
      const { event: failed, retryAt } = await bed.settled(await bed.claimed(event), NACK);
      expect([failed.status, failed.attempts]).toEqual(["failed", i + 1]);
      expect(retryAt).toBe(bed.clock.gate() + rest);
      await bed.clock.advance(rest - 1);
      expect((await bed.event(event.id)).status).toBe("failed");
      await bed.clock.advance(1);
      expect(await bed.event(event.id)).toMatchObject({ status: "pending", attempts: i + 1, dueAt: null });
    }
    const { event: dead, retryAt } = await bed.settled(await bed.claimed(event), NACK);
    expect([dead.status, dead.attempts, dead.dueAt, retryAt]).toEqual(["dead", 5, null, null]);
    await bed.clock.advance(DAY);
    expect((await bed.event(event.id)).status).toBe("dead");
  });

  rule("a lease that ran out counts as an attempt and puts the event straight back", async (bed) => {
    const claim = await bed.claimed(await bed.arrive(), "key_a", 30 * SECOND);
    await bed.clock.advance(30 * SECOND - 1);
    expect((await bed.event(claim.event.id)).status).toBe("claimed");
    await bed.clock.advance(1);
    expect(await bed.event(claim.event.id)).toMatchObject({ status: "pending", attempts: 1, dueAt: null });
    expect((await bed.store.events.history(claim.event)).at(-1)).toMatchObject({
      ...{ at: bed.clock.wall(), kind: "lease_expired", lease: claim.lease.id, by: "key_a", attempts: 1 },
    });
    expect((await bed.claimNext())[0]?.event.id).toBe(claim.event.id);
  });

  rule("the fifth lease that runs out makes it dead; nacks and leases count alike", async (bed) => {
    const event = await bed.arrive();
    await bed.fail(event, 2);
    for (let i = 0; i < 3; i++) {
      await bed.claimed(event, "key_a", 30 * SECOND);
      await bed.clock.advance(30 * SECOND);
    }
    expect(await bed.event(event.id)).toMatchObject({ status: "dead", attempts: 5 });
    await refused(bed.claim(event), "EVENT_NOT_CLAIMABLE");
  });

  rule("a nack after leases that ran out rests as long as all failures ask", async (bed) => {
    const event = await bed.arrive();
    for (let i = 0; i < 2; i++) {
      await bed.claimed(event, "key_a", 30 * SECOND);
      await bed.clock.advance(30 * SECOND);
    }
    const { retryAt } = await bed.settled(await bed.claimed(event), NACK);
    expect(retryAt).toBe(bed.clock.gate() + 2 * MINUTE);
  });

  rule("steps of the wall clock neither end a lease nor prolong it, nor a rest", async (bed) => {
    const [leased, failed] = [await bed.arrive(), await bed.arrive()];
    await bed.claimed(leased, "key_a", HOUR);
    await bed.settled(await bed.claimed(failed), NACK);
    bed.clock.stepWall(DAY);
    await bed.store.writable();
    expect((await bed.event(leased.id)).status).toBe("claimed");
    expect((await bed.event(failed.id)).status).toBe("failed");
    bed.clock.stepWall(-3 * DAY);
    await bed.clock.advance(30 * SECOND);
    expect((await bed.event(failed.id)).status).toBe("pending");
    await bed.clock.advance(HOUR - 30 * SECOND);
    expect(await bed.event(leased.id)).toMatchObject({ status: "pending", attempts: 1 });
  });

  rule("a lease that ran out while the store was closed counts once, and at the start", async (bed) => {
    const event = await bed.arrive();
    await bed.claimed(event, "key_a", 30 * SECOND);
    await bed.restart(12 * HOUR);
    expect(await bed.event(event.id)).toMatchObject({ status: "pending", attempts: 1 });
    expect(await bed.historyKinds(event)).toEqual(["received", "claimed", "lease_expired"]);
    await bed.restart(12 * HOUR);
    expect(await bed.event(event.id)).toMatchObject({ status: "pending", attempts: 1 });
  });

  rule("a rest and a delay that ended while the store was closed have ended at the start", async (bed) => {
    const [failed, delayed] = [await bed.arrive(), await bed.arrive()];
    await bed.settled(await bed.claimed(failed), NACK);
    await bed.settled(await bed.claimed(delayed), { action: "release", delayMs: MINUTE });
    await bed.restart(29 * SECOND);
    expect(await bed.claimNext({}, 10)).toEqual([]);
    await bed.restart(SECOND);
    expect((await bed.claimNext({}, 10)).map((claim) => claim.event.id)).toEqual([failed.id]);
    await bed.restart(30 * SECOND);
    expect((await bed.claimNext({}, 10)).map((claim) => claim.event.id)).toEqual([delayed.id]);
  });

  rule("a lease holds across a restart and can be settled then", async (bed) => {
    const claim = await bed.claimed(await bed.arrive(), "key_a", HOUR);
    await bed.restart(30 * MINUTE);
    await refused(bed.claim(claim.event, "key_b"), "EVENT_NOT_CLAIMABLE");
    expect((await bed.settled(claim, ACK)).event.status).toBe("done");
  });

  rule("time goes on from where it was though the wall clock was set back between the runs", async (bed) => {
    const claim = await bed.claimed(await bed.arrive(), "key_a", HOUR);
    await bed.clock.advance(50 * MINUTE);
    const before = bed.clock.gate();
    await bed.restart(-7 * DAY);
    expect(bed.clock.gate()).toBeGreaterThanOrEqual(before);
    expect((await bed.event(claim.event.id)).status).toBe("claimed");
    await bed.clock.advance(10 * MINUTE);
    expect(await bed.event(claim.event.id)).toMatchObject({ status: "pending", attempts: 1 });
  });

  rule("many that fall due at one moment all move on", async (bed) => {
    await Promise.all(Array.from({ length: 1300 }, () => bed.store.events.accept(bed.newEvent({ payload: null }))));
    await ok(bed.store.leases.claimNext(bed.project, {}, "key_a", 1300, 30 * SECOND));
    await bed.clock.advance(30 * SECOND);
    expect(await bed.store.upkeep.counts()).toEqual([{ project: bed.project, status: "pending", count: 1300 }]);
    expect((await bed.claimNext({}, 2000)).every((claim) => claim.event.attempts === 1)).toBe(true);
  });

  rule("of many that ran out at one moment, none can be settled or extended, moved on or not yet", async (bed) => {
    await Promise.all(Array.from({ length: 1300 }, () => bed.store.events.accept(bed.newEvent({ payload: null }))));
    const claims = await ok(bed.store.leases.claimNext(bed.project, {}, "key_a", 1300, 30 * SECOND));
    await bed.restart(30 * SECOND);
    const late = [claims[1299], claims[0]].flatMap((claim) => claim ?? []);
    await Promise.all(
      late.flatMap((claim) => [
        refused(bed.store.leases.extend(bed.project, claim.event.id, "key_a", claim.lease.id, HOUR), "LEASE_NOT_HELD"),
        refused(bed.settle(claim, ACK), "LEASE_NOT_HELD"),
      ]),
    );
    await bed.clock.advance(1);
    for (const { event } of late) expect(await bed.event(event.id)).toMatchObject({ status: "pending", attempts: 1 });
  });

  rule("listeners hear of each way into being claimable, once it is durable", async (bed) => {
    const heard: string[] = [];
    bed.store.onCommit((changes) => {
      for (const { status, attempts, ready, visible } of changes) {
        heard.push(`${status} ${attempts} ${ready ? "ready" : "not"} ${visible ? "visible" : "hidden"}`);
      }
    });
    const event = await bed.arrive();
    await bed.claimed(event, "key_a", 30 * SECOND);
    await bed.clock.advance(30 * SECOND);
    await bed.settled(await bed.claimed(event), NACK);
    await bed.clock.advance(MINUTE);
    await bed.settled(await bed.claimed(event), { action: "release", delayMs: MINUTE });
    await bed.clock.advance(MINUTE);
    await bed.settled(await bed.claimed(event), RELEASE);
    await bed.settled(await bed.claimed(event), ACK);
    await ok(bed.store.events.requeue(bed.project, event.id, "key_m"));
    expect(heard).toEqual([
      ...["pending 0 ready visible", "claimed 0 not visible", "pending 1 ready visible"],
      ...["claimed 1 not visible", "failed 2 not visible", "pending 2 ready visible"],
      ...["claimed 2 not visible", "pending 2 not visible", "pending 2 ready hidden"],
      ...["claimed 2 not visible", "pending 2 ready visible", "claimed 2 not visible", "done 2 not visible"],
      "pending 0 ready visible",
    ]);
  });
}
