import { expect } from "bun:test";
import type { StreamedChange } from "../../src/inbox/index.ts";
import { ACK, newProject, ok } from "../store/conformance/bed.ts";
import { turns } from "../support/fake-clock.ts";
import { type InboxBed, inboxTest } from "./bed.ts";

/** Follows the stream and notes what it tells. */
function follow(on: InboxBed, after = 0) {
  const end = new AbortController();
  const told: StreamedChange[] = [];
  const done = (async () => {
    for await (const change of on.inbox.changes(on.bed.project, after, end.signal)) told.push(change);
  })();
  return {
    told,
    lines: () => told.map(({ event }) => `${event.type} ${event.status}`),
    stop: async () => {
      end.abort();
      await done;
    },
  };
}

inboxTest("a stream tells each change once, in order, as it comes", async (on) => {
  const stream = follow(on);
  const a = await on.bed.arrive({ type: "a" });
  await turns();
  expect(stream.lines()).toEqual(["a pending"]);
  const [b] = await Promise.all([on.bed.arrive({ type: "b" }), on.bed.claimed(a)]);
  await on.bed.settled(await on.bed.claimed(b), ACK);
  await turns();
  expect(stream.lines()).toEqual(["a pending", "b pending", "a claimed", "b claimed", "b done"]);
  const cursors = stream.told.map(({ cursor }) => cursor);
  expect(cursors).toEqual([...cursors].sort((x, y) => x - y));
  await stream.stop();
});

inboxTest("it resumes after the cursor it was left at, also over a restart", async (on) => {
  const first = follow(on);
  for (const type of ["a", "b", "c"]) await on.bed.arrive({ type });
  await turns();
  await first.stop();
  await on.bed.arrive({ type: "missed" });
  await on.restart();
  const second = follow(on, first.told[1]?.cursor);
  await on.bed.arrive({ type: "live" });
  await turns();
  expect(second.lines()).toEqual(["c pending", "missed pending", "live pending"]);
  await second.stop();
});

inboxTest("one that is behind by more than a page catches up, and goes on live", async (on) => {
  await Promise.all(Array.from({ length: 250 }, (_, i) => on.bed.arrive({ type: `t.${i}` })));
  const stream = follow(on);
  await turns(20);
  await on.bed.arrive({ type: "live" });
  await turns();
  expect(stream.told).toHaveLength(251);
  expect(stream.lines().at(-1)).toBe("live pending");
  await stream.stop();
});

inboxTest("another project's changes are neither told nor read for", async (on) => {
  const other = newProject("other");
  await ok(on.bed.store.projects.create(other));
  const stream = follow(on);
  await on.bed.arrive({ type: "theirs", project: other.id });
  await turns();
  expect(stream.told).toEqual([]);
  await on.bed.arrive({ type: "ours" });
  await turns();
  expect(stream.lines()).toEqual(["ours pending"]);
  await stream.stop();
});

inboxTest("it ends with its signal: at once while idle, and after what it is telling while busy", async (on) => {
  const idle = follow(on);
  await turns();
  await idle.stop();
  await Promise.all(Array.from({ length: 50 }, () => on.bed.arrive()));
  const end = new AbortController();
  let told = 0;
  for await (const _ of on.inbox.changes(on.bed.project, 0, end.signal)) if (++told === 3) end.abort();
  expect(told).toBe(3);
  for await (const _ of on.inbox.changes(on.bed.project, 0, AbortSignal.abort())) told++;
  expect(told).toBe(3);
});

inboxTest("what comes while a reader is busy with another change is told in its turn, once", async (on) => {
  const end = new AbortController();
  const changes = on.inbox.changes(on.bed.project, 0, end.signal);
  const told: string[] = [];
  await on.bed.arrive({ type: "t.0" });
  for (let i = 1; i <= 5; i++) {
    const next = await changes.next();
    if (!next.done) told.push(next.value.event.type);
    // The reader has not come back for more: nobody waits for what arrives now.
    await on.bed.arrive({ type: `t.${i}` });
    await turns();
  }
  expect(told).toEqual(["t.0", "t.1", "t.2", "t.3", "t.4"]);
  const last = await changes.next();
  expect(!last.done && last.value.event.type).toBe("t.5");
  const idle = changes.next();
  end.abort();
  expect((await idle).done).toBe(true);
});
