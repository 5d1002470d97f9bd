import { cpus, totalmem } from "node:os";

/** A target of the project, and whether the run reached it. */
export type Target = { what: string; reached: boolean; measured: string };

/** What a scenario found. */
export type Section = {
  title: string;
  /** What was done, and what the figures mean. */
  text: string;
  tables: Table[];
  targets: Target[];
};

export type Table = { columns: string[]; rows: string[][] };

/** The results of a run, in Markdown. */
export function markdown(sections: readonly Section[]): string {
  const targets = sections.flatMap((section) => section.targets);
  return [
    "# Bench",
    `Made by \`bun run bench\` on a machine of ${cpus().length} cores and ${Math.round(totalmem() / 2 ** 30)} GiB RAM: the servers on one core, the client on another, all on one disk and in one run.`,
    ...(targets.length > 0 ? ["## Targets", targetLines(targets)] : []),
    ...sections.flatMap(({ title, text, tables }) => [`## ${title}`, text, ...tables.map(tableText)]),
  ]
    .join("\n\n")
    .concat("\n");
}

function targetLines(targets: readonly Target[]): string {
  return targets
    .map(({ what, reached, measured }) => `- ${what}: ${reached ? "reached" : "short"}: ${measured}`)
    .join("\n");
}

function tableText({ columns, rows }: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(columns), line(columns.map((_, index) => (index === 0 ? "---" : "---:"))), ...rows.map(line)].join("\n");
}

/** A rate with three digits that count. */
export function perSecond(rate: number): string {
  if (rate >= 10_000) return `${(rate / 1000).toFixed(1)} k/s`;
  return rate >= 1000 ? `${(rate / 1000).toFixed(2)} k/s` : `${rate.toFixed(0)} /s`;
}

export function ms(milliseconds: number): string {
  return `${milliseconds.toFixed(milliseconds < 10 ? 2 : 0)} ms`;
}

export function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}

export function times(ratio: number): string {
  return `${ratio.toFixed(ratio < 10 ? 2 : 1)} ×`;
}
