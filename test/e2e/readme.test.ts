import { expect } from "bun:test";
import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { startDaemon } from "../support/daemon.ts";
import { needsBinary, needsCommand, testWith } from "../support/needs.ts";
import { binaryPath, projectRoot } from "../support/paths.ts";
import { tempDir } from "../support/tmp.ts";

/** The commands of the README's walk, as a reader would paste them. */
function walk(): string {
  const readme = readFileSync(join(projectRoot, "README.md"), "utf8");
  const block = /<!-- walk -->\n```sh\n([\s\S]*?)```/.exec(readme)?.[1];
  if (block === undefined) throw new Error("the README has no walk");
  return block;
}

testWith(needsBinary(), needsCommand("curl"))(
  "the README's walk leads from nothing to a settled event, line by line",
  async () => {
    const folder = tempDir("walk");
    symlinkSync(join(binaryPath, ".."), join(folder, "dist"));
    const daemon = await startDaemon({ dataDir: join(folder, "postern-data") });
    const script = `set -euo pipefail\n${walk().replaceAll("127.0.0.1:8484", `127.0.0.1:${daemon.port}`)}`;
    const run = Bun.spawn(["bash", "-c", script], {
      cwd: folder,
      stdout: "pipe",
      stderr: "pipe",
      env: { PATH: process.env.PATH ?? "" },
    });
    const [stdout, stderr, code] = await Promise.all([
      new Response(run.stdout).text(),
      new Response(run.stderr).text(),
      run.exited,
    ]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain('"duplicate":false');
    expect(stdout).toContain('"payload":{"order": 4711, "total": 12.50}');
    expect(stdout).toContain('"status":"done"');
    for (const kind of ["received", "claimed", "acked"]) expect(stdout).toContain(kind);
    await daemon.stop();
  },
  30_000,
);
