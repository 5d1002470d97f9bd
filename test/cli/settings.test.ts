import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempDir } from "../support/tmp.ts";
import { runCli } from "./support.ts";

describe("init, check and config dump", () => {
  test("init writes a file that check accepts, and never writes over one", async () => {
    const cwd = tempDir();
    const made = await runCli(["init"], { cwd });
    expect(made.code).toBe(0);
    expect(statSync(join(cwd, "postern.toml")).mode & 0o777).toBe(0o600);
    const checked = await runCli(["check"], { cwd });
    expect(checked).toMatchObject({ code: 0, out: "postern.toml: ok\n", err: "" });
    writeFileSync(join(cwd, "postern.toml"), "# mine\n");
    const again = await runCli(["init"], { cwd });
    expect(again.code).toBe(1);
    expect(again.err).toContain("is there already");
    expect(readFileSync(join(cwd, "postern.toml"), "utf8")).toBe("# mine\n");
  });

  test("check says all that is wrong, each with file and line", async () => {
    const cwd = tempDir();
    writeFileSync(join(cwd, "postern.toml"), '[http]\nlisen = "127.0.0.1:1"\nmax_body_bytes = "x"\n');
    const { code, err } = await runCli(["check"], { cwd });
    expect(code).toBe(1);
    expect(err).toContain("postern.toml:2");
    expect(err).toContain("Did you mean `listen`?");
    expect(err).toContain("postern.toml:3");
    const json = JSON.parse((await runCli(["check", "--json"], { cwd })).out) as { ok: boolean; errors: unknown[] };
    expect(json.ok).toBe(false);
    expect(json.errors).toHaveLength(2);
  });

  test("check refuses what serve would refuse of declared sources", async () => {
    const cwd = tempDir();
    const source = (name: string, rest: string) =>
      `[[projects.sources]]\nname = "${name}"\nchannel = "webhook"\n${rest}\n`;
    const sources = [
      source("a", 'kind = "strpie"'),
      source("b", 'kind = "github"\nheader = "x-sig"'),
      source("c", 'kind = "github"\nsecret_env = "THE_SECRET"'),
      source("d", 'kind = "stripe"'),
    ];
    writeFileSync(join(cwd, "postern.toml"), `[[projects]]\nname = "default"\n${sources.join("")}`);
    const { code, err } = await runCli(["check"], { cwd, env: { THE_SECRET: "with\ta tab" } });
    expect(code).toBe(1);
    expect(err.trimEnd().split("\n")).toEqual([
      expect.stringContaining("postern.toml:6: projects.0.sources.0.kind: unknown kind"),
      expect.stringContaining("postern.toml:11: projects.0.sources.1.header: only a source of kind hmac_sha256"),
      expect.stringContaining("projects.0.sources.2.secret: must hold no control characters"),
    ]);
    expect(err).toContain("Did you mean `stripe`?");
  });

  test("the dump says where each value comes from", async () => {
    const cwd = tempDir();
    writeFileSync(join(cwd, "my.toml"), "[retention]\npayload_days = 7\n");
    const { out } = await runCli(["config", "dump", "--origins", "--config", "my.toml"], {
      cwd,
      env: { POSTERN_HTTP__LISTEN: "127.0.0.1:99" },
    });
    expect(out).toContain("payload_days = 7  # my.toml:2");
    expect(out).toContain('listen = "127.0.0.1:99"  # env:POSTERN_HTTP__LISTEN');
  });
});

type Check = { level: string; name: string; fix?: string };

async function doctor(cwd: string, env: Record<string, string>): Promise<{ code: number; checks: Map<string, Check> }> {
  const { code, out } = await runCli(["doctor", "--json"], { cwd, env: { HOME: cwd, ...env } });
  const { checks } = JSON.parse(out) as { checks: Check[] };
  return { code, checks: new Map(checks.map((check) => [check.name, check])) };
}

describe("doctor", () => {
  test("finds a data folder and a master key that others can read, and says the command that mends it", async () => {
    const dir = tempDir();
    const data = join(dir, "data");
    mkdirSync(data, { mode: 0o755 });
    chmodSync(data, 0o755);
    writeFileSync(join(data, "master.key"), "x", { mode: 0o644 });
    chmodSync(join(data, "master.key"), 0o644);
    const { code, checks } = await doctor(dir, { POSTERN_DATA_DIR: data });
    expect(code).toBe(1);
    expect(checks.get("data folder")).toMatchObject({ level: "fail", fix: `chmod 700 ${data}` });
    expect(checks.get("master.key")).toMatchObject({ level: "fail", fix: `chmod 600 ${join(data, "master.key")}` });
    expect(checks.get("daemon")).toMatchObject({ level: "warn", fix: "start it: `postern serve`" });
  });

  test("minds an open listener without TLS and without a public URL", async () => {
    const dir = tempDir();
    const { checks } = await doctor(dir, { POSTERN_DATA_DIR: join(dir, "none"), POSTERN_HTTP__LISTEN: "0.0.0.0:8484" });
    expect(checks.get("public_url")?.level).toBe("warn");
    expect(checks.get("TLS")?.level).toBe("warn");
    expect(checks.get("data folder")?.level).toBe("info");
  });

  test("a configuration that is wrong fails, and nothing that depends on it is judged", async () => {
    const dir = tempDir();
    const { code, checks } = await doctor(dir, { POSTERN_HTTP__LISEN: "x" });
    expect(code).toBe(1);
    expect(checks.get("configuration")?.level).toBe("fail");
    expect(checks.has("data folder")).toBe(false);
  });
});

describe("without a daemon", () => {
  test("the error says how to start one, exit 1", async () => {
    const { code, err } = await runCli(["inbox", "list"]);
    expect(code).toBe(1);
    expect(err).toStartWith("postern: DAEMON_UNREACHABLE: no daemon runs on ");
    expect(err).toContain("`postern serve`");
  });

  test("with --json the error is JSON", async () => {
    const { code, err } = await runCli(["inbox", "list", "--json"]);
    expect(code).toBe(1);
    expect(JSON.parse(err)).toMatchObject({ code: "DAEMON_UNREACHABLE" });
    expect(JSON.parse((await runCli(["inbox", "list", "--json", "--lmit", "1"])).err)).toMatchObject({ code: "USAGE" });
  });

  test("a URL without a key is a usage error that names `login`", async () => {
    const { code, err } = await runCli(["inbox", "list", "--url", "http://127.0.0.1:9"]);
    expect(code).toBe(2);
    expect(err).toContain("postern login --url http://127.0.0.1:9");
  });

  test("a URL with a password in it, or none at all, is refused", async () => {
    for (const url of ["http://u:p@127.0.0.1", "ftp://x", "x"]) {
      expect((await runCli(["whoami", "--url", url, "--key", "k"])).code).toBe(2);
    }
  });
});
