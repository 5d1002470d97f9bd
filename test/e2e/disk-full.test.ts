import { expect } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Answer, type Daemon, postern, startDaemon } from "../support/daemon.ts";
import { describeWith, needsBinary, needsCommand, testWith } from "../support/needs.ts";
import { Fault } from "./disk/fault.ts";
import { Sender } from "./disk/sender.ts";
import { MIB, needsVolumes, Volume } from "./disk/volume.ts";

const LIMIT_MS = 60_000;

function expectRefusal(answer: Answer): void {
  expect(answer.json()).toMatchObject({ code: "STORAGE_UNAVAILABLE", status: 503 });
  expect(answer.status).toBe(503);
  expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
}

/** Sends a delivery again and again, as its provider would, until it is taken. */
async function untilTaken(sender: Sender, delivery: string, bytes: number): Promise<Answer> {
  for (;;) {
    const answer = await sender.send(delivery, bytes);
    if (answer.status === 200) return answer;
    expectRefusal(answer);
    await Bun.sleep(100);
  }
}

function blobs(dataDir: string): string[] {
  return readdirSync(join(dataDir, "blobs"), { recursive: true, encoding: "utf8" }).filter((name) =>
    name.includes("/"),
  );
}

/** How much of a core the process takes during one second in which nobody asks it anything, in percent. */
async function idleCpu(daemon: Daemon): Promise<number> {
  const ticks = () => {
    const fields = readFileSync(`/proc/${daemon.pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    return Number(fields[11]) + Number(fields[12]);
  };
  const before = ticks();
  await Bun.sleep(1000);
  return ticks() - before;
}

describeWith(needsBinary(), needsVolumes())("a full disk", () => {
  testWith()(
    "refuses what is new, goes on with what is there, and takes again when there is room, by itself",
    async () => {
      const volume = new Volume(32);
      volume.takeSpace(16 * MIB);
      const daemon = await startDaemon({ dataDir: volume.dataDir });
      const sender = await Sender.prepare(daemon);
      const { refused, delivery } = await sender.fill(20_000);
      expectRefusal(refused);
      expectRefusal(await sender.send("one more", 10));
      expect((await daemon.api("/readyz")).status).toBe(503);
      expect((await daemon.api("/healthz")).status).toBe(200);

      await sender.expectAll();
      await sender.work(60);
      // Others on the disk take what the reserve gave up: the log has its own space all the same.
      volume.takeSpace(16 * MIB + volume.free);
      await sender.work(20);
      const first = [...sender.stored.values()][0];
      expect((await daemon.operator(`/v1/events/${first}/purge`, { method: "POST" })).status).toBe(200);
      expectRefusal(await sender.send("one more", 10));
      console.log(`a full disk costs ${await idleCpu(daemon)} % of a core`);

      volume.giveSpace();
      expect((await untilTaken(sender, delivery, 20_000)).json()).toMatchObject({ duplicate: false });
      expect((await untilTaken(sender, "one more", 10)).json()).toMatchObject({ duplicate: false });
      expect((await sender.send(delivery, 20_000)).json()).toMatchObject({ duplicate: true });
      expect((await daemon.api("/readyz")).status).toBe(200);
      await sender.expectAll();
      await daemon.kill9();
      await daemon.start();
      await sender.expectAll();
      expect(daemon.output).not.toContain('"level":"error"');
      expect(await daemon.stop()).toBe(0);
    },
    LIMIT_MS,
  );

  testWith()(
    "refuses a body that would be stored apart, and leaves no part of it behind",
    async () => {
      const volume = new Volume(16);
      const daemon = await startDaemon({ dataDir: volume.dataDir });
      const sender = await Sender.prepare(daemon);
      const { refused, delivery } = await sender.fill(700_000);
      expectRefusal(refused);
      for (let i = 0; i < 10; i++) await sender.send(`again-${i}`, 700_000);
      expect(blobs(daemon.dataDir)).toHaveLength(sender.stored.size);
      await sender.expectAll();
      await sender.work(5);
      const [first] = sender.stored.values();
      expect((await daemon.operator(`/v1/events/${first}/purge`, { method: "POST" })).status).toBe(200);
      // A blob that goes makes room.
      expect((await untilTaken(sender, delivery, 700_000)).json()).toMatchObject({ duplicate: false });
      expect(blobs(daemon.dataDir)).toHaveLength(sender.stored.size - 1);
      await daemon.restart();
      await sender.expectAll();
      expect(await daemon.stop()).toBe(0);
    },
    LIMIT_MS,
  );

  testWith()(
    "of its own data is over when enough of that is purged, though the database's file does not shrink",
    async () => {
      const volume = new Volume(16);
      const daemon = await startDaemon({ dataDir: volume.dataDir });
      const sender = await Sender.prepare(daemon);
      const { delivery } = await sender.fill(20_000);
      const ids = [...sender.stored.values()];
      for (const id of ids.slice(0, ids.length / 2)) {
        expect((await daemon.operator(`/v1/events/${id}/purge`, { method: "POST" })).status).toBe(200);
      }
      expect((await untilTaken(sender, delivery, 20_000)).json()).toMatchObject({ duplicate: false });
      expect((await daemon.api("/readyz")).status).toBe(200);
      // Full again, it again keeps what settling and purging need.
      const { refused } = await sender.fill(19_000);
      expectRefusal(refused);
      await sender.work(20);
      for (const id of ids.slice(ids.length / 2)) {
        const purged = await daemon.operator(`/v1/events/${id}/purge`, { method: "POST" });
        expect([200, 409]).toContain(purged.status);
      }
      expect((await untilTaken(sender, "once more", 20_000)).json()).toMatchObject({ duplicate: false });
      await sender.expectAll();
      await daemon.restart();
      await sender.expectAll();
      expect(await daemon.stop()).toBe(0);
    },
    LIMIT_MS,
  );

  testWith()(
    "at the start, the daemon works, or says what to do",
    async () => {
      const volume = new Volume(24);
      volume.takeSpace(12 * MIB);
      const daemon = await startDaemon({ dataDir: volume.dataDir });
      const sender = await Sender.prepare(daemon);
      await sender.fill(20_000);
      await daemon.kill9();
      volume.takeSpace(12 * MIB + volume.free);
      const said = await daemon.start().then(
        () => "",
        (error: Error) => error.message,
      );
      if (said !== "") {
        expect(said).toMatch(/no space|disk is full/);
        expect(said).toContain(daemon.dataDir);
        volume.giveSpace();
        await daemon.start();
      }
      await sender.expectAll();
      expect(await daemon.stop()).toBe(0);
    },
    LIMIT_MS,
  );

  testWith()(
    "without a byte for a new data folder, the daemon says so and ends",
    async () => {
      const volume = new Volume(1);
      volume.takeSpace();
      const { code, stderr } = await postern(["serve"], {
        dataDir: volume.dataDir,
        cwd: volume.path,
        env: { POSTERN_HTTP__LISTEN: "127.0.0.1:0" },
      });
      expect(code).toBe(1);
      expect(stderr).toContain(volume.path);
      expect(stderr).toMatch(/ENOSPC|no space|disk is full/);
    },
    LIMIT_MS,
  );
});

describeWith(needsBinary(), needsVolumes())("a read-only data folder", () => {
  testWith()(
    "is refused at the start, with its name",
    async () => {
      const volume = new Volume(16);
      const daemon = await startDaemon({ dataDir: volume.dataDir });
      await daemon.stop();
      expect(volume.readOnly(true)).toBe(true);
      const { code, stderr } = await postern(["serve"], {
        dataDir: daemon.dataDir,
        env: { POSTERN_HTTP__LISTEN: "127.0.0.1:0" },
      });
      expect(code).toBe(1);
      expect(stderr).toContain(daemon.dataDir);
      expect(stderr).toMatch(/read-only|EROFS/);
      volume.readOnly(false);
      await daemon.start();
      expect(await daemon.stop()).toBe(0);
    },
    LIMIT_MS,
  );
});

/** All that a daemon writes in its folder. */
function writtenIn(dataDir: string): string[] {
  return ["", "postern.db", "postern.db-wal", "postern.db-shm", "reserve", "blobs"].map((name) => join(dataDir, name));
}

describeWith(needsBinary(), needsCommand("strace"))("a disk that fails under a running daemon", () => {
  for (const [error, what] of [
    ["EROFS", "turned read-only"],
    ["EIO", "answers with input/output errors"],
  ] as const) {
    testWith()(
      `and ${what}: reading goes on, the rest answers 503, and all is well when the disk is`,
      async () => {
        const daemon = await startDaemon();
        const sender = await Sender.prepare(daemon);
        for (let i = 0; i < 20; i++) await sender.send(`before-${i}`, 2000);
        await sender.work(3);
        const claimed = await daemon.api("/v1/inbox/claim", { body: {}, key: sender.key });
        const [claim] = claimed.json<{ claims: { event: { id: string } }[] }>().claims;

        const fault = await Fault.begin(daemon.pid, error, writtenIn(daemon.dataDir));
        for (let i = 0; i < 5; i++) expectRefusal(await sender.send(`during-${i}`, 2000));
        const ack = { method: "POST", key: sender.key };
        expectRefusal(await daemon.api(`/v1/events/${claim?.event.id}/ack`, ack));
        expectRefusal(await daemon.api("/v1/inbox/claim", { body: {}, key: sender.key }));
        expect((await daemon.api("/readyz")).status).toBe(503);
        expect((await daemon.api("/healthz")).status).toBe(200);
        await sender.expectAll();
        expect((await daemon.operator(`/v1/events/${claim?.event.id}`)).status).toBe(200);

        await fault.end();
        expect((await untilTaken(sender, "during-0", 2000)).json()).toMatchObject({ duplicate: false });
        expect((await daemon.api(`/v1/events/${claim?.event.id}/ack`, ack)).status).toBe(200);
        expect((await daemon.api("/readyz")).status).toBe(200);
        await sender.expectAll();
        await daemon.kill9();
        await daemon.start();
        await sender.expectAll();
        expect(await daemon.stop()).toBe(0);
      },
      LIMIT_MS,
    );
  }
});
