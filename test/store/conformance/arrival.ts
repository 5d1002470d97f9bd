import { expect } from "bun:test";
import { newId } from "../../../src/kernel/ids.ts";
import type { DedupKey } from "../../../src/store/types.ts";
import { ACK, DAY, hash16, newProject, ok, refused } from "./bed.ts";
import type { Rule } from "./rule.ts";

const TTL = 30 * DAY;

function dedup(text: string, body = "body", ttlMs = TTL, sourceNum = 1): DedupKey {
  return { sourceNum, key: hash16(text), bodyHash: hash16(body), ttlMs };
}

/** What arrives is kept as it came, once. */
export function arrivalRules(rule: Rule): void {
  rule("an event is kept as it came, byte for byte, pending and without a failure", async (bed) => {
    const payload = '{"big":12345678901234567890,"n":1.10,"b":1,"a":2,"a":3,"s":"\\u00e9 \u00e9 \u{1f4ee} \\u0000"}';
    const headers = '{"x-b":"2","x-a":"1"}';
    const event = await bed.arrive({ payload, headers, type: "a b.\u00e9", source: "s", channel: "email" });
    expect(event).toMatchObject({
      ...{ project: bed.project, source: "s", channel: "email", type: "a b.\u00e9", verified: true },
      ...{ receivedAt: bed.clock.wall(), status: "pending", attempts: 0, dueAt: null, routed: false, purged: false },
      ...{ headers, payload, blob: null },
    });
    await bed.restart();
    expect(await bed.event(event.id)).toEqual(event);
  });

  rule("a body stored apart is kept as its key, size and type", async (bed) => {
    const blob = { key: "0".repeat(32), size: 300_000, contentType: "application/json" };
    expect(await bed.arrive({ payload: null, blob })).toMatchObject({ payload: null, blob });
  });

  rule("ids sort as the events arrived, and an id is taken as TypeID or UUID", async (bed) => {
    const ids = [];
    for (let i = 0; i < 20; i++) ids.push((await bed.arrive()).id);
    expect([...ids].sort()).toEqual(ids);
  });

  rule("an event is seen by its own project only, but by a link that stands for its own right", async (bed) => {
    const other = newProject("other");
    await ok(bed.store.projects.create(other));
    const event = await bed.arrive();
    expect(await bed.store.events.get(other.id, event.id)).toBeUndefined();
    expect(await bed.store.events.get(bed.project, newId("evt", 1))).toBeUndefined();
    expect(await bed.store.events.find(event.id)).toEqual(event);
    expect(await bed.store.events.find(newId("evt", 1))).toBeUndefined();
  });

  rule("nothing arrives in a project that does not exist", async (bed) => {
    await refused(bed.store.events.accept(bed.newEvent({ project: newId("prj", 2) })), "NOT_FOUND");
    expect((await bed.arrive()).status).toBe("pending");
  });

  rule("a duplicate answers the first event's id and makes nothing but a line in its history", async (bed) => {
    const first = await bed.arrive({ dedup: dedup("id-1") });
    await bed.clock.advance(1000);
    const again = await ok(bed.store.events.accept(bed.newEvent({ payload: "{}", dedup: dedup("id-1") })));
    expect(again).toEqual({ id: first.id, duplicate: true });
    expect(await bed.event(first.id)).toEqual(first);
    expect(await bed.store.events.history(first)).toEqual([
      { at: first.receivedAt, kind: "received" },
      { at: first.receivedAt + 1000, kind: "duplicate" },
    ]);
    expect(await bed.store.upkeep.counts()).toEqual([{ project: bed.project, status: "pending", count: 1 }]);
  });

  rule("an id that comes again with another body is a duplicate, noted as such", async (bed) => {
    const first = await bed.arrive({ dedup: dedup("id-1", "one") });
    const again = await ok(bed.store.events.accept(bed.newEvent({ dedup: dedup("id-1", "two") })));
    expect(again).toEqual({ id: first.id, duplicate: true });
    expect(await bed.store.events.history(first)).toContainEqual({
      ...{ at: bed.clock.wall(), kind: "duplicate", other_body: true },
    });
  });

  rule("duplicates are known within a source, and only where a key says so", async (bed) => {
    const ids = new Set<string>();
    ids.add((await bed.arrive({ dedup: dedup("id-1") })).id);
    ids.add((await bed.arrive({ dedup: dedup("id-1", "body", TTL, 2) })).id);
    ids.add((await bed.arrive({ dedup: dedup("id-2") })).id);
    ids.add((await bed.arrive()).id);
    ids.add((await bed.arrive()).id);
    expect(ids.size).toBe(5);
  });

  rule("of many that come at the same moment with one key, exactly one is the first", async (bed) => {
    const accepted = await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        ok(bed.store.events.accept(bed.newEvent({ dedup: dedup(i % 2 ? "odd" : "even") }))),
      ),
    );
    expect(accepted.filter((one) => !one.duplicate)).toHaveLength(2);
    expect(new Set(accepted.map((one) => one.id)).size).toBe(2);
    expect(await bed.store.upkeep.counts()).toMatchObject([{ count: 2 }]);
  });

  rule("the memory of duplicates ends its time after the first, not after the last", async (bed) => {
    const first = await bed.arrive({ dedup: dedup("id-1") });
    await bed.clock.advance(TTL - 1);
    expect((await bed.arrive({ dedup: dedup("id-1") })).id).toBe(first.id);
    await bed.clock.advance(1);
    const second = await bed.arrive({ dedup: dedup("id-1") });
    expect(second.id).not.toBe(first.id);
    await bed.clock.advance(TTL - 1);
    expect((await bed.arrive({ dedup: dedup("id-1") })).id).toBe(second.id);
  });

  rule("the memory of duplicates outlives a restart and does not shrink by a step of the wall clock", async (bed) => {
    bed.clock.stepWall(-40 * DAY);
    const first = await bed.arrive({ dedup: dedup("id-1") });
    bed.clock.stepWall(71 * DAY);
    expect((await bed.arrive({ dedup: dedup("id-1") })).id).toBe(first.id);
    bed.clock.stepWall(-31 * DAY);
    await bed.restart(29 * DAY);
    expect((await bed.arrive({ dedup: dedup("id-1") })).id).toBe(first.id);
    await bed.restart(2 * DAY);
    expect((await bed.arrive({ dedup: dedup("id-1") })).id).not.toBe(first.id);
  });

  rule("a duplicate changes nothing, whatever became of the first", async (bed) => {
    const event = await bed.arrive({ dedup: dedup("id-1") });
    const again = () => ok(bed.store.events.accept(bed.newEvent({ dedup: dedup("id-1") })));
    const claim = await bed.claimed(event);
    expect(await again()).toEqual({ id: event.id, duplicate: true });
    expect((await bed.event(event.id)).status).toBe("claimed");
    await bed.settled(claim, ACK);
    expect(await again()).toEqual({ id: event.id, duplicate: true });
    await ok(bed.store.events.purge(bed.project, event.id, "key_m"));
    expect(await again()).toEqual({ id: event.id, duplicate: true });
    expect(await bed.event(event.id)).toMatchObject({ status: "done", purged: true, payload: null });
  });

  rule("a duplicate is no change that a stream tells", async (bed) => {
    await bed.arrive({ dedup: dedup("id-1") });
    const before = await bed.store.events.changeCursors();
    await bed.arrive({ dedup: dedup("id-1") });
    expect(await bed.store.events.changeCursors()).toEqual(before);
  });

  rule("a history names 100 duplicates one by one and counts the rest in one line", async (bed) => {
    const event = await bed.arrive({ dedup: dedup("id-1") });
    for (let i = 0; i < 130; i++) {
      await bed.clock.advance(1);
      await ok(bed.store.events.accept(bed.newEvent({ dedup: dedup("id-1") })));
    }
    const history = await bed.store.events.history(event);
    expect(history.filter((entry) => entry.kind === "duplicate")).toHaveLength(100);
    expect(history).toHaveLength(102);
    expect(history.at(-1)).toEqual({ at: bed.clock.wall(), kind: "more_duplicates", count: 30 });
  });
}
