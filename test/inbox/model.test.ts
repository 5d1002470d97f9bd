import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Run } from "./model-run.ts";
import { lives } from "./model-steps.ts";
import { House } from "./model-world.ts";

/** How many lives each seed gives; POSTERN_MODEL_RUNS asks for more. */
const RUNS = Number(process.env.POSTERN_MODEL_RUNS ?? 30);

describe("an inbox lives as its model does, whatever happens to it", () => {
  let house: House;
  let lived = 0;
  beforeAll(async () => {
    house = await House.open();
  });
  afterAll(() => house.close());

  for (const seed of [1, 20261007, 8484]) {
    test(
      `sequences of seed ${seed}`,
      async () => {
        const before = lived;
        const life = fc.asyncProperty(lives, async (steps) => {
          const run = await Run.begin(house, `life-${lived++}`);
          try {
            await run.live(steps);
          } finally {
            await run.end();
          }
        });
        await fc.assert(life, { seed, numRuns: RUNS });
        expect(lived - before).toBe(RUNS);
      },
      RUNS * 4000,
    );
  }
});
