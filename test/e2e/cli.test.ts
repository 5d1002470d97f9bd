import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type CommandResult, type Daemon, postern, startDaemon } from "../support/daemon.ts";
import { describeWith, needsBinary } from "../support/needs.ts";
import { binaryPath } from "../support/paths.ts";
import { tempDir } from "../support/tmp.ts";

type EventRow = { id: string; type: string; status: string };

describeWith(needsBinary())("the command line, on the built binary", () => {
  let daemon: Daemon;
  let home: string;
  let url: string;

  /** A command over the operator's socket; `home` is where profiles are kept. */
  async function run(
    args: string[],
    options: { stdin?: string; env?: Record<string, string> } = {},
  ): Promise<CommandResult> {
    return await daemon.run(args, { ...options, env: { XDG_CONFIG_HOME: home, ...options.env } });
  }

  async function json<T>(args: string[]): Promise<T> {
    const { code, stdout, stderr } = await run([...args, "--json"]);
    expect({ code, stderr }, args.join(" ")).toEqual({ code: 0, stderr: "" });
    return JSON.parse(stdout) as T;
  }

  async function arrive(body: string): Promise<string> {
    const answer = await fetch(url, { method: "POST", body, headers: { "content-type": "application/json" } });
    return ((await answer.json()) as { id: string }).id;
  }

  beforeAll(async () => {
    daemon = await startDaemon();
    home = tempDir("home");
    url = (await json<{ ingest_url: string }>(["sources", "create", "--name", "hello", "--kind", "unsigned"]))
      .ingest_url;
  });
  afterAll(async () => {
    await daemon.stop();
  });

  describe("without URL and key, over the operator's socket", () => {
    test("an empty inbox says how to send the first event", async () => {
      const { code, stdout, stderr } = await run(["inbox", "list"]);
      expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
      expect(stderr).toContain("No pending events");
      expect(stderr).toContain(`curl -H 'content-type: application/json' -d '{"hello":"world"}' ${url}`);
    });

    test("an event is listed, claimed, extended and acked", async () => {
      const id = await arrive('{"n":1}');
      expect((await run(["inbox", "list"])).stdout).toContain(id);
      const claim = await json<{ lease: { id: string } }>(["inbox", "claim", id, "--lease-seconds", "60"]);
      expect((await run(["inbox", "extend", id, "--lease-seconds", "90"])).code).toBe(0);
      const acked = await json<{ event: EventRow }>([
        "inbox",
        "ack",
        id,
        "--lease",
        claim.lease.id,
        "--result",
        "done",
      ]);
      expect(acked.event).toMatchObject({ id, status: "done" });
      const history = await json<{ history: { kind: string; result?: unknown }[] }>(["inbox", "history", id]);
      expect(history.history.at(-1)).toMatchObject({ kind: "acked", result: "done" });
    });

    test("a result may be JSON", async () => {
      const id = await arrive('{"n":2}');
      await json(["inbox", "claim", id]);
      await json(["inbox", "ack", id, "--result", '{"ok":true}']);
      const { history } = await json<{ history: { result?: unknown }[] }>(["inbox", "history", id]);
      expect(history.at(-1)?.result).toEqual({ ok: true });
    });

    test("claiming the next, giving it back, nacking it, and bringing the dead back", async () => {
      const id = await arrive('{"n":3}');
      const { claims } = await json<{ claims: { event: EventRow }[] }>(["inbox", "claim", "--source", "hello"]);
      expect(claims.map(({ event }) => event.id)).toEqual([id]);
      await json(["inbox", "release", id]);
      const { lease } = await json<{ lease: { id: string } }>(["inbox", "claim", id]);
      await json(["inbox", "nack", id, "--no-retry", "--reason", "not mine", "--lease", lease.id]);
      const dry = await json(["inbox", "requeue", "--status", "dead", "--since", "1h", "--dry-run"]);
      expect(dry).toEqual({ matched: 1, requeued: 0, dry_run: true });
      await json(["inbox", "requeue", id]);
      expect((await json<{ events: EventRow[] }>(["inbox", "list"])).events.map((event) => event.id)).toEqual([id]);
      const last = await json<{ lease: { id: string } }>(["inbox", "claim", id]);
      const settled = await run(["inbox", "settle", "--file", "-"], {
        stdin: JSON.stringify({
          items: [
            { id, action: "ack", lease: last.lease.id },
            { id: `${id.slice(0, -1)}${id.endsWith("0") ? "1" : "0"}`, action: "ack" },
          ],
        }),
      });
      expect(settled.stdout).toContain("NOT_FOUND");
      expect(settled.code).toBe(1);
    });
  });

  describe("what it prints", () => {
    const body =
      '{ "big": 12345678901234567890123, "f": 1.10,\n "e": "\\u0041", "evil": "\u202e\u009b31m", "a": 1, "a": 2 }';

    test("--json is the answer byte for byte, --jsonl each row byte for byte", async () => {
      const id = await arrive(body);
      const answer = await daemon.operator(`/v1/events/${id}`);
      expect((await run(["inbox", "show", id, "--json"])).stdout).toBe(`${answer.text}\n`);
      const list = await daemon.operator("/v1/inbox");
      expect((await run(["inbox", "list", "--json"])).stdout).toBe(`${list.text}\n`);
      const { stdout } = await run(["inbox", "list", "--jsonl"]);
      const lines = stdout.trimEnd().split("\n");
      expect(lines).toHaveLength(list.json<{ events: unknown[] }>().events.length);
      expect(lines.at(-1)).toContain(`"payload":${body.replace("\n", " ")}`);
    });

    test("a payload is shown behind a bar, marked as data from outside, with nothing hidden in it", async () => {
      const id = await arrive(body.replace("1.10", "2.20"));
      const { stdout } = await run(["inbox", "show", id]);
      expect(stdout).toContain("untrusted data from outside");
      expect(stdout).toContain('│   "big": 12345678901234567890123,');
      expect(stdout).toContain('"evil": "\\u202e\\u009b31m"');
      expect(stdout).not.toMatch(/[\u009b\u202e]/);
    });

    test("an export holds each event whole, also one that lists leave out", async () => {
      const long = JSON.stringify({ text: "x".repeat(20_000), n: 0 }).replace("0}", "1.10}");
      const id = await arrive(long);
      const file = join(home, "events.jsonl");
      expect((await run(["inbox", "export", "--file", file, "--since", "1h"])).code).toBe(0);
      const line = readFileSync(file, "utf8")
        .split("\n")
        .find((text) => text.includes(id));
      expect(line).toContain(`"payload":${long},`);
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect((await run(["inbox", "export", "--file", file])).code).toBe(1);
    });

    test("a secret that was made is printed, once, and one that was given is not", async () => {
      const made = await run(["keys", "create", "--name", "shown", "--kind", "application", "--preset", "agent"]);
      expect(made.stdout).toMatch(/\nkey: pst_app_\S+\n$/);
      expect(made.stderr).toContain("shown this once");
      const given = await run(["sources", "create", "--name", "gh", "--kind", "github", "--secret", "-"], {
        stdin: "s3cret-given\n",
      });
      expect(given.code).toBe(0);
      expect(given.stdout + given.stderr).not.toContain("s3cret-given");
    });
  });

  test("watch prints what arrives and loses nothing over a restart of the daemon", async () => {
    const filters = ["--source", "hello", "--status", "pending"];
    const watcher = Bun.spawn([binaryPath, "inbox", "watch", "--jsonl", "--count", "40", ...filters], {
      env: { PATH: process.env.PATH, HOME: home, POSTERN_DATA_DIR: daemon.dataDir },
      stdout: "pipe",
      stderr: "ignore",
    });
    let stdout = "";
    const reading = (async () => {
      for await (const chunk of watcher.stdout) stdout += new TextDecoder().decode(chunk);
    })();
    const sent: string[] = [];
    let restarted = false;
    // Nothing tells when the watcher is there: events are sent until it has seen as many as it wants.
    while (watcher.exitCode === null) {
      sent.push(await arrive(`{"watched":${sent.length}}`));
      if (stdout !== "" && !restarted) await daemon.restart();
      restarted ||= stdout !== "";
      await Bun.sleep(20);
    }
    const code = await watcher.exited;
    await reading;
    expect(restarted).toBe(true);
    expect(code).toBe(0);
    const seen = stdout
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as EventRow).id);
    const from = sent.indexOf(seen[0] ?? "");
    expect(seen).toEqual(sent.slice(from, from + 40));
  }, 30_000);

  test("trigger signs as the source's provider does", async () => {
    await run(["sources", "create", "--name", "billing", "--kind", "stripe", "--secret", "-"], { stdin: "whsec_test" });
    const sent = await run(["trigger", "billing", "--type", "invoice.paid", "--secret", "-", "--json"], {
      stdin: "whsec_test",
    });
    expect(sent.code).toBe(0);
    const { id } = JSON.parse(sent.stdout) as { id: string };
    const { event } = await json<{ event: EventRow & { verified: boolean } }>(["inbox", "show", id]);
    expect(event).toMatchObject({ type: "invoice.paid", verified: true });
    const wrong = await run(["trigger", "billing", "--secret", "-"], { stdin: "another" });
    expect(wrong.code).toBe(4);
    expect(wrong.stderr).toContain("SIGNATURE_INVALID");
  });

  describe("with a URL and a key", () => {
    test("login checks the key, saves it for its owner only, and the commands use it", async () => {
      const { key } = await json<{ key: string }>([
        "keys",
        "create",
        "--name",
        "cli",
        "--kind",
        "application",
        "--preset",
        "agent",
      ]);
      const wrong = await run(["login", "--url", daemon.url, "--key", "pst_app_wrong"]);
      expect(wrong.code).toBe(4);
      expect(existsSync(join(home, "postern/profile.json"))).toBe(false);
      const login = await run(["login", "work", "--url", daemon.url], { stdin: `${key}\n` });
      expect(login.code).toBe(0);
      expect(login.stdout + login.stderr).not.toContain(key);
      expect(statSync(join(home, "postern/profile.json")).mode & 0o777).toBe(0o600);
      expect(await json<{ kind: string }>(["whoami"])).toMatchObject({ kind: "key", key: { name: "cli" } });
      const refused = await run(["sources", "list"]);
      expect(refused).toMatchObject({
        code: 4,
        stderr: "postern: SCOPE_MISSING: the key lacks the scope sources:read\n",
      });
      const asJson = await run(["sources", "list", "--json"]);
      expect(JSON.parse(asJson.stderr)).toMatchObject({ code: "SCOPE_MISSING", scope: "sources:read", status: 403 });
      // The saved key goes nowhere but where it was saved for.
      expect((await run(["whoami", "--url", "http://127.0.0.1:9"])).code).toBe(2);
      expect((await run(["use", "-"])).code).toBe(0);
      expect(await json<{ kind: string }>(["whoami"])).toMatchObject({ kind: "operator" });
      expect((await run(["use", "work"])).code).toBe(0);
      expect((await run(["logout"])).code).toBe(0);
      expect(readFileSync(join(home, "postern/profile.json"), "utf8")).not.toContain(key);
    });

    test("flags win over the environment", async () => {
      const env = { POSTERN_URL: daemon.url, POSTERN_KEY: "pst_app_wrong" };
      expect((await run(["whoami"], { env })).code).toBe(4);
      const { key } = await json<{ key: string }>([
        "keys",
        "create",
        "--name",
        "flag",
        "--kind",
        "application",
        "--preset",
        "agent",
      ]);
      expect((await run(["whoami", "--key", "-"], { env, stdin: key })).code).toBe(0);
    });
  });

  describe("exit codes", () => {
    test("3 where there is nothing: a wait that timed out, nothing to claim", async () => {
      const waited = await run(["inbox", "wait", "--timeout-seconds", "0", "--type", "none.such", "--json"]);
      expect(waited).toMatchObject({ code: 3, stdout: '{"event":null}\n' });
      expect((await run(["inbox", "claim", "--type", "none.such", "--json"])).code).toBe(3);
    });

    test("1 where it failed, 2 where the line is wrong, also where only the daemon knows", async () => {
      const absent = "evt_01k6xyh4w1f4mr3n7v0e8a2b9c";
      expect(await run(["inbox", "show", absent])).toMatchObject({ code: 1, stdout: "" });
      expect((await run(["inbox", "show", "nonsense"])).code).toBe(2);
      const kind = await run(["sources", "create", "--name", "x", "--kind", "strpie"]);
      expect(kind.code).toBe(2);
      expect(kind.stderr).toContain("Did you mean `stripe`?");
      expect((await run(["--project", "nope", "inbox", "list"])).code).toBe(1);
    });
  });

  test("sources may be named instead of their id", async () => {
    expect((await run(["sources", "pause", "hello"])).code).toBe(0);
    expect(await json<{ status: string }>(["sources", "resume", "hello"])).toMatchObject({ status: "active" });
    expect((await run(["sources", "get", "helo"])).code).toBe(2);
  });

  test("doctor passes on a running daemon", async () => {
    const { code, stdout } = await run(["doctor", "--json"]);
    expect(code).toBe(0);
    const { checks } = JSON.parse(stdout) as { checks: { name: string; level: string }[] };
    expect(checks.find(({ name }) => name === "daemon")?.level).toBe("pass");
    expect(checks.filter(({ level }) => level === "fail")).toEqual([]);
  });

  test("version is the package's", async () => {
    const { version } = JSON.parse((await postern(["version", "--json"])).stdout) as { version: string };
    expect((await postern(["version"])).stdout).toStartWith(`postern ${version}`);
  });
});
