import type { Scratch } from "./machine/scratch.ts";
import type { Section } from "./report.ts";

/** How long and how often a run measures. */
export type Effort = { rounds: number; warmUpMs: number; measuredMs: number };

export type Setting = { scratch: Scratch; effort: Effort; say: (line: string) => void };

/** One question that the bench answers. */
export type Scenario = { name: string; run(setting: Setting): Promise<Section> };
