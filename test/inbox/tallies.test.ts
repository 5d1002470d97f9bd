import { expect } from "bun:test";
import { Tallies } from "../../src/inbox/index.ts";
import { inboxTest } from "./bed.ts";

inboxTest("counts are by project and status, at most 15 seconds old, and counted once for all who ask", async (on) => {
  const tallies = new Tallies(on.bed.store, () => on.bed.clock.gate());
  await on.bed.arrive();
  const one = [{ project: on.bed.project, status: "pending", count: 1 }] as const;
  const [first, second] = await Promise.all([tallies.all(), tallies.all()]);
  expect([first, second]).toEqual([[...one], [...one]]);
  await on.bed.arrive();
  await on.bed.clock.advance(14_999);
  expect(await tallies.all()).toEqual([...one]);
  await on.bed.clock.advance(1);
  expect(await tallies.all()).toEqual([{ ...one[0], count: 2 }]);
});
