import { existsSync } from "node:fs";
import { join } from "node:path";
import { projectRoot } from "../../support/paths.ts";
import type { Scratch } from "../machine/scratch.ts";
import type { Peer } from "./peer.ts";
import { startPostern } from "./postern.ts";

/** The same server without a store: the ceiling of what a store could leave. */
export const posternWithoutStore = variant(
  "none",
  "Postern without a store",
  "the same server, its way in accepts and keeps nothing",
);

/** The same server and store, without the shared commit. */
export const posternCommitApart = variant(
  "apart",
  "Postern, a commit per request",
  "the same server and store, each event in a transaction of its own",
);

function variant(mode: "none" | "apart", name: string, how: string): Peer {
  return {
    name,
    how: `${how}; compiled as the binary is`,
    missing: () => undefined,
    async start(scratch) {
      const side = await startPostern([await built(scratch), mode], scratch.dir(`variant-${mode}`));
      if (mode === "apart") return side;
      return { ...side, counts: async () => ({ waiting: await acceptedBy(side.port), done: 0 }), worker: undefined };
    },
  };
}

/** Compiles the variants' server as the product is compiled, once a run. */
async function built(scratch: Scratch): Promise<string> {
  const binary = join(scratch.root, "postern-variant");
  if (existsSync(binary)) return binary;
  const command = [process.execPath, "run", "test/tools/build.ts", "test/bench/variants/main.ts", binary];
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd: projectRoot });
  if (exitCode !== 0) throw new Error(`the variants do not build:\n${stdout}${stderr}`);
  return binary;
}

/** It keeps no rows: the server's own count of what it took stands for them. */
async function acceptedBy(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return Number(/^postern_ingest_total\{outcome="accepted"\} (\d+)$/m.exec(text)?.[1]);
}
