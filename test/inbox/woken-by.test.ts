import { describe, expect } from "bun:test";
import type { Claim, EventRecord } from "../../src/store/types.ts";
import { ACK, NACK, ok, RELEASE, SECOND } from "../store/conformance/bed.ts";
import { turns } from "../support/fake-clock.ts";
import { type InboxBed, idOf, inboxTest } from "./bed.ts";

describe("a waiter is woken by every way into pending", () => {
  type Way = {
    name: string;
    before: (on: InboxBed) => Promise<EventRecord | undefined>;
    happens: (on: InboxBed) => Promise<unknown>;
  };
  let claim: Claim;
  const leased = async ({ bed }: InboxBed) => {
    const event = await bed.arrive();
    claim = await bed.claimed(event, "key_b", 30 * SECOND);
    return event;
  };
  const settled = (act: typeof ACK) => async (on: InboxBed) => {
    const event = await leased(on);
    await on.bed.settled(claim, act);
    return event;
  };
  const ways: Way[] = [
    { name: "arrival", before: async () => undefined, happens: ({ bed }) => bed.arrive() },
    { name: "a nack that is due again", before: settled(NACK), happens: ({ bed }) => bed.clock.advance(30 * SECOND) },
    { name: "a lease that ran out", before: leased, happens: ({ bed }) => bed.clock.advance(30 * SECOND) },
    { name: "a release", before: leased, happens: ({ bed }) => bed.settled(claim, RELEASE) },
    {
      name: "a release whose delay is over",
      before: settled({ action: "release", delayMs: 20 * SECOND }),
      happens: ({ bed }) => bed.clock.advance(20 * SECOND),
    },
    { name: "a claim that is undone", before: leased, happens: ({ bed }) => bed.store.leases.undo([claim]) },
    { name: "a holder that loses its right", before: leased, happens: ({ inbox }) => inbox.dismiss("key_b") },
    {
      name: "a requeue",
      before: settled(ACK),
      happens: ({ inbox, bed }) => inbox.requeue(bed.project, claim.event.id, "key_m"),
    },
    {
      name: "a requeue of many",
      before: settled(ACK),
      happens: ({ inbox, bed }) =>
        inbox.requeueMany({ project: bed.project, statuses: ["done"], type: "invoice.*" }, "key_m", false),
    },
  ];
  for (const { name, before, happens } of ways) {
    inboxTest(name, async (on) => {
      const event = await before(on);
      const wait = await on.waiting({}, { timeoutMs: 300_000 });
      const filtered = await on.waiting(
        { type: "invoice.*", source: "billing", verified: true },
        { timeoutMs: 300_000 },
      );
      const other = await on.waiting({ type: "push" }, { timeoutMs: 300_000 });
      expect([wait.answer, filtered.answer, other.answer]).toEqual([undefined, undefined, undefined]);
      await happens(on);
      await turns();
      const [there] = (await on.bed.store.events.list({ project: on.bed.project, statuses: ["pending"], limit: 2 }))
        .rows;
      expect(idOf(wait)).toBe(event?.id ?? there?.id ?? "none");
      expect(idOf(filtered)).toBe(idOf(wait));
      expect(other.answer).toBeUndefined();
    });
  }

  inboxTest("and one that would take it, too, across them all", async (on) => {
    for (const { before, happens } of ways) {
      await before(on);
      const taking = await on.claiming({}, 1, on.caller(), 300_000);
      expect(taking.answer).toBeUndefined();
      await happens(on);
      await turns();
      expect(idOf(taking)).not.toBeNull();
      const [taken] = await ok(taking.promise);
      if (taken) await on.bed.settled(taken, ACK);
    }
  });

  inboxTest("also by what fell due while the daemon was down", async (on) => {
    const event = await leased(on);
    await on.restart(60 * SECOND);
    expect(idOf(await on.waiting())).toBe(event.id);
  });
});
