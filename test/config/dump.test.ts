import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { dumpConfig } from "../../src/config/dump.ts";
import { accepted } from "./setup.ts";

const TOML = `public_url = "https://a.example"
[http]
max_body_bytes = 1_000
trusted_proxies = [
  "10.0.0.0/8",
]
[mail]
relay = "smtp://me:hunter2@mail.example.org:587"
[delivery]
proxy = "http://hunter2@proxy.example.org:3128"
[[projects]]
name = "a"
[[projects.sources]]
name = "b"
channel = "webhook"
kind = "hmac_sha256"
secret = "hunter2"
prefix = "a\\u007f\\"b"
rate_limit = { requests = 5, per_seconds = 60 }
[[projects.sources]]
name = "c"
channel = "email"
kind = "email"
[[projects.routes]]
name = "d"
callback_url = "https://b.example/in?token=hunter2#hunter2"
headers = { "x-token" = "hunter2", "X.Y" = "hunter2" }
secret_env = "D_SECRET"
`;
const loaded = accepted({ toml: TOML, env: { POSTERN_LOG__LEVEL: "warn" } });

describe("the dump", () => {
  const dump = dumpConfig(loaded, { showOrigins: true });

  test("says where each value comes from", () => {
    expect(dump).toContain("\nmax_body_bytes = 1000  # postern.toml:3\n");
    expect(dump).toContain('\nlisten = "127.0.0.1:8484"  # default\n');
    expect(dump).toContain('\nlevel = "warn"  # env:POSTERN_LOG__LEVEL\n');
    expect(dump).toContain("\nrate_limit = { requests = 5, per_seconds = 60 }  # postern.toml:19\n");
    expect(dump).toContain("\n# listen_tls is not set\n");
  });

  test("masks every secret", () => {
    expect(dump).not.toContain("hunter2");
    expect(dump).toContain('\nsecret = "********"  # postern.toml:17\n');
    expect(dump).toContain('\nrelay = "smtp://********@mail.example.org:587"');
    expect(dump).toContain('\nproxy = "http://********@proxy.example.org:3128"');
    expect(dump).toContain('\ncallback_url = "https://b.example/in?********"');
    expect(dump).toContain('\nheaders = { x-token = "********", "X.Y" = "********" }');
    expect(dump).toContain('\nsecret_env = "D_SECRET"');
  });

  test("can leave the origins out", () => {
    expect(dumpConfig(loaded, { showOrigins: false })).toContain('\nlevel = "warn"\n');
  });

  test("is a configuration that has the same dump", () => {
    const toml = TOML.replace("me:hunter2@", "").replace("hunter2@", "");
    const once = dumpConfig(accepted({ toml }), { showOrigins: false });
    expect(once).toContain('\nprefix = "a\\u007f\\"b"\n');
    expect(dumpConfig(accepted({ toml: once }), { showOrigins: false })).toBe(once);
  });

  test("of the defaults is a configuration of the defaults", () => {
    const defaults = accepted({});
    const dumped = dumpConfig(defaults, { showOrigins: true });
    expect(dumped).toStartWith("# The effective configuration, from no file,");
    expect(accepted({ toml: dumped }).config).toEqual(defaults.config);
  });

  test("shows no part of a password, whatever characters it has", () => {
    const secret = fc.string({ minLength: 8, maxLength: 30 });
    fc.assert(
      fc.property(secret, (password) => {
        const relay = `smtp://user:${encodeURIComponent(password)}@mail.example.org`;
        const shown = dumpConfig(accepted({ toml: `mail.relay = ${JSON.stringify(relay)}` }), { showOrigins: false });
        expect(shown).toContain('\nrelay = "smtp://********@mail.example.org"\n');
      }),
    );
  });
});
