import { expect } from "bun:test";
import fc from "fast-check";
import type { ListQuery } from "../../../src/store/store.ts";
import { EVENT_STATUSES } from "../../../src/store/types.ts";
import { ACK, type Bed, HOUR, MINUTE, NACK, newProject, ok, RELEASE, SECOND } from "./bed.ts";
import type { Rule } from "./rule.ts";

type Wanted = Partial<Omit<ListQuery, "project">>;

function page(bed: Bed, wanted: Wanted) {
  return bed.store.events.list({ project: bed.project, statuses: ["pending"], limit: 50, ...wanted });
}

/** The types of all events that a query finds, page by page. */
async function typesOf(bed: Bed, wanted: Wanted, between: () => Promise<unknown> = async () => {}): Promise<string[]> {
  const types: string[] = [];
  for (let afterSeq = 0; ; ) {
    const { rows, next } = await page(bed, { ...wanted, afterSeq });
    types.push(...rows.map((event) => event.type));
    if (next === undefined) return types;
    expect(next).toBeGreaterThan(afterSeq);
    afterSeq = next;
    await between();
  }
}

/** Reading many events, page by page. */
export function listingRules(rule: Rule): void {
  rule("a list is oldest first and holds the wanted statuses only", async (bed) => {
    for (const type of ["done", "pending", "claimed", "failed", "dead", "pending2"]) await bed.arrive({ type });
    const byType = new Map((await page(bed, {})).rows.map((event) => [event.type, event]));
    const claim = async (type: string) => bed.claimed(byType.get(type) ?? { id: "evt_" });
    await bed.settled(await claim("done"), ACK);
    await claim("claimed");
    await bed.settled(await claim("failed"), NACK);
    await bed.settled(await claim("dead"), { action: "nack", retry: false, reason: null });
    expect(await typesOf(bed, { statuses: EVENT_STATUSES })).toEqual([
      ...["done", "pending", "claimed", "failed", "dead", "pending2"],
    ]);
    for (const status of EVENT_STATUSES) {
      const expected = status === "pending" ? ["pending", "pending2"] : [status as string];
      expect(await typesOf(bed, { statuses: [status] })).toEqual(expected);
    }
    expect(await typesOf(bed, { statuses: ["done", "dead"] })).toEqual(["done", "dead"]);
    expect(await typesOf(bed, { statuses: [] })).toEqual([]);
  });

  rule("an event released with a delay is pending to readers", async (bed) => {
    const event = await bed.arrive();
    await bed.settled(await bed.claimed(event), { action: "release", delayMs: MINUTE });
    expect((await page(bed, {})).rows).toMatchObject([{ id: event.id, status: "pending" }]);
  });

  rule(
    "filters: source and type as globs, channel, verified, and a part of type or source in any case",
    async (bed) => {
      await bed.arrive({ source: "billing", type: "invoice.paid", verified: true });
      await bed.arrive({ source: "billing", type: "invoice.failed", verified: false });
      await bed.arrive({ source: "support", type: "email.received", channel: "email", verified: false });
      await bed.arrive({ source: "git-hub", type: "Push_[x].*", verified: true });
      const cases: [Wanted, string[]][] = [
        [{ source: "billing" }, ["invoice.paid", "invoice.failed"]],
        [{ source: "*b*" }, ["invoice.paid", "invoice.failed", "Push_[x].*"]],
        [{ type: "invoice.*" }, ["invoice.paid", "invoice.failed"]],
        [{ type: "invoice" }, []],
        [{ type: "*.paid", verified: true }, ["invoice.paid"]],
        [{ type: "*.paid", verified: false }, []],
        [{ channel: "email" }, ["email.received"]],
        [{ channel: "system" }, []],
        [{ verified: false }, ["invoice.failed", "email.received"]],
        [{ text: "INVOICE" }, ["invoice.paid", "invoice.failed"]],
        [{ text: "support" }, ["email.received"]],
        [{ text: "_[x]" }, ["Push_[x].*"]],
        [{ text: "%" }, []],
        [{ text: "i", source: "support" }, ["email.received"]],
        [{ routed: false }, ["invoice.paid", "invoice.failed", "email.received", "Push_[x].*"]],
        [{ routed: true }, []],
      ];
      for (const [wanted, types] of cases) expect([wanted, await typesOf(bed, wanted)]).toEqual([wanted, types]);
    },
  );

  rule("another project's events are in no list", async (bed) => {
    const other = newProject("other");
    await ok(bed.store.projects.create(other));
    await bed.arrive({ project: other.id, type: "theirs" });
    await bed.arrive({ type: "ours" });
    expect(await typesOf(bed, { statuses: EVENT_STATUSES })).toEqual(["ours"]);
    expect(await typesOf(bed, { type: "theirs" })).toEqual([]);
  });

  rule("the last page has no cursor, even where it is full", async (bed) => {
    for (let i = 0; i < 4; i++) await bed.arrive();
    const first = await page(bed, { limit: 2 });
    expect(first.rows).toHaveLength(2);
    const second = await page(bed, { limit: 2, afterSeq: first.next ?? 0 });
    expect(second.rows).toHaveLength(2);
    expect(second.next).toBeUndefined();
  });

  rule("pages are stable while events are added and move on: each is seen once, in order", async (bed) => {
    const expected = Array.from({ length: 25 }, (_, i) => `t.${String(i).padStart(2, "0")}`);
    for (const type of expected) await bed.arrive({ type });
    let added = 0;
    const seen = await typesOf(bed, { limit: 4, statuses: ["pending", "claimed"], type: "t.*" }, async () => {
      if (added++ < 3) await bed.arrive({ type: "t.late" });
      const [claim] = await bed.claimNext();
      if (claim) await bed.settled(claim, RELEASE);
    });
    expect(seen).toEqual([...expected, "t.late", "t.late", "t.late"]);
  });

  rule(
    "a rare match among many is found, in pages that may be short",
    async (bed) => {
      const many = Array.from({ length: 21_500 }, (_, i) =>
        bed.store.events.accept(bed.newEvent({ type: i % 10_000 === 7 ? "rare" : "common", payload: null })),
      );
      await Promise.all(many);
      expect(await typesOf(bed, { type: "rare", limit: 2 })).toEqual(["rare", "rare", "rare"]);
      expect(await typesOf(bed, { text: "RAR", limit: 50 })).toEqual(["rare", "rare", "rare"]);
    },
    30_000,
  );

  rule("since counts the moment itself, until does not", async (bed) => {
    const start = bed.clock.wall();
    for (const type of ["0", "1", "2", "3"]) {
      await bed.arrive({ type });
      await bed.clock.advance(SECOND);
    }
    expect(await typesOf(bed, { since: start + SECOND })).toEqual(["1", "2", "3"]);
    expect(await typesOf(bed, { since: start + SECOND, until: start + 3 * SECOND })).toEqual(["1", "2"]);
    expect(await typesOf(bed, { since: start + 999, until: start + 1001 })).toEqual(["1"]);
    expect(await typesOf(bed, { until: start })).toEqual([]);
    expect(await typesOf(bed, { since: start + HOUR })).toEqual([]);
  });

  rule(
    "since and until miss nothing where the wall clock was set back or ahead, also in another run",
    async (bed) => {
      const steps = fc.array(
        fc.oneof(
          fc.record({ kind: fc.constant("pass" as const), ms: fc.integer({ min: 0, max: 10 * MINUTE }) }),
          fc.record({ kind: fc.constant("step" as const), ms: fc.integer({ min: -2 * HOUR, max: 2 * HOUR }) }),
          fc.record({ kind: fc.constant("restart" as const), ms: fc.integer({ min: 0, max: MINUTE }) }),
        ),
        { minLength: 5, maxLength: 25 },
      );
      let run = 0;
      await fc.assert(
        fc.asyncProperty(steps, fc.nat(), fc.nat(), async (moves, a, b) => {
          const source = `s${run++}`;
          const times: { type: string; at: number }[] = [];
          for (const [i, move] of moves.entries()) {
            if (move.kind === "pass") await bed.clock.advance(move.ms);
            if (move.kind === "step") bed.clock.stepWall(move.ms);
            if (move.kind === "restart") await bed.restart(move.ms);
            const { type, receivedAt } = await bed.arrive({ source, type: `t.${i}` });
            times.push({ type, at: receivedAt });
          }
          const since = times[a % times.length]?.at ?? 0;
          const until = times[b % times.length]?.at ?? 0;
          const between = times.filter(({ at }) => at >= since && at < until).map(({ type }) => type);
          expect(await typesOf(bed, { source, since, until, limit: 3 })).toEqual(between);
          const from = times.filter(({ at }) => at >= since).map(({ type }) => type);
          expect(await typesOf(bed, { source, since, limit: 3 })).toEqual(from);
        }),
        { numRuns: 25, seed: 20_261_007 },
      );
    },
    30_000,
  );

  rule("since finds what arrived before the wall clock was set back, in a run that has seen no step", async (bed) => {
    const start = bed.clock.wall();
    for (let i = 0; i < 40; i++) {
      if (i === 20) bed.clock.stepWall(-10 * HOUR);
      await bed.arrive({ type: String(i) });
    }
    await bed.restart();
    const firstHalf = Array.from({ length: 20 }, (_, i) => String(i));
    expect(await typesOf(bed, { since: start - HOUR })).toEqual(firstHalf);
    expect(await typesOf(bed, { until: start - HOUR })).toHaveLength(20);
  });

  rule("the first that can be claimed: the oldest that matches, after another if asked", async (bed) => {
    const { events } = bed.store;
    expect(await events.firstReady(bed.project, {})).toBeUndefined();
    const [a, b, c] = [await bed.arrive(), await bed.arrive({ type: "x" }), await bed.arrive({ source: "s" })];
    expect((await events.firstReady(bed.project, {}))?.id).toBe(a.id);
    expect((await events.firstReady(bed.project, {}, a.seq))?.id).toBe(b.id);
    expect((await events.firstReady(bed.project, { source: "s" }))?.id).toBe(c.id);
    expect(await events.firstReady(bed.project, { source: "s" }, c.seq)).toBeUndefined();
    await bed.claimed(a);
    await bed.settled(await bed.claimed(b), { action: "release", delayMs: MINUTE });
    expect((await events.firstReady(bed.project, {}))?.id).toBe(c.id);
    expect((await events.firstReady(newProject("none").id, {}))?.id).toBeUndefined();
  });
}
