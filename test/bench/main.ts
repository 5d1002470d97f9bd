/**
 * `bun run bench [scenario…] [--quick]`: measures Postern and its peers and writes the results to stdout. A run of all
 * scenarios also writes test/bench/RESULTS.md. `--quick` measures once and briefly, to see that everything runs.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pinClient } from "./machine/pinned.ts";
import { Scratch } from "./machine/scratch.ts";
import { markdown, type Section } from "./report.ts";
import type { Effort, Scenario } from "./scenario.ts";
import { backlogScenario } from "./scenarios/backlog.ts";
import { claimAckScenario } from "./scenarios/claim-ack.ts";
import { idleScenario } from "./scenarios/idle.ts";
import { ingestScenario } from "./scenarios/ingest.ts";
import { startUpScenario } from "./scenarios/start-up.ts";
import { wakeUpScenario } from "./scenarios/wake-up.ts";

const SCENARIOS: readonly Scenario[] = [
  ingestScenario,
  claimAckScenario,
  wakeUpScenario,
  backlogScenario,
  idleScenario,
  startUpScenario,
];

const FULL: Effort = { rounds: 2, warmUpMs: 1000, measuredMs: 2500 };
const QUICK: Effort = { rounds: 1, warmUpMs: 700, measuredMs: 1500 };

const words = process.argv.slice(2);
const quick = words.includes("--quick");
const names = words.filter((word) => word !== "--quick");
const unknown = names.find((name) => SCENARIOS.every((scenario) => scenario.name !== name));
if (unknown !== undefined) {
  console.error(`There is no scenario ${unknown}; there are ${SCENARIOS.map(({ name }) => name).join(", ")}.`);
  process.exit(2);
}

// Bun's fetch goes through a proxy of the environment even to the loopback address.
process.env.NO_PROXY = "*";
pinClient();
const scratch = new Scratch();
const setting = { scratch, effort: quick ? QUICK : FULL, say: (line: string) => console.error(line) };
const sections: Section[] = [];
for (const scenario of SCENARIOS) {
  if (names.length === 0 || names.includes(scenario.name)) sections.push(await scenario.run(setting));
}
const results = markdown(sections);
process.stdout.write(results);
if (names.length === 0 && !quick) writeFileSync(join(import.meta.dir, "RESULTS.md"), results);
process.exit(0);
