import { afterAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Run } from "./model-run.ts";
import { lives } from "./model-steps.ts";
import { House } from "./model-world.ts";

/** How many lives each seed gives; POSTERN_MODEL_RUNS asks for more. */
const RUNS = Number(process.env.POSTERN_MODEL_RUNS ?? 30);

/** So many lives share a data folder, each in a project of its own, one after the other. */
const LIVES_A_HOUSE = 50;

describe("an inbox lives as its model does, whatever happens to it", () => {
  let house: House | undefined;
  let lived = 0;
  afterAll(() => house?.close());

  async function houseOfNext(): Promise<House> {
    if (house && lived % LIVES_A_HOUSE !== 0) return house;
    await house?.close();
    house = await House.open();
    return house;
  }

  for (const seed of [1, 20261007, 8484]) {
    test(
      `sequences of seed ${seed}`,
      async () => {
        const before = lived;
        const life = fc.asyncProperty(lives, async (steps) => {
          const run = await Run.begin(await houseOfNext(), `life-${lived++}`);
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
