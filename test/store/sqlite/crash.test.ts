import { expect, test } from "bun:test";
import { join } from "node:path";
import type { Id } from "../../../src/kernel/ids.ts";
import { openSqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
import type { Store } from "../../../src/store/store.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { projectRoot } from "../../support/paths.ts";
import { tempDir } from "../../support/tmp.ts";
import { newProject, ok } from "../conformance/bed.ts";

/** Accepts, claims and acks without end; prints a line once a promise has resolved, and so once it is durable. */
const WORKER = `
  const [dir, project] = process.argv.slice(1);
  const { openSqliteStore } = await import(${JSON.stringify(join(projectRoot, "src/store/sqlite/sqlite-store.ts"))});
  const { systemClock } = await import(${JSON.stringify(join(projectRoot, "src/kernel/clock.ts"))});
  const store = await openSqliteStore({ dataDir: dir, clock: systemClock, reserveBytes: 0, duplicatesGathered: 64 });
  const event = { project, source: "s", channel: "webhook", type: "t", verified: true, headers: "{}", payload: "{}", blob: null };
  // It ends with whoever started it, however that ended.
  process.stdin.on("end", () => process.exit(1)).resume();
  const say = (line) => process.stdout.write(line + "\\n");
  async function worker(name) {
    for (let n = 0; ; n++) {
      const key = crypto.getRandomValues(new Uint8Array(16));
      const accepted = await store.events.accept({ ...event, dedup: { sourceNum: 1, key, bodyHash: key, ttlMs: 1e9 } });
      say("accepted " + accepted.id + " 0 " + Buffer.from(key).toString("hex"));
      const [claim] = await store.leases.claimNext(project, {}, name, 1, 3_600_000);
      if (!claim) continue;
      say("claimed " + claim.event.id + " " + (claim.lease.expiresAt - 3_600_000));
      if (n % 2) continue;
      await store.leases.settle(project, claim.event.id, name, claim.lease.id, { action: "ack", result: null });
      say("done " + claim.event.id);
    }
  }
  for (let i = 0; i < 16; i++) worker("key_" + i);
`;

/** Lets the worker run until it has said this many lines, and kills it at whatever it is doing. */
async function runAndKill(dir: string, project: string, lines: number): Promise<string[]> {
  const child = Bun.spawn([process.execPath, "-e", WORKER, dir, project], { stdin: "pipe", stdout: "pipe" });
  let said = "";
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    said += decoder.decode(chunk, { stream: true });
    if (said.split("\n").length > lines) child.kill("SIGKILL");
  }
  await child.exited;
  // A line that was cut says nothing.
  return said.split("\n").slice(0, -1);
}

/** Every transmission that was answered is known as a duplicate of the event it became. */
async function sentAgain(store: Store, project: Id<"prj">, keys: ReadonlyMap<string, string>): Promise<void> {
  const again = [...keys].map(([hex, id]) => {
    const key = new Uint8Array(Buffer.from(hex, "hex"));
    const dedup = { sourceNum: 1, key, bodyHash: key, ttlMs: 1e9 };
    const event = { project, source: "s", channel: "webhook", type: "t", verified: true, headers: "{}" } as const;
    return { id, answer: ok(store.events.accept({ ...event, payload: "{}", blob: null, dedup })) };
  });
  for (const { id, answer } of again) expect(await answer).toEqual({ id: id as Id<"evt">, duplicate: true });
}

test("whatever was answered before kill -9 is there after it, and time does not go back", async () => {
  const dir = tempDir("crash");
  const project = newProject("default");
  const options = { dataDir: dir, reserveBytes: 0, duplicatesGathered: 64 };
  const open = () => openSqliteStore({ ...options, clock: (last) => new FakeClock(last, 0) });
  const first = await open();
  await ok(first.projects.create(project));
  await first.close();
  const status = new Map<string, string>();
  const keys = new Map<string, string>();
  for (const lines of [300, 1500, 2500]) {
    let gate = 0;
    for (const line of await runAndKill(dir, project.id, lines)) {
      const [what = "", id = "", at = "0", key] = line.split(" ");
      status.set(id, what);
      if (key) keys.set(key, id);
      gate = Math.max(gate, Number(at));
    }
    const store = await open();
    // The clock of this run has no wall time of its own: it starts where the store says that no run went beyond.
    expect(store.clock.gate()).toBeGreaterThanOrEqual(gate);
    for (const [id, what] of status) {
      const event = await store.events.find(id as `evt_${string}`);
      const allowed = { accepted: ["pending", "claimed", "done"], claimed: ["claimed", "done"], done: ["done"] }[what];
      expect(allowed).toContain(event?.status ?? "lost");
    }
    const { count } = (await store.upkeep.counts()).reduce((sum, { count }) => ({ count: sum.count + count }), {
      count: 0,
    });
    expect(count).toBeGreaterThanOrEqual(status.size);
    await sentAgain(store, project.id, keys);
    await store.close();
  }
  expect([...status.values()].filter((what) => what === "done").length).toBeGreaterThan(100);
}, 30_000);
