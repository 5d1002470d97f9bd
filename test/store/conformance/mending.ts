import { expect } from "bun:test";
import { newId } from "../../../src/kernel/ids.ts";
import { EVENT_STATUSES } from "../../../src/store/types.ts";
import { ACK, type Bed, DAY, NACK, newProject, newSource, ok, RELEASE, refused, SECOND } from "./bed.ts";
import type { Rule } from "./rule.ts";

const DEAD = { action: "nack", retry: false, reason: null } as const;

/** What an operator does by hand: bring events back, delete their content; and what retention does by age. */
export function mendingRules(rule: Rule): void {
  rule("done, dead and failed events come back, their failures forgotten", async (bed) => {
    for (const act of [ACK, DEAD, NACK]) {
      const event = await bed.arrive();
      await bed.fail(event, 1);
      await bed.settled(await bed.claimed(event), act);
      await bed.clock.advance(SECOND);
      const back = await ok(bed.store.events.requeue(bed.project, event.id, "key_m"));
      expect(back).toEqual({ ...event, status: "pending", attempts: 0, dueAt: null });
      expect((await bed.store.events.history(event)).at(-1)).toEqual({
        ...{ at: bed.clock.wall(), kind: "requeued", by: "key_m" },
      });
      expect((await bed.claimNext({}, 1))[0]?.event.id).toBe(event.id);
    }
  });

  rule("pending and claimed events do not, nor what is not there", async (bed) => {
    const requeue = (id: `evt_${string}`, project = bed.project) => bed.store.events.requeue(project, id, "key_m");
    const [pending, delayed, claimed] = [await bed.arrive(), await bed.arrive(), await bed.arrive()];
    await bed.settled(await bed.claimed(delayed), { action: "release", delayMs: DAY });
    await bed.claimed(claimed);
    for (const event of [pending, delayed, claimed]) {
      const problem = await refused(requeue(event.id), "EVENT_NOT_REQUEUABLE");
      expect(problem.extra.event_status).toBe((await bed.event(event.id)).status);
    }
    await refused(requeue(newId("evt", 1)), "NOT_FOUND");
    await refused(requeue(pending.id, newProject("none").id), "NOT_FOUND");
  });

  rule("a requeued event that failed no longer waits for its retry", async (bed) => {
    const event = await bed.arrive();
    await bed.settled(await bed.claimed(event), NACK);
    await ok(bed.store.events.requeue(bed.project, event.id, "key_m"));
    const claim = await bed.claimed(event, "key_b", DAY);
    await bed.clock.advance(60 * SECOND);
    expect((await bed.settled(claim, ACK)).event).toMatchObject({ status: "done", attempts: 0 });
  });

  rule("the old lease settles nothing of the requeued event", async (bed) => {
    const event = await bed.arrive();
    const old = await bed.claimed(event);
    await bed.settled(old, NACK);
    await ok(bed.store.events.requeue(bed.project, event.id, "key_m"));
    await refused(bed.settle(old, ACK), "LEASE_NOT_HELD");
    expect((await bed.event(event.id)).status).toBe("pending");
  });

  rule("in bulk: those that match, step by step, or only their number", async (bed) => {
    const start = bed.clock.wall();
    for (let i = 0; i < 9; i++) {
      const event = await bed.arrive({ type: i % 3 === 0 ? "a" : "b", source: i < 6 ? "early" : "late" });
      await bed.settled(await bed.claimed(event), i % 2 ? DEAD : ACK);
      await bed.clock.advance(SECOND);
    }
    const matched = async (more: object, dry: boolean) => {
      let total = 0;
      for (let afterSeq: number | undefined = 0; afterSeq !== undefined; ) {
        const query = { project: bed.project, statuses: ["dead"] as const, limit: 2, afterSeq, ...more };
        const step: { matched: number; next?: number } = await ok(bed.store.events.requeueMany(query, "key_m", dry));
        total += step.matched;
        afterSeq = step.next;
      }
      return total;
    };
    expect(await matched({}, true)).toBe(4);
    expect(await matched({ type: "a" }, true)).toBe(1);
    expect(await matched({ source: "late" }, true)).toBe(1);
    expect(await matched({ since: start + 3 * SECOND, until: start + 7 * SECOND }, true)).toBe(2);
    expect(await matched({ statuses: ["pending"] }, true)).toBe(0);
    expect((await bed.claimNext({}, 10)).length).toBe(0);
    expect(await matched({ source: "early" }, false)).toBe(3);
    expect(await matched({}, true)).toBe(1);
    expect(await matched({ statuses: ["done"], type: "b" }, false)).toBe(3);
    expect((await bed.claimNext({}, 10)).map((claim) => claim.event.attempts)).toEqual([0, 0, 0, 0, 0, 0]);
  });

  rule("a purge deletes the content and nothing else, and answers the blob that must go, once", async (bed) => {
    const blob = { key: "b".repeat(32), size: 300_000, contentType: "text/plain" };
    const event = await bed.arrive({ payload: null, blob });
    const purge = () => bed.store.events.purge(bed.project, event.id, "key_m");
    expect(await ok(purge())).toEqual({ event: { ...event, blob: null, purged: true }, blob: blob.key });
    expect(await ok(purge())).toEqual({ event: { ...event, blob: null, purged: true }, blob: null });
    expect(await bed.historyKinds(event)).toEqual(["received", "purged"]);
    expect((await bed.claimNext())[0]?.event).toMatchObject({ id: event.id, purged: true, payload: null });
  });

  rule("a purge waits for the lease to end, and for an event to be there", async (bed) => {
    const claim = await bed.claimed(await bed.arrive());
    const problem = await refused(bed.store.events.purge(bed.project, claim.event.id, "key_m"), "EVENT_LEASED");
    expect(problem.extra.event_status).toBe("claimed");
    await refused(bed.store.events.purge(bed.project, newId("evt", 1), "key_m"), "NOT_FOUND");
    await bed.settled(claim, ACK);
    expect((await ok(bed.store.events.purge(bed.project, claim.event.id, "key_m"))).event.payload).toBeNull();
  });

  retentionRules(rule);
}

