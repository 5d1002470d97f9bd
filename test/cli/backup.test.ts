import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { TarWriter, tarEntries } from "../../src/store/backup/tar.ts";
import { type Daemon, postern, startDaemon } from "../support/daemon.ts";
import { describeWith, needsBinary } from "../support/needs.ts";
import { tempDir } from "../support/tmp.ts";

describe("the archive", () => {
  test("holds each file as it was, and any tar reads it", async () => {
    const sizes = fc.array(fc.oneof(fc.integer({ min: 0, max: 2000 }), fc.constantFrom(0, 511, 512, 513)), {
      maxLength: 6,
    });
    await fc.assert(
      fc.asyncProperty(sizes, async (all) => {
        const path = join(tempDir("tar"), "x.tar");
        const files = all.map((size, at) => ({ name: `f/${at}`, bytes: new Uint8Array(size).fill(at + 1) }));
        const tar = new TarWriter(path);
        for (const { name, bytes } of files) {
          const sum = tar.add({ name, size: bytes.length, mtime: 1, chunks: [bytes] });
          expect(sum).toBe(createHash("sha256").update(bytes).digest("hex"));
        }
        tar.end();
        const read = [];
        for (const { name, chunks } of tarEntries(path))
          read.push({ name, bytes: new Uint8Array(Buffer.concat([...chunks])) });
        expect(read).toEqual(files);
        const listed = Bun.spawn(["tar", "tf", path], { stdout: "pipe" });
        expect((await listed.stdout.text()).split("\n").filter(Boolean)).toEqual(files.map(({ name }) => name));
      }),
      { numRuns: 20 },
    );
  });

  test("a file that is not as long as it was said to be is an error, not a shifted archive", () => {
    const tar = new TarWriter(join(tempDir("tar"), "x.tar"));
    expect(() => tar.add({ name: "x", size: 3, mtime: 0, chunks: [new Uint8Array(2)] })).toThrow("changed");
    tar.abandon();
  });
});

