import { binaryPath } from "../../support/paths.ts";
import { stockedFolder } from "../fixtures/folder.ts";
import { median } from "../load/statistics.ts";
import { stopServer } from "../machine/pinned.ts";
import { spawnPostern } from "../peers/postern.ts";
import { ms, type Section } from "../report.ts";
import type { Scenario } from "../scenario.ts";
import { MILLION } from "./backlog.ts";

const STARTS = 10;
const WANTED_MS = 300;

/** How soon it is ready: from the start of the process to a 200 of `/readyz`. */
export const startUpScenario: Scenario = {
  name: "start-up",
  async run({ scratch, say }) {
    const large = await stockedFolder(scratch, MILLION, say);
    const used = scratch.dir("start-up");
    await starts(() => used, 1);
    const cases = [
      { name: "a new folder", took: await starts(() => scratch.dir("start-up"), STARTS) },
      { name: "the same folder again", took: await starts(() => used, STARTS) },
      { name: "a million pending and a million done", took: await starts(() => large, STARTS) },
    ];
    for (const { name, took } of cases) say(`start-up, ${name}: ${ms(median(took))}`);
    return section(cases);
  },
};

async function starts(dir: () => string, count: number): Promise<number[]> {
  const took: number[] = [];
  for (let start = 0; start < count; start++) {
    const { child, readyMs } = await spawnPostern([binaryPath, "serve"], dir());
    took.push(readyMs);
    await stopServer(child);
  }
  return took;
}

function section(cases: readonly { name: string; took: number[] }[]): Section {
  return {
    title: "Start-up",
    text: `From the start of the process to a 200 of \`/readyz\`, ${STARTS} starts of each, the former ended with SIGTERM.`,
    tables: [
      {
        columns: ["", "median", "slowest"],
        rows: cases.map(({ name, took }) => [name, ms(median(took)), ms(Math.max(...took))]),
      },
    ],
    targets: cases.map(({ name, took }) => ({
      what: `ready within 0.3 s with ${name}`,
      reached: median(took) <= WANTED_MS,
      measured: ms(median(took)),
    })),
  };
}