type Limits = { payload?: number; settled?: number; changes?: number };

/** Runs retention in small steps until it has no more to do; ages in milliseconds. Answers the blobs that must go. */
async function retain(bed: Bed, ages: Limits, step = 3): Promise<string[]> {
  const before = (age?: number) => (age === undefined ? 0 : bed.clock.wall() - age);
  const limits = {
    ...{ payloadBefore: before(ages.payload), settledBefore: before(ages.settled) },
    ...{ changesBefore: before(ages.changes) },
  };
  const blobs: string[] = [];
  for (let i = 0; i < 200; i++) {
    const done = await ok(bed.store.upkeep.retain(limits, step));
    blobs.push(...done.blobs);
    if (!done.more) return blobs;
  }
  throw new Error("retention does not come to an end");
}

function retentionRules(rule: Rule): void {
  rule("retention purges old content, whatever its status, and leaves what is younger", async (bed) => {
    const blob = { key: "c".repeat(32), size: 300_000, contentType: "text/plain" };
    const old = [await bed.arrive({ payload: null, blob }), await bed.arrive(), await bed.arrive(), await bed.arrive()];
    await bed.settled(await bed.claimed(old[1] ?? { id: "evt_" }), ACK);
    await bed.clock.advance(DAY);
    const young = await bed.arrive();
    expect(await bed.store.upkeep.heldBlobs([blob.key, "d".repeat(32)])).toEqual(new Set([blob.key]));
    expect(await retain(bed, { payload: DAY / 2 })).toEqual([blob.key]);
    for (const { id } of old) expect(await bed.event(id)).toMatchObject({ purged: true, payload: null, blob: null });
    expect(await bed.event(young.id)).toEqual(young);
    expect((await bed.event(old[1]?.id ?? "evt_")).status).toBe("done");
    expect(await bed.store.upkeep.heldBlobs([blob.key])).toEqual(new Set());
    expect(await retain(bed, { payload: DAY / 2 })).toEqual([]);
  });

  rule("content under a lease is purged once the lease has ended", async (bed) => {
    const claim = await bed.claimed(await bed.arrive(), "key_a", DAY);
    const behind = await bed.arrive();
    await bed.clock.advance(DAY / 2);
    await retain(bed, { payload: 0 });
    expect((await bed.event(claim.event.id)).purged).toBe(false);
    await bed.settled(claim, ACK);
    await retain(bed, { payload: 0 });
    expect((await bed.event(claim.event.id)).purged).toBe(true);
    expect((await bed.event(behind.id)).purged).toBe(true);
  });

  rule(
    "retention deletes what was settled long ago, by the time it was settled, and nothing that waits",
    async (bed) => {
      const kept: string[] = [];
      const gone: string[] = [];
      const blob = (i: number) => ({ key: String(i).repeat(32), size: 300_000, contentType: "text/plain" });
      const waiting = Array.from({ length: 4 }, () => bed.arrive());
      kept.push(...(await Promise.all(waiting)).map((event) => event.id));
      const late = await bed.arrive();
      kept.push(late.id);
      for (const [i, act] of [ACK, DEAD, ACK].entries()) {
        const event = await bed.arrive(i === 0 ? { payload: null, blob: blob(1) } : {});
        await bed.settled(await bed.claimed(event), act);
        gone.push(event.id);
      }
      const failed = await bed.arrive();
      await bed.fail(failed, 1);
      kept.push(failed.id);
      await bed.clock.advance(10 * DAY);
      await bed.settled(await bed.claimed(late), ACK);
      expect(await retain(bed, { settled: 9 * DAY }, 2)).toEqual([blob(1).key]);
      const left = await bed.store.events.list({ project: bed.project, statuses: EVENT_STATUSES, limit: 100 });
      expect(left.rows.map((event) => event.id).sort() as string[]).toEqual(kept.sort());
      for (const id of gone) expect(await bed.store.events.find(id as `evt_${string}`)).toBeUndefined();
      await bed.clock.advance(10 * DAY);
      await retain(bed, { settled: 9 * DAY }, 2);
      expect(await bed.store.events.find(late.id)).toBeUndefined();
      expect(await bed.store.upkeep.counts()).toEqual([{ project: bed.project, status: "pending", count: 5 }]);
    },
  );

  rule("an old event settled late does not keep younger ones, settled long ago, from being deleted", async (bed) => {
    const late = [await bed.arrive(), await bed.arrive(), await bed.arrive()];
    await bed.clock.advance(DAY);
    const early = await bed.arrive();
    await bed.settled(await bed.claimed(early), ACK);
    await bed.clock.advance(10 * DAY);
    for (const event of late) await bed.settled(await bed.claimed(event), ACK);
    await retain(bed, { settled: 5 * DAY }, 2);
    expect(await bed.store.events.find(early.id)).toBeUndefined();
    expect((await bed.event(late[0]?.id ?? "evt_")).status).toBe("done");
  });

  rule("a duplicate of an event that retention deleted is still one, while its memory lasts", async (bed) => {
    const hash = new Uint8Array(16).fill(7);
    const { num } = await ok(bed.store.sources.create(newSource(bed.project, "billing")));
    const dedup = { sourceNum: num, key: hash, bodyHash: hash, ttlMs: 30 * DAY };
    const first = await bed.arrive({ dedup });
    await bed.settled(await bed.claimed(first), ACK);
    await bed.clock.advance(20 * DAY);
    await retain(bed, { settled: 10 * DAY });
    expect(await bed.store.events.find(first.id)).toBeUndefined();
    expect(await ok(bed.store.events.accept(bed.newEvent({ dedup })))).toEqual({ id: first.id, duplicate: true });
    await bed.clock.advance(10 * DAY);
    await retain(bed, {});
    expect((await ok(bed.store.events.accept(bed.newEvent({ dedup })))).duplicate).toBe(false);
  });

  rule("old changes go, and what may be resumed from says so", async (bed) => {
    for (let i = 0; i < 5; i++) await bed.arrive();
    const { newest } = await bed.store.events.changeCursors();
    await bed.clock.advance(DAY);
    const event = await bed.arrive();
    await retain(bed, { changes: DAY / 2 });
    expect(await bed.store.events.changeCursors()).toEqual({ oldest: newest, newest: newest + 1 });
    expect(await bed.store.events.changesAfter(bed.project, 0, 10)).toMatchObject([{ event: { id: event.id } }]);
    await bed.clock.advance(DAY);
    await retain(bed, { changes: DAY / 2 });
    expect(await bed.store.events.changeCursors()).toEqual({ oldest: newest + 1, newest: newest + 1 });
    await bed.restart();
    await bed.settled(await bed.claimed(event), RELEASE);
    expect((await bed.store.events.changeCursors()).newest).toBe(newest + 3);
  });
}
