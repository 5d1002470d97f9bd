import { expect } from "bun:test";
import { newId } from "../../../src/kernel/ids.ts";
import { ACK, HOUR, MINUTE, NACK, newProject, ok, RELEASE, refused, SECOND } from "./bed.ts";
import type { Rule } from "./rule.ts";

/** Taking leases: one event, one lease, whoever asks. */
export function claimingRules(rule: Rule): void {
  rule("a claim gives the whole event and a lease of its own that runs out when asked", async (bed) => {
    const event = await bed.arrive();
    const claim = await bed.claimed(event, "key_a", 30 * SECOND);
    const expiresAt = bed.clock.gate() + 30 * SECOND;
    expect(claim.event).toEqual({ ...event, status: "claimed", dueAt: expiresAt });
    expect(claim.lease).toMatchObject({
      ...{ event: event.id, holder: "key_a", claimedAt: bed.clock.wall(), expiresAt },
    });
    expect(claim.lease.id).toMatch(/^lse_/);
    expect(await bed.store.leases.current(await bed.event(event.id))).toEqual(claim.lease);
    expect(await bed.store.events.history(event)).toEqual([
      { at: event.receivedAt, kind: "received" },
      { at: bed.clock.wall(), kind: "claimed", lease: claim.lease.id, by: "key_a" },
    ]);
  });

  rule("while a lease holds, no key can claim the event, the holder included", async (bed) => {
    const event = await bed.arrive();
    await bed.claimed(event, "key_a");
    for (const holder of ["key_a", "key_b"]) {
      const problem = await refused(bed.claim(event, holder), "EVENT_NOT_CLAIMABLE");
      expect(problem.extra.event_status).toBe("claimed");
    }
    expect(await bed.claimNext()).toEqual([]);
  });

  rule("what is done, dead, failed or released and not due cannot be claimed", async (bed) => {
    const after = async (act: Parameters<typeof bed.settled>[1]) => {
      const event = await bed.arrive();
      await bed.settled(await bed.claimed(event), act);
      return event;
    };
    const cases = [
      [await after(ACK), "done"],
      [await after({ action: "nack", retry: false, reason: null }), "dead"],
      [await after(NACK), "failed"],
      [await after({ action: "release", delayMs: MINUTE }), "pending"],
    ] as const;
    for (const [event, status] of cases) {
      const problem = await refused(bed.claim(event), "EVENT_NOT_CLAIMABLE");
      expect(problem.extra.event_status).toBe(status);
    }
    expect(await bed.claimNext({}, 100)).toEqual([]);
  });

  rule("what is not there, or another project's, is not found", async (bed) => {
    const other = newProject("other");
    await ok(bed.store.projects.create(other));
    const event = await bed.arrive();
    const { leases } = bed.store;
    await refused(leases.claim(bed.project, newId("evt", 1), "key_a", MINUTE), "NOT_FOUND");
    await refused(leases.claim(other.id, event.id, "key_a", MINUTE), "NOT_FOUND");
    const claim = await bed.claimed(event);
    await refused(leases.settle(other.id, event.id, "key_a", claim.lease.id, ACK), "NOT_FOUND");
    await refused(leases.extend(other.id, event.id, "key_a", claim.lease.id, MINUTE), "NOT_FOUND");
    expect(await ok(leases.claimNext(other.id, {}, "key_a", 10, MINUTE))).toEqual([]);
    expect((await bed.event(event.id)).status).toBe("claimed");
  });

  rule("the next ones are the oldest that match, up to as many as asked", async (bed) => {
    const events = [];
    for (const type of ["a.1", "b.1", "a.2", "a.3", "b.2"]) events.push(await bed.arrive({ type }));
    const types = async (...args: Parameters<typeof bed.claimNext>) =>
      (await bed.claimNext(...args)).map((claim) => claim.event.type);
    expect(await types({ type: "a.*" }, 2)).toEqual(["a.1", "a.2"]);
    expect(await types({}, 2)).toEqual(["b.1", "a.3"]);
    expect(await types({ type: "a.*" }, 10)).toEqual([]);
    expect(await types({ source: "billing", verified: true, channel: "webhook" }, 10)).toEqual(["b.2"]);
    expect(await types({}, 10)).toEqual([]);
  });

  rule("the oldest come first, from whichever source and of whatever type the filter lets through", async (bed) => {
    const types = ["a.1", "a.2", "a.1", "a.3", "a.2", "a.1"];
    for (const [i, type] of types.entries()) await bed.arrive({ type, source: i % 2 ? "x" : "y" });
    const claims = await bed.claimNext({ type: "a.*" }, 5);
    expect(claims.map((claim) => claim.event.type)).toEqual(types.slice(0, 5));
  });

  rule("claims of the next are atomic: of many at the same moment, no two get the same event", async (bed) => {
    for (let i = 0; i < 50; i++) await bed.arrive({ type: `t.${i % 3}` });
    const claims = await Promise.all(
      Array.from({ length: 30 }, (_, i) => bed.claimNext(i % 2 ? {} : { type: "t.*" }, 3, `key_${i}`)),
    );
    const ids = claims.flat().map((claim) => claim.event.id);
    expect(ids).toHaveLength(50);
    expect(new Set(ids).size).toBe(50);
  });

  rule("a claim that is undone was never: pending, nothing counted, no line in the history, no lease", async (bed) => {
    const event = await bed.arrive();
    const claim = await bed.claimed(event);
    await ok(bed.store.leases.undo([claim]));
    expect(await bed.event(event.id)).toEqual(event);
    expect(await bed.historyKinds(event)).toEqual(["received"]);
    await refused(bed.settle(claim, ACK), "LEASE_NOT_HELD");
    const next = await bed.claimed(event);
    expect((await ok(bed.store.leases.settle(bed.project, event.id, "key_a", undefined, ACK))).event.status).toBe(
      "done",
    );
    expect(next.lease.id).not.toBe(claim.lease.id);
  });

  rule("what was settled, or ran out and was claimed again, is not undone", async (bed) => {
    const [done, taken] = [await bed.arrive(), await bed.arrive()];
    const first = await bed.claimed(done);
    await bed.settled(first, ACK);
    const late = await bed.claimed(taken, "key_a", 30 * SECOND);
    await bed.clock.advance(30 * SECOND);
    const holds = await bed.claimed(taken, "key_b");
    await ok(bed.store.leases.undo([first, late]));
    expect((await bed.event(done.id)).status).toBe("done");
    expect(await bed.event(taken.id)).toMatchObject({ status: "claimed", attempts: 1 });
    expect((await bed.settled(holds, ACK)).event.status).toBe("done");
  });

  rule("extending lasts that long from now, shorter too, and at most 12 hours from the claim", async (bed) => {
    const claim = await bed.claimed(await bed.arrive());
    const { event, lease } = claim;
    const extend = (leaseMs: number) => ok(bed.store.leases.extend(bed.project, event.id, "key_a", lease.id, leaseMs));
    const start = bed.clock.gate();
    await bed.clock.advance(100 * SECOND);
    expect((await extend(MINUTE)).lease).toEqual({ ...lease, expiresAt: start + 160 * SECOND });
    expect((await extend(HOUR)).event).toMatchObject({ status: "claimed", dueAt: start + 100 * SECOND + HOUR });
    expect(await bed.store.leases.current(await bed.event(event.id))).toMatchObject({
      expiresAt: start + 100 * SECOND + HOUR,
    });
    for (let i = 0; i < 11; i++) {
      await bed.clock.advance(HOUR - SECOND);
      await extend(HOUR);
    }
    expect((await extend(HOUR)).lease.expiresAt).toBe(start + 12 * HOUR);
    await bed.clock.advance(start + 12 * HOUR - bed.clock.gate());
    expect(await bed.event(event.id)).toMatchObject({ status: "pending", attempts: 1 });
    await refused(bed.store.leases.extend(bed.project, event.id, "key_a", lease.id, MINUTE), "LEASE_NOT_HELD");
  });

  rule("a shortened lease runs out at its new end", async (bed) => {
    const { event, lease } = await bed.claimed(await bed.arrive(), "key_a", HOUR);
    await ok(bed.store.leases.extend(bed.project, event.id, "key_a", lease.id, 30 * SECOND));
    await bed.clock.advance(30 * SECOND);
    expect(await bed.event(event.id)).toMatchObject({ status: "pending", attempts: 1 });
  });

  rule("another key extends nothing; neither does the holder once it settled", async (bed) => {
    const claim = await bed.claimed(await bed.arrive());
    const { leases } = bed.store;
    const { id } = claim.event;
    await refused(leases.extend(bed.project, id, "key_b", claim.lease.id, MINUTE), "LEASE_NOT_HELD");
    await refused(leases.extend(bed.project, id, "key_b", undefined, MINUTE), "LEASE_NOT_HELD");
    await refused(leases.extend(bed.project, id, "key_a", newId("lse", 1), MINUTE), "LEASE_NOT_HELD");
    await bed.settled(claim, RELEASE);
    await refused(leases.extend(bed.project, id, "key_a", claim.lease.id, MINUTE), "LEASE_NOT_HELD");
    const again = await bed.claimed(claim.event);
    await refused(leases.extend(bed.project, id, "key_a", undefined, MINUTE), "LEASE_REQUIRED");
    expect((await ok(leases.extend(bed.project, id, "key_a", again.lease.id, MINUTE))).lease.id).toBe(again.lease.id);
  });

  rule("a holder that loses its right gives back all its leases at once, uncounted", async (bed) => {
    const claims = [await bed.claimed(await bed.arrive()), await bed.claimed(await bed.arrive())];
    const others = await bed.claimed(await bed.arrive(), "key_b");
    const done = await bed.claimed(await bed.arrive());
    await bed.settled(done, ACK);
    expect(await ok(bed.store.leases.releaseAll("key_a"))).toBe(2);
    for (const claim of claims) {
      expect(await bed.event(claim.event.id)).toMatchObject({ status: "pending", attempts: 0, dueAt: null });
      expect(await bed.historyKinds(claim.event)).toEqual(["received", "claimed", "lease_revoked"]);
      const problem = await refused(bed.settle(claim, ACK), "LEASE_NOT_HELD");
      expect(problem.extra.event_status).toBe("pending");
    }
    expect((await bed.event(others.event.id)).status).toBe("claimed");
    expect((await bed.event(done.event.id)).status).toBe("done");
    expect(await ok(bed.store.leases.releaseAll("key_a"))).toBe(0);
  });

  rule("many leases of one holder are given back, in every project", async (bed) => {
    const other = newProject("other");
    await ok(bed.store.projects.create(other));
    await Promise.all(Array.from({ length: 1200 }, () => bed.store.events.accept(bed.newEvent({ payload: null }))));
    await ok(bed.store.events.accept(bed.newEvent({ project: other.id })));
    await ok(bed.store.leases.claimNext(bed.project, {}, "operator", 1200, HOUR));
    await ok(bed.store.leases.claimNext(other.id, {}, "operator", 1, HOUR));
    expect(await ok(bed.store.leases.releaseAll("operator"))).toBe(1201);
    expect((await bed.claimNext({}, 2000)).length).toBe(1200);
  });
}
