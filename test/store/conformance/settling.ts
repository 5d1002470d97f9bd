import { expect } from "bun:test";
import { newId } from "../../../src/kernel/ids.ts";
import type { SettleAction } from "../../../src/store/store.ts";
import { ACK, type Bed, HOUR, MINUTE, NACK, ok, RELEASE, refused, SECOND } from "./bed.ts";
import type { Rule } from "./rule.ts";

/** Settles without naming the lease. */
function unnamed(bed: Bed, id: `evt_${string}`, holder: string, act: SettleAction) {
  return bed.store.leases.settle(bed.project, id, holder, undefined, act);
}

/** Settling takes the lease: no late worker settles another's. */
export function settlingRules(rule: Rule): void {
  rule("an ack makes it done, for good, and keeps the result", async (bed) => {
    const claim = await bed.claimed(await bed.arrive());
    await bed.clock.advance(5 * SECOND);
    const result = '{"invoice":1.10}';
    const { event, retryAt } = await bed.settled(claim, { action: "ack", result });
    expect([event.status, event.attempts, event.dueAt, retryAt]).toEqual(["done", 0, null, null]);
    await bed.clock.advance(13 * HOUR);
    expect((await bed.event(event.id)).status).toBe("done");
    expect(await bed.store.leases.current(await bed.event(event.id))).toBeUndefined();
    expect(await bed.store.events.history(event)).toMatchObject([
      { kind: "received" },
      { kind: "claimed" },
      {
        ...{ at: claim.lease.claimedAt + 5 * SECOND, kind: "acked", lease: claim.lease.id, by: "key_a" },
        ...{ status: "done", attempts: 0, result: JSON.parse(result) },
      },
    ]);
  });

  rule("a nack without a retry makes it dead, counted as a failure, with its reason in the history", async (bed) => {
    const claim = await bed.claimed(await bed.arrive());
    const { event, retryAt } = await bed.settled(claim, { action: "nack", retry: false, reason: "no such customer" });
    expect([event.status, event.attempts, retryAt]).toEqual(["dead", 1, null]);
    expect((await bed.store.events.history(event)).at(-1)).toMatchObject({
      ...{ kind: "nacked", status: "dead", attempts: 1, retry: false, reason: "no such customer" },
    });
  });

  rule("another key's lease is not held, whether it is named or not", async (bed) => {
    const { event, lease } = await bed.claimed(await bed.arrive(), "key_a");
    for (const act of [ACK, NACK, RELEASE]) {
      for (const given of [lease.id, undefined]) {
        const answer = bed.store.leases.settle(bed.project, event.id, "key_b", given, act);
        expect((await refused(answer, "LEASE_NOT_HELD")).extra.event_status).toBe("claimed");
      }
    }
    expect((await bed.event(event.id)).status).toBe("claimed");
  });

  rule("a lease that was never given, or that is another event's, is not held", async (bed) => {
    const claim = await bed.claimed(await bed.arrive());
    const other = await bed.claimed(await bed.arrive());
    const settle = (lease: `lse_${string}`) =>
      bed.store.leases.settle(bed.project, claim.event.id, "key_a", lease, ACK);
    await refused(settle(newId("lse", 1)), "LEASE_NOT_HELD");
    await refused(settle(other.lease.id), "LEASE_NOT_HELD");
    await refused(unnamed(bed, (await bed.arrive()).id, "key_a", ACK), "LEASE_NOT_HELD");
  });

  rule("a lease that has run out settles nothing, though nobody has the event now", async (bed) => {
    const claim = await bed.claimed(await bed.arrive(), "key_a", 30 * SECOND);
    await bed.clock.advance(30 * SECOND);
    for (const act of [ACK, NACK, RELEASE]) {
      const problem = await refused(bed.settle(claim, act), "LEASE_NOT_HELD");
      expect(problem.extra.event_status).toBe("pending");
    }
    expect(await bed.event(claim.event.id)).toMatchObject({ status: "pending", attempts: 1 });
  });

  rule("a late worker does not settle the next one's lease, not even its own next one", async (bed) => {
    const late = await bed.claimed(await bed.arrive(), "key_a", 30 * SECOND);
    await bed.clock.advance(30 * SECOND);
    const now = await bed.claimed(late.event, "key_a");
    await refused(bed.settle(late, ACK), "LEASE_NOT_HELD");
    const problem = await refused(unnamed(bed, late.event.id, "key_a", ACK), "LEASE_REQUIRED");
    expect(problem.extra.event_status).toBe("claimed");
    expect((await bed.settled(now, ACK)).event.status).toBe("done");
    await refused(unnamed(bed, late.event.id, "key_a", ACK), "LEASE_REQUIRED");
  });

  rule("without a lease named, the only one this key ever held is meant", async (bed) => {
    const event = await bed.arrive();
    await bed.settled(await bed.claimed(event, "key_b"), RELEASE);
    await bed.claimed(event, "key_a");
    await refused(unnamed(bed, event.id, "key_c", ACK), "LEASE_NOT_HELD");
    await refused(unnamed(bed, event.id, "key_b", ACK), "LEASE_NOT_HELD");
    expect((await ok(unnamed(bed, event.id, "key_a", ACK))).event.status).toBe("done");
  });

  const same: [name: string, act: SettleAction][] = [
    ["ack", { action: "ack", result: '{"a":1}' }],
    ["nack", { action: "nack", retry: true, reason: "busy" }],
    ["dead nack", { action: "nack", retry: false, reason: null }],
    ["release", RELEASE],
    ["delayed release", { action: "release", delayMs: MINUTE }],
  ];
  for (const [name, act] of same) {
    rule(`the same ${name} again gets the same answer, named or not, and changes nothing`, async (bed) => {
      const claim = await bed.claimed(await bed.arrive());
      const first = await bed.settled(claim, act);
      await bed.clock.advance(SECOND);
      const shuffled = Object.fromEntries(Object.entries(act).reverse()) as SettleAction;
      expect(await bed.settled(claim, shuffled)).toEqual(first);
      expect(await ok(unnamed(bed, claim.event.id, "key_a", act))).toEqual(first);
      expect(await bed.historyKinds(claim.event)).toHaveLength(3);
      await bed.clock.advance(HOUR);
      await bed.claimNext({}, 1, "key_b");
      await bed.clock.advance(300 * SECOND);
      await bed.claimNext({}, 1, "key_b");
      const now = await bed.event(claim.event.id);
      expect(await bed.settled(claim, act)).toEqual(first);
      await bed.restart();
      expect(await bed.settled(claim, act)).toEqual(first);
      expect(await bed.event(claim.event.id)).toEqual(now);
    });
  }

  rule("another settle with a lease that was settled comes too late, and says how it went", async (bed) => {
    const claim = await bed.claimed(await bed.arrive());
    await bed.settled(claim, { action: "ack", result: "1" });
    const others: SettleAction[] = [ACK, { action: "ack", result: "2" }, NACK, RELEASE];
    for (const act of others) {
      const problem = await refused(bed.settle(claim, act), "LEASE_NOT_HELD");
      expect(problem.extra.event_status).toBe("done");
      expect(problem.detail).toContain("acked");
    }
    expect((await bed.store.events.history(claim.event)).at(-1)).toMatchObject({ kind: "acked", result: 1 });
  });

  rule("two settles of one lease at the same moment: one counts, the same one gets its answer", async (bed) => {
    const claim = await bed.claimed(await bed.arrive());
    const [ack, again, nack] = await Promise.all([
      bed.settled(claim, ACK),
      bed.settled(claim, ACK),
      refused(bed.settle(claim, NACK), "LEASE_NOT_HELD"),
    ]);
    expect(again).toEqual(ack);
    expect(nack.extra.event_status).toBe("done");
    expect(await bed.event(claim.event.id)).toMatchObject({ status: "done", attempts: 0 });
  });

  rule("a release gives it back at once, uncounted, to the head of the queue", async (bed) => {
    const [event, younger] = [await bed.arrive(), await bed.arrive()];
    const { event: after, retryAt } = await bed.settled(await bed.claimed(event), RELEASE);
    expect([after.status, after.attempts, after.dueAt, retryAt]).toEqual(["pending", 0, null, null]);
    expect((await bed.claimNext({}, 2)).map((claim) => claim.event.id)).toEqual([event.id, younger.id]);
    expect((await bed.store.events.history(event))[2]).toMatchObject({ kind: "released", delay_seconds: 0 });
  });

  rule("a release with a delay is pending, but skipped until it is due", async (bed) => {
    const event = await bed.arrive();
    const { event: after, retryAt } = await bed.settled(await bed.claimed(event), {
      action: "release",
      delayMs: MINUTE,
    });
    expect([after.status, after.attempts]).toEqual(["pending", 0]);
    expect(retryAt).toBe(bed.clock.gate() + MINUTE);
    await bed.clock.advance(MINUTE - 1);
    expect(await bed.claimNext()).toEqual([]);
    await bed.clock.advance(1);
    expect((await bed.claimNext())[0]?.event).toMatchObject({ id: event.id, attempts: 0 });
  });

  rule("the 21st release since the arrival is refused, and the lease holds on", async (bed) => {
    const event = await bed.arrive();
    for (let i = 0; i < 20; i++) await bed.settled(await bed.claimed(event), RELEASE);
    const claim = await bed.claimed(event);
    const problem = await refused(bed.settle(claim, RELEASE), "RELEASE_LIMIT");
    expect(problem.extra.event_status).toBe("claimed");
    await refused(bed.settle(claim, { action: "release", delayMs: MINUTE }), "RELEASE_LIMIT");
    expect((await bed.settled(claim, ACK)).event).toMatchObject({ status: "done", attempts: 0 });
  });

  rule("a release with a delay counts too, and a requeue begins the count anew", async (bed) => {
    const event = await bed.arrive();
    for (let i = 0; i < 10; i++) await bed.settled(await bed.claimed(event), RELEASE);
    for (let i = 0; i < 10; i++) {
      await bed.settled(await bed.claimed(event), { action: "release", delayMs: SECOND });
      await bed.clock.advance(SECOND);
    }
    const claim = await bed.claimed(event);
    await refused(bed.settle(claim, RELEASE), "RELEASE_LIMIT");
    await bed.settled(claim, ACK);
    await ok(bed.store.events.requeue(bed.project, event.id, "key_m"));
    for (let i = 0; i < 20; i++) await bed.settled(await bed.claimed(event), RELEASE);
    await refused(bed.settle(await bed.claimed(event), RELEASE), "RELEASE_LIMIT");
  });

  rule("a history is told as it happened, though the wall clock was set back meanwhile", async (bed) => {
    const event = await bed.arrive();
    bed.clock.stepWall(-HOUR);
    const claim = await bed.claimed(event);
    bed.clock.stepWall(-HOUR);
    await bed.settled(claim, ACK);
    bed.clock.stepWall(-HOUR);
    await ok(bed.store.events.requeue(bed.project, event.id, "key_m"));
    bed.clock.stepWall(-HOUR);
    await bed.settled(await bed.claimed(event), RELEASE);
    expect(await bed.historyKinds(event)).toEqual([
      ...["received", "claimed", "acked", "requeued", "claimed", "released"],
    ]);
    expect((await bed.store.events.history(event)).map(({ at }) => (event.receivedAt - at) / HOUR)).toEqual([
      ...[0, 1, 2, 3, 4, 4],
    ]);
  });
}
