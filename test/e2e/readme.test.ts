import { expect } from "bun:test";
import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { startDaemon } from "../support/daemon.ts";
import { needsBinary, needsCommand, testWith } from "../support/needs.ts";
import { binaryPath, projectRoot } from "../support/paths.ts";
import { tempDir } from "../support/tmp.ts";
import { until } from "./bed.ts";

/** A marked block of the README, as a reader would paste it. */
function block(name: string): string {
  const readme = readFileSync(join(projectRoot, "README.md"), "utf8");
  const text = new RegExp(`<!-- ${name} -->\\n\`\`\`sh\\n([\\s\\S]*?)\`\`\``).exec(readme)?.[1];
  if (text === undefined) throw new Error(`the README has no ${name}`);
  return text;
}

testWith(needsBinary(), needsCommand("curl"))(
  "the README's walk leads from nothing to a settled event, line by line",
  async () => {
    const folder = tempDir("walk");
    symlinkSync(join(binaryPath, ".."), join(folder, "dist"));
    const daemon = await startDaemon({ dataDir: join(folder, "postern-data") });
    const script = `set -euo pipefail\n${block("walk").replaceAll("127.0.0.1:8484", `127.0.0.1:${daemon.port}`)}`;
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
    expect(stdout).toContain('"payload":{"order":4711,"total":12.50,"id":"evt_not_yours"}');
    expect(stdout).toContain('"status":"done"');
    for (const kind of ["received", "claimed", "acked"]) expect(stdout).toContain(kind);
    await daemon.stop();
  },
  30_000,
);

testWith(needsBinary())(
  "the README's loop acks what was done, nacks what was not, and an id in a payload chooses nothing",
  async () => {
    const daemon = await startDaemon();
    const made = async (path: string, body: object) =>
      (await daemon.operator(path, { body })).json<Record<string, string>>();
    const source = await made("/v1/sources", { name: "loop", kind: "unsigned" });
    const { key = "" } = await made("/v1/keys", { name: "worker", kind: "application", preset: "agent" });
    const send = async (body: string) =>
      (await daemon.api(new URL(source.ingest_url ?? "").pathname, { body })).json<{ id: string }>().id;
    const good = await send('{"id":"evt_not_yours","work":"good"}');
    const bad = await send('{"id":"evt_not_yours","work":"bad"}');
    const loop = block("loop").replace("http://127.0.0.1:8484", daemon.url).replace("pst_app_…", key);
    const work = `do_the_work() { case "$1" in *'"work":"good"'*) true;; *) false;; esac; }`;
    const run = Bun.spawn(["bash", "-c", `${work}\n${loop}`], {
      stdout: "ignore",
      stderr: "ignore",
      env: { PATH: `${join(binaryPath, "..")}:${process.env.PATH ?? ""}` },
    });
    const statusOf = async (id: string) =>
      (await daemon.operator(`/v1/events/${id}`)).json<{ event: { status: string } }>().event.status;
    await until(async () => (await statusOf(good)) === "done" && (await statusOf(bad)) === "failed");
    run.kill("SIGKILL");
    await run.exited;
    await daemon.stop();
  },
  30_000,
);