describeWith(needsBinary())("backup and restore", () => {
  let daemon: Daemon;
  let dir: string;
  let url: string;
  let large: string;
  let file: string;

  async function arrive(body: string): Promise<string> {
    const answer = await fetch(url, { method: "POST", body, headers: { "content-type": "application/json" } });
    expect(answer.status).toBe(200);
    return ((await answer.json()) as { id: string }).id;
  }

  beforeAll(async () => {
    daemon = await startDaemon();
    dir = tempDir("backups");
    file = join(dir, "first.tar");
    const source = { name: "gh", channel: "webhook", kind: "github", secret: "s3cret-in-backup" };
    await daemon.operator("/v1/sources", { body: source });
    const open = await daemon.operator("/v1/sources", { body: { name: "open", channel: "webhook", kind: "unsigned" } });
    url = open.json<{ ingest_url: string }>().ingest_url;
    large = await arrive(JSON.stringify({ large: "y".repeat(400_000) }));
    expect((await daemon.run(["backup", file])).code).toBe(0);
  });
  afterAll(async () => {
    await daemon.stop();
  });

  /** Starts a daemon on a restored folder for as long as `use` takes. */
  async function restored(from: string, use: (second: Daemon) => Promise<void>): Promise<void> {
    const dataDir = join(tempDir("restored"), "data");
    const done = await postern(["restore", from, "--data-dir", dataDir]);
    expect(done).toMatchObject({ code: 0 });
    const second = await startDaemon({ dataDir });
    try {
      await use(second);
    } finally {
      await second.stop();
    }
  }

  test("the file is for its owner alone, and nothing is left in the data folder", () => {
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(daemon.dataDir).filter((name) => name.startsWith("backup-"))).toEqual([]);
    expect(readdirSync(dir)).toEqual(["first.tar"]);
  });

  test("large bodies, and secrets under the master key, are there again", async () => {
    await restored(file, async (second) => {
      const { event } = (await second.operator(`/v1/events/${large}`)).json<{ event: { payload_url: string } }>();
      const body = await fetch(event.payload_url);
      expect(await body.text()).toBe(JSON.stringify({ large: "y".repeat(400_000) }));
      const env = { POSTERN_DATA_DIR: second.dataDir };
      const sent = await second.run(["trigger", "gh", "--secret", "s3cret-in-backup"], { env });
      expect(sent.code).toBe(0);
    });
  });

  test("taken while events arrive, it holds every one that was answered before it began", async () => {
    const sent: string[] = [];
    let stop = false;
    const load = Promise.all(
      Array.from({ length: 8 }, async (_, lane) => {
        for (let n = 0; !stop; n++) sent.push(await arrive(JSON.stringify({ lane, n })));
      }),
    );
    await Bun.sleep(100);
    const before = [...sent];
    const under = join(dir, "under-load.tar");
    const made = await daemon.run(["backup", under]);
    stop = true;
    await load;
    expect(made.code).toBe(0);
    expect(before.length).toBeGreaterThan(0);
    await restored(under, async (second) => {
      const { stdout } = await second.run(["inbox", "export"]);
      const found = new Set(
        stdout
          .trimEnd()
          .split("\n")
          .map((line) => (JSON.parse(line) as { id: string }).id),
      );
      expect(before.filter((id) => !found.has(id))).toEqual([]);
    });
  }, 30_000);

  test("an existing file is not written over", async () => {
    const mine = join(dir, "mine");
    writeFileSync(mine, "mine");
    expect((await daemon.run(["backup", mine])).code).toBe(1);
    expect(readFileSync(mine, "utf8")).toBe("mine");
  });

  test("restore refuses a folder that a daemon runs on, whatever is forced", async () => {
    const { code, stderr } = await daemon.run(["restore", file, "--force"]);
    expect(code).toBe(1);
    expect(stderr).toContain("another postern runs on");
    expect((await daemon.api("/readyz")).status).toBe(200);
  });

  test("restore refuses a folder with a database; forced, it moves that aside", async () => {
    const dataDir = join(tempDir("restored"), "data");
    expect((await postern(["restore", file, "--data-dir", dataDir])).code).toBe(0);
    const again = await postern(["restore", file, "--data-dir", dataDir]);
    expect(again.code).toBe(1);
    expect(again.stderr).toContain("--force");
    const forced = await postern(["restore", file, "--data-dir", dataDir, "--force", "--json"]);
    expect(forced.code).toBe(0);
    const { movedTo } = JSON.parse(forced.stdout) as { movedTo: string };
    expect(readdirSync(movedTo).sort()).toEqual(["blobs", "master.key", "postern.db"]);
    expect(existsSync(join(dataDir, "postern.db"))).toBe(true);
  });

  test("an archive that is cut off or changed anywhere is refused, and the folder stays as it was", async () => {
    const whole = readFileSync(file);
    const at = (fraction: number) => Math.floor(whole.length * fraction);
    for (const fraction of [0.01, 0.2, 0.5, 0.9]) {
      const cut = join(dir, `cut-${fraction}`);
      writeFileSync(cut, whole);
      truncateSync(cut, at(fraction));
      const changed = join(dir, `changed-${fraction}`);
      writeFileSync(
        changed,
        whole.map((byte, index) => (index === at(fraction) ? byte ^ 1 : byte)),
      );
      for (const bad of [cut, changed]) {
        const dataDir = join(tempDir("restored"), "data");
        const { code, stderr } = await postern(["restore", bad, "--data-dir", dataDir]);
        expect({ bad, code }).toEqual({ bad, code: 1 });
        expect(stderr).toContain("was not restored");
        expect(readdirSync(dataDir)).toEqual(["postern.lock"]);
      }
    }
  }, 20_000);

  test("what is no backup is refused", async () => {
    const dataDir = join(tempDir("restored"), "data");
    expect((await postern(["restore", join(dir, "none.tar"), "--data-dir", dataDir])).code).toBe(1);
    const foreign = join(dir, "foreign.tar");
    const tar = new TarWriter(foreign);
    tar.add({ name: "../../evil", size: 1, mtime: 0, chunks: [new Uint8Array(1)] });
    tar.end();
    const { code, stderr } = await postern(["restore", foreign, "--data-dir", dataDir]);
    expect(code).toBe(1);
    expect(stderr).toContain("no backup holds");
    expect(existsSync(join(dataDir, "../../evil"))).toBe(false);
  });
});
