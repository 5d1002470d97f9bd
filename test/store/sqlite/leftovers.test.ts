import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { databasePath } from "../../../src/store/sqlite/database.ts";
import { openSqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
import { tempDir } from "../../support/tmp.ts";
import { ACK, Bed, DAY, hash16, newProject, newSource, ok } from "../conformance/bed.ts";

const implementation = {
  open: (dataDir: string, clock: Parameters<typeof openSqliteStore>[0]["clock"]) =>
    openSqliteStore({ dataDir, clock, reserveBytes: 0 }),
  newPlace: () => tempDir("leftovers"),
};

/** Closes the store and counts the rows of each table that has any. */
async function rowsLeft(bed: Bed): Promise<Record<string, number>> {
  await bed.close();
  const db = new Database(databasePath(bed.place), { readonly: true });
  const tables = db
    .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    .all();
  const counts = tables.map(({ name }) => {
    const row = db.query<{ count: number }, []>(`SELECT count(*) AS count FROM ${name}`).get();
    return [name, row?.count ?? 0] as const;
  });
  db.close();
  return Object.fromEntries(counts.filter(([name, count]) => count > 0 && name !== "meta"));
}

/** Events with all that can hang on one: content, leases, lines of history, duplicates, changes. */
async function fill(bed: Bed, project: Bed["project"]): Promise<void> {
  const source = await ok(bed.store.sources.create(newSource(project, "billing")));
  const dedup = { sourceNum: source.num, key: hash16("k"), bodyHash: hash16("b"), ttlMs: DAY };
  for (let i = 0; i < 3; i++) await ok(bed.store.events.accept(bed.newEvent({ project, dedup })));
  const [claim] = await ok(bed.store.leases.claimNext(project, {}, "key_a", 1, DAY));
  if (!claim) throw new Error("nothing to claim");
  await ok(bed.store.leases.settle(project, claim.event.id, "key_a", claim.lease.id, ACK));
  await ok(bed.store.events.purge(project, claim.event.id, "key_m"));
  const rejection = { at: 1, code: "SIGNATURE_INVALID", reason: "", size: 1, remoteAddress: "" };
  await ok(bed.store.sources.reject([{ sourceNum: source.num, rejection }]));
}

test("an event that retention deletes leaves no row behind", async () => {
  const bed = await Bed.make(implementation);
  await fill(bed, bed.project);
  await bed.clock.advance(2 * DAY);
  const before = bed.clock.wall() - DAY;
  const limits = { payloadBefore: before, settledBefore: before, changesBefore: before };
  while ((await ok(bed.store.upkeep.retain(limits, 10))).more);
  const left = await rowsLeft(bed);
  expect(left).toMatchObject({ projects: 1, sources: 1, streams: 1, rejections: 1 });
  for (const table of ["events", "contents", "leases", "history"])
    expect([table, left[table]]).toEqual([table, undefined]);
});

test("a project that is deleted leaves no row behind but what retention forgets", async () => {
  const bed = await Bed.make(implementation);
  const other = newProject("other");
  await ok(bed.store.projects.create(other));
  await fill(bed, other.id);
  await ok(bed.store.projects.delete(other.id));
  const left = await rowsLeft(bed);
  expect(Object.keys(left).filter((table) => !/^(changes|duplicates.*)$/.test(table))).toEqual(["projects"]);
  expect(left.projects).toBe(1);
});
