import { backlogFolder } from "../fixtures/backlog-folder.ts";
import { LARGEST } from "../fixtures/backlog-sizes.ts";
import { median } from "../load/statistics.ts";
import { stopServer } from "../machine/pinned.ts";
import { posternCommand, spawnPostern } from "../peers/postern.ts";
import { ms, type Section } from "../report.ts";
import type { Scenario, Setting } from "../scenario.ts";

const STARTS = 10;
const TARGET_MS = 300;

/** From the start of the process to the first 200 of `/readyz`. */
export const startUpScenario: Scenario = {
  name: "start-up",
  async run({ scratch, say }: Setting): Promise<Section> {
    const largest = backlogFolder(LARGEST, scratch, say);
    const folders = [
      { what: "a new data folder each time", dir: () => scratch.dir("new") },
      { what: `a data folder of ${LARGEST.title}`, dir: () => largest },
    ];
    const rows: string[][] = [];
    const targets: Section["targets"] = [];
    for (const { what, dir } of folders) {
      const times = await starts(dir);
      const middle = median(times);
      say(`start-up, ${what}: ${ms(middle)}`);
      rows.push([what, ms(middle), ms(Math.max(...times))]);
      targets.push({ what: `ready within 0.3 s (${what})`, reached: middle <= TARGET_MS, measured: ms(middle) });
    }
    return {
      title: "Start-up",
      text: `From the start of the process to the first 200 of \`/readyz\`, ${STARTS} starts, asked every 2 ms.`,
      tables: [{ columns: ["", "median", "longest"], rows }],
      targets,
    };
  },
};

async function starts(dir: () => string): Promise<number[]> {
  const times: number[] = [];
  while (times.length < STARTS) {
    const folder = dir();
    const from = performance.now();
    const { child } = await spawnPostern(posternCommand, folder);
    times.push(performance.now() - from);
    await stopServer(child);
  }
  return times;
}
