import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Daemon, startDaemon } from "../support/daemon.ts";
import { needsBinary, needsCommand, testWith } from "../support/needs.ts";
import { binaryPath, projectRoot } from "../support/paths.ts";
import { tempDir } from "../support/tmp.ts";

const UNIT = join(projectRoot, "systemd/postern.service");

/** What `systemd-analyze security` may say at most, times ten. */
const EXPOSURE = 15;

const needsSystemd = needsCommand("systemd-analyze", "systemd");

/** The values of each directive, in their order. */
function directives(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const [, name = "", value = ""] of readFileSync(UNIT, "utf8").matchAll(/^(\w+)=(.*)$/gm)) {
    found.set(name, [...(found.get(name) ?? []), value]);
  }
  return found;
}

function analyze(...args: string[]) {
  const { exitCode, stdout, stderr } = Bun.spawnSync(["systemd-analyze", "--no-pager", ...args]);
  return { code: exitCode, said: `${stdout}${stderr}`, stdout: stdout.toString() };
}

/** The system calls that the unit's filter lets through, from the sets of this machine's systemd. */
function allowedCalls(filters: string[]): Set<string> {
  const sets = new Map<string, string[]>();
  let members: string[] = [];
  for (const line of analyze("syscall-filter").stdout.split("\n")) {
    if (line.startsWith("@")) {
      members = [];
      sets.set(line.trim(), members);
    } else if (/^ {4}[@\w]/.test(line)) members.push(line.trim());
  }
  const callsOf = (name: string): string[] => (name.startsWith("@") ? (sets.get(name) ?? []).flatMap(callsOf) : [name]);
  // An allow list has @default in it whatever it says: systemd.exec(5).
  const allowed = new Set(callsOf("@default"));
  for (const filter of filters) {
    const refuses = filter.startsWith("~");
    for (const call of filter.replace(/^~/, "").split(/\s+/).flatMap(callsOf)) {
      if (refuses) allowed.delete(call);
      else allowed.add(call);
    }
  }
  return allowed;
}

/** The names of the calls in what `strace -f` wrote. */
function tracedCalls(trace: string): Set<string> {
  return new Set([...trace.matchAll(/^\d+ +([a-z]\w*)\(/gm)].map(([, name = ""]) => name));
}

/** Something of all that a daemon does: both of its doors, storage, files, what is refused. */
async function exercise(daemon: Daemon): Promise<void> {
  const paths = ["/healthz", "/openapi.json", "/v1/inbox", "/in/nothing"];
  for (const path of paths) expect((await daemon.api(path)).status).toBeLessThan(500);
  const body = { name: "calls", channel: "webhook", kind: "unsigned" };
  const source = await daemon.operator("/v1/sources", { body });
  expect(source.status, source.text).toBe(201);
  const { pathname } = new URL(source.json<{ ingest_url: string }>().ingest_url);
  for (let sent = 0; sent < 20; sent++) expect((await daemon.api(pathname, { body: { sent } })).status).toBe(200);
  expect((await daemon.operator("/v1/inbox")).status).toBe(200);
}

describe("the systemd unit", () => {
  testWith(needsSystemd)("has no directive that systemd does not know or take", () => {
    // The program of the unit is not installed here; any that is there will do for the check.
    const copy = join(tempDir("unit"), "postern.service");
    writeFileSync(
      copy,
      readFileSync(UNIT, "utf8").replace("ExecStart=/usr/local/bin/postern", `ExecStart=${process.execPath}`),
    );
    expect(analyze("verify", copy)).toEqual({ code: 0, said: "", stdout: "" });
  });

  testWith(needsSystemd)("leaves an exposure of at most 1.5", () => {
    const { code, said } = analyze("security", "--offline=true", `--threshold=${EXPOSURE}`, UNIT);
    expect(code, said).toBe(0);
  });

  test("lets the runtime compile while it runs", () => {
    const found = directives();
    expect(found.has("MemoryDenyWriteExecute")).toBe(false);
    expect(found.has("NoExecPaths")).toBe(false);
    expect(found.get("LockPersonality")).toEqual(["yes"]);
  });

  test("waits for READY=1, and keeps the data folder closed", () => {
    const found = directives();
    expect(found.get("Type")).toEqual(["notify"]);
    expect(found.get("DynamicUser")).toEqual(["yes"]);
    expect(found.get("StateDirectory")).toEqual(["postern"]);
    expect(found.get("StateDirectoryMode")).toEqual(["0700"]);
    expect(found.get("RestrictAddressFamilies")).toEqual(["AF_INET AF_INET6 AF_UNIX"]);
  });

  testWith(needsSystemd, needsCommand("strace"), needsBinary())(
    "permits every system call that a daemon makes from its start to its end",
    async () => {
      const trace = join(tempDir("trace"), "calls");
      // -D: strace stands aside, so that signals go to the daemon.
      const command = ["strace", "-D", "-f", "-q", "-o", trace, binaryPath];
      const daemon = await startDaemon({ command, env: { NOTIFY_SOCKET: join(tempDir("notify"), "nobody") } });
      await exercise(daemon);
      const end = new RegExp(`^${daemon.pid} +\\+{3} exited`, "m");
      expect(await daemon.stop()).toBe(0);
      while (!end.test(readFileSync(trace, "utf8"))) await Bun.sleep(10);

      const calls = tracedCalls(readFileSync(trace, "utf8"));
      expect(calls).toContain("execve");
      expect(calls).toContain("accept4");
      const allowed = allowedCalls(directives().get("SystemCallFilter") ?? []);
      expect(allowed.size).toBeGreaterThan(100);
      // SQLite gives the files beside the database to the database's owner, if it runs as root: in the unit it does not.
      if (process.getuid?.() === 0) calls.delete("fchown");
      expect([...calls].filter((call) => !allowed.has(call))).toEqual([]);
    },
    60_000,
  );
});
