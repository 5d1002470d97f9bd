import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { databasePath } from "../../../src/store/sqlite/database.ts";
import { openSqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
import { tempDir } from "../../support/tmp.ts";
import { Bed, DAY, hash16, newSource, ok } from "../conformance/bed.ts";

test("a step of retention that finds nothing to do writes nothing, and so waits for no disk", async () => {
  const bed = await Bed.make({
    open: (dataDir, clock) => openSqliteStore({ dataDir, clock, reserveBytes: 0, duplicatesGathered: 4 }),
    newPlace: () => tempDir("retain"),
  });
  const { num } = await ok(bed.store.sources.create(newSource(bed.project, "billing")));
  for (let i = 0; i < 40; i++) {
    const key = hash16(`id ${i}`);
    await bed.arrive({ dedup: { sourceNum: num, key, bodyHash: key, ttlMs: 30 * DAY } });
  }
  const long = bed.clock.wall() - DAY;
  const limits = { payloadBefore: long, settledBefore: long, changesBefore: long };
  const log = () => readFileSync(`${databasePath(bed.place)}-wal`);
  await bed.store.writable();
  const before = log();
  let steps = 1;
  while ((await ok(bed.store.upkeep.retain(limits, 1))).more) steps++;
  expect(steps).toBeGreaterThan(1);
  expect(log().equals(before)).toBe(true);
  await ok(bed.store.upkeep.retain({ ...limits, payloadBefore: bed.clock.wall() + 1 }, 1));
  expect(log().equals(before)).toBe(false);
  await bed.close();
});
