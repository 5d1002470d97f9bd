import { expect } from "bun:test";
import type { Change } from "../../../src/store/types.ts";
import { ACK, type Bed, NACK, newProject, ok, SECOND } from "./bed.ts";
import type { Rule } from "./rule.ts";

async function told(bed: Bed, after = 0, limit = 100): Promise<string[]> {
  const changes = await bed.store.events.changesAfter(bed.project, after, limit);
  return changes.map(({ event }) => `${event.type} ${event.status} ${event.attempts}`);
}

/** The changes that a stream tells, and resumes from. */
export function changeRules(rule: Rule): void {
  rule("changes are told in order, each with the event as it was then", async (bed) => {
    const a = await bed.arrive({ type: "a" });
    const claim = await bed.claimed(a);
    await bed.arrive({ type: "b" });
    await bed.settled(claim, NACK);
    await bed.clock.advance(30 * SECOND);
    expect(await told(bed)).toEqual(["a pending 0", "a claimed 0", "b pending 0", "a failed 1", "a pending 1"]);
  });

  rule("from a cursor on, it goes on exactly there, also in the next run", async (bed) => {
    await bed.arrive({ type: "a" });
    await bed.arrive({ type: "b" });
    const [first] = await bed.store.events.changesAfter(bed.project, 0, 1);
    expect(await told(bed, first?.cursor)).toEqual(["b pending 0"]);
    await bed.restart();
    await bed.arrive({ type: "c" });
    expect(await told(bed, first?.cursor)).toEqual(["b pending 0", "c pending 0"]);
    expect(await told(bed, first?.cursor, 1)).toEqual(["b pending 0"]);
    const { newest } = await bed.store.events.changeCursors();
    expect(await told(bed, newest)).toEqual([]);
  });

  rule("a project hears of its own events only", async (bed) => {
    const other = newProject("other");
    await ok(bed.store.projects.create(other));
    await bed.arrive({ project: other.id, type: "theirs" });
    await bed.arrive({ type: "ours" });
    expect(await told(bed)).toEqual(["ours pending 0"]);
    expect(await bed.store.events.changesAfter(newProject("none").id, 0, 10)).toEqual([]);
  });

  rule("a purge is told; that a delay is over is not, for no reader sees it", async (bed) => {
    const event = await bed.arrive({ type: "a" });
    await bed.settled(await bed.claimed(event), { action: "release", delayMs: SECOND });
    await bed.clock.advance(SECOND);
    await ok(bed.store.events.purge(bed.project, event.id, "key_m"));
    expect(await told(bed)).toEqual(["a pending 0", "a claimed 0", "a pending 0", "a pending 0"]);
  });

  rule("an empty store has cursors to resume from", async (bed) => {
    expect(await bed.store.events.changeCursors()).toEqual({ oldest: 0, newest: 0 });
    await bed.arrive();
    expect(await bed.store.events.changeCursors()).toEqual({ oldest: 0, newest: 1 });
  });

  rule(
    "listeners hear what a commit changed, in order, with the cursors of the stream, until they end it",
    async (bed) => {
      const heard: Change[] = [];
      const stop = bed.store.onCommit((changes) => heard.push(...changes));
      const event = await bed.arrive({ type: "a", source: "s", channel: "email", verified: false });
      await bed.settled(await bed.claimed(event), ACK);
      stop();
      await bed.arrive();
      expect(heard.map((change) => change.cursor)).toEqual([1, 2, 3]);
      expect(heard[0]).toEqual({
        ...{ cursor: 1, seq: event.seq, project: bed.project, id: event.id, source: "s", channel: "email", type: "a" },
        ...{ verified: false, status: "pending", attempts: 0, ready: true, visible: true },
      });
    },
  );
}
