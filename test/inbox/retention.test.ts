import { expect } from "bun:test";
import { startRetention } from "../../src/inbox/index.ts";
import type { Id } from "../../src/kernel/ids.ts";
import { makeLog } from "../../src/kernel/log.ts";
import { fileBlobs } from "../../src/store/blobs.ts";
import { DAY, HOUR, ok } from "../store/conformance/bed.ts";
import { turns } from "../support/fake-clock.ts";
import { tempDir } from "../support/tmp.ts";
import { type InboxBed, inboxTest } from "./bed.ts";

const LIMITS = { payload_days: 30, settled_days: 90, attempts_days: 30, changes_hours: 72 };
const log = makeLog({ level: "error", format: "json", write: () => {} });

function retention(on: InboxBed, limits = LIMITS) {
  const blobs = fileBlobs(tempDir("blobs"));
  return { blobs, begin: () => startRetention({ clock: on.bed.clock, store: on.bed.store, blobs }, limits, log) };
}

async function arriveApart(on: InboxBed, blobs: ReturnType<typeof fileBlobs>): Promise<[Id<"evt">, string]> {
  const key = await ok(blobs.put(Buffer.from("a large body")));
  const { id } = await on.bed.arrive({ payload: null, blob: { key, size: 12, contentType: "text/plain" } });
  return [id, key];
}

inboxTest("payloads are purged 30 days after receipt and not before, with the blobs that held them", async (on) => {
  const { blobs, begin } = retention(on);
  const upkeep = begin();
  await turns(20);
  const { id } = await on.bed.arrive();
  const [apart, key] = await arriveApart(on, blobs);
  await on.bed.clock.advance(30 * DAY);
  expect([(await on.bed.event(id)).purged, await blobs.keys(Date.now() + DAY)]).toEqual([false, [key]]);
  await on.bed.clock.advance(HOUR);
  await turns(40);
  for (const event of [id, apart]) {
    expect(await on.bed.event(event)).toMatchObject({ purged: true, payload: null, blob: null, status: "pending" });
  }
  while ((await blobs.keys(Date.now() + DAY)).length > 0) await turns();
  upkeep.stop();
});

inboxTest("a shorter time holds from the moment it is set, until retention is stopped", async (on) => {
  const upkeep = retention(on).begin();
  const { id } = await on.bed.arrive();
  await on.bed.clock.advance(2 * DAY);
  upkeep.follow({ ...LIMITS, payload_days: 1 });
  await on.bed.clock.advance(0);
  expect((await on.bed.event(id)).purged).toBe(true);
  upkeep.stop();
  const later = await on.bed.arrive();
  await on.bed.clock.advance(3 * DAY);
  expect((await on.bed.event(later.id)).purged).toBe(false);
});

inboxTest("blobs that no event holds, left by a crash, are cleared at the start", async (on) => {
  const { blobs, begin } = retention(on);
  const [, key] = await arriveApart(on, blobs);
  await ok(blobs.put(Buffer.from("nobody's")));
  expect(await blobs.keys(Date.now() + DAY)).toHaveLength(2);
  // Blobs are known by their files' times, which are the machine's; the fake clock stands behind or ahead of it.
  on.bed.clock.stepWall(Date.now() + DAY - on.bed.clock.wall());
  const upkeep = begin();
  while ((await blobs.keys(Date.now() + DAY)).length > 1) await turns();
  expect(await blobs.keys(Date.now() + DAY)).toEqual([key]);
  upkeep.stop();
});
