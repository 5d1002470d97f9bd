import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { formatConfigError } from "../../src/config/errors.ts";
import { load, refused } from "./setup.ts";

describe("an unknown key", () => {
  test("is told with its line and the nearest right one", () => {
    expect(refused({ toml: '# the door\n[http]\n\nlisen = "127.0.0.1:1"\n' })).toEqual([
      "postern.toml:4: http.lisen: unknown key. Did you mean `listen`?",
    ]);
  });

  test("in the wrong section is told where it belongs", () => {
    expect(refused({ toml: "[smtp]\nmax_body_bytes = 5" })).toEqual([
      "postern.toml:2: smtp.max_body_bytes: unknown key. `max_body_bytes` belongs in [http].",
    ]);
    expect(refused({ toml: '[log]\nlevel = "info"\npublic_url = "https://a.example"' })).toEqual([
      "postern.toml:3: log.public_url: unknown key. `public_url` belongs in the top of the file, above the first section.",
    ]);
    expect(refused({ toml: "tls_cert = 'x'" })).toEqual([
      "postern.toml:1: tls_cert: unknown key. `tls_cert` belongs in [http] or [smtp].",
    ]);
  });

  test("with nothing near it is told what there is", () => {
    expect(refused({ toml: "[requests]\nwhatever = 1" })).toEqual([
      "postern.toml:2: requests.whatever: unknown key. The keys here are: deciders.",
    ]);
  });

  test("may be a section, found by its header", () => {
    expect(refused({ toml: '\n\n[htpp]\nlisten = "127.0.0.1:1"' })).toEqual([
      "postern.toml:3: htpp: unknown section. Did you mean `http`?",
    ]);
  });

  test("in the second of several tables is told with that table's line", () => {
    const toml = [
      "[[projects]]",
      'name = "a"',
      "[[projects.sources]]",
      'name = "one"',
      'channel = "webhook"',
      'kind = "github"',
      "[[projects.sources]]",
      'name = "two"',
      'chanel = "webhook"',
      'kind = "github"',
      "[[projects]]",
      'name = "b"',
      "[[projects.sources]]",
      'name = "three"',
      "channel = 'webhook'",
      "kind = 'github'",
      "rate_limit = { requests = 5, per_second = 1 }",
    ].join("\n");
    expect(refused({ toml })).toEqual([
      "postern.toml:7: projects.0.sources.1.channel: is missing; it must be webhook or email.",
      "postern.toml:9: projects.0.sources.1.chanel: unknown key. Did you mean `channel`?",
      "postern.toml:17: projects.1.sources.0.rate_limit.per_seconds: is missing",
      "postern.toml:17: projects.1.sources.0.rate_limit.per_second: unknown key. Did you mean `per_seconds`?",
    ]);
  });

  test("with control characters does not reach the terminal as they are", () => {
    expect(refused({ toml: '[log]\n"\\u001b[2J" = 1' }).join()).toContain('"\\u001b[2J"');
    expect(formatConfigError({ file: "a\u001bb", line: 0, key: "", message: "m" })).toBe("a\\u001bb: m");
  });
});

describe("a value of the wrong type", () => {
  test.each([
    ["[http]\nlisten = 8484", "postern.toml:2: http.listen: must be a string, not a number"],
    ['[http]\nmax_body_bytes = "10 MiB"', "postern.toml:2: http.max_body_bytes: must be a whole number, not a string"],
    ["[http]\nmax_body_bytes = 1.5", "postern.toml:2: http.max_body_bytes: must be a whole number"],
    ["[http]\nmax_body_bytes = nan", "postern.toml:2: http.max_body_bytes: must be a whole number, not a number"],
    ['[smtp]\nenabled = "yes"', "postern.toml:2: smtp.enabled: must be true or false, not a string"],
    [
      '[http]\ntrusted_proxies = "10.0.0.0/8"',
      "postern.toml:2: http.trusted_proxies: must be a list in brackets, not a string",
    ],
    ["[dns]\nservers = [\n  '127.0.0.1',\n  53,\n]", "postern.toml:4: dns.servers.1: must be a string, not a number"],
    ["log = 'debug'", "postern.toml:1: log: must be a table, not a string"],
    ["data_dir = 1979-05-27", "postern.toml:1: data_dir: must be a string, not a date"],
    ["[projects]\nname = 'a'", "postern.toml:1: projects: must be a list in brackets, not a table"],
    ["[smtp]\ndmarc = 'enforced'", "postern.toml:2: smtp.dmarc: must be mark or enforce. Did you mean `enforce`?"],
    ["[log]\nlevel = 3", "postern.toml:2: log.level: must be debug, info, warn or error."],
  ])("%j", (toml, error) => {
    expect(refused({ toml })).toEqual([error]);
  });
});

test("every error is told, in the order of the lines", () => {
  const toml = [
    "[smtp]",
    "any_domain = true",
    'listen = "0.0.0.0:25"',
    "enabled = 1",
    "max_message_bytes = 0.5",
    "[http]",
    'tls_cert = "cert.pem"',
    "max_body_bytes = 0",
    "bogus = true",
  ].join("\n");
  expect(refused({ toml, env: { POSTERN_LOG__LEVEL: "loud" } })).toEqual([
    "postern.toml:2: smtp.any_domain: is for loopback listeners only, since it takes mail for every domain",
    "postern.toml:4: smtp.enabled: must be true or false, not a number",
    "postern.toml:5: smtp.max_message_bytes: must be a whole number",
    "postern.toml:7: http.tls_cert: needs `tls_key` beside it",
    "postern.toml:8: http.max_body_bytes: must be from 1 to 1073741824",
    "postern.toml:9: http.bogus: unknown key. The keys here are: listen, tls_cert, tls_key, max_body_bytes, trusted_proxies.",
    "POSTERN_LOG__LEVEL: log.level: must be debug, info, warn or error.",
  ]);
});

describe("text that is no TOML", () => {
  test("is told with line and column, and without the text around it", () => {
    const [error] = refused({ toml: '[[projects]]\nname = "a"\nsecret = "s3cr3t"\noops oops\n' });
    expect(error).toMatch(/^postern\.toml:4:\d+: not valid TOML: /);
    expect(error).not.toContain("s3cr3t");
    expect(error).not.toContain("\n");
  });

  test.each(["__proto__ = 1", "[constructor]\na = 1", "http.__proto__.listen = 'x'"])("%j is refused", (toml) => {
    expect(refused({ toml })[0]).toMatch(/^postern\.toml:1:\d+: not valid TOML: document contains an unsafe property$/);
  });
});

describe("an error never holds a value", () => {
  const secret = fc.stringMatching(/^[A-Za-z0-9+/]{12,40}$/);
  /** Places where a secret stands rightly or by mistake, all of them in documents that are refused. */
  const places: ((secret: string) => { toml?: string; env?: Record<string, string> })[] = [
    (s) => ({ toml: `secret = "${s}"` }),
    (s) => ({ toml: `public_url = "https://user:${s}@a.example/"` }),
    (s) => ({ toml: `[http]\nlisten = "${s}"\ntls_cert = "${s}"\ntrusted_proxies = ["${s}"]` }),
    (s) => ({ toml: `[http]\nlisten = "127.0.0.1:1"\nlisten = "${s}"` }),
    (s) => ({ toml: `[smtp]\ndmarc = "${s}"\ndomain = "-${s}"\npostmaster = "A${s}"` }),
    (s) => ({ toml: `[mail]\nfrom = "${s}"\nrelay = "smtp://u:${s}@:99999"` }),
    (s) => ({ toml: `[delivery]\nproxy = "ftp://u:${s}@a.example"\nheader_prefix = "${s}/"` }),
    (s) => ({ toml: `[requests]\ndeciders = ["${s}"]\n[dns]\nservers = ["${s}"]` }),
    (s) => ({ toml: `[log]\nlevel = "${s}"\nformat = ["${s}"]` }),
    (s) => ({ toml: `secret = ${s}` }),
    (s) => ({ toml: `[[projects]]\nname = "a"\n[[projects.sources]]\nsecret = "${s}"\nsecret_env = "X"\nname = 5` }),
    (s) => ({ toml: `[[projects]]\nname = "A${s}"\n[[projects.sources]]\nsecret = "${s}\nname = "x"` }),
    (s) => ({
      toml: `[[projects]]\nname = "a"\n[[projects.sources]]\nsecret = ["${s}"]\nkind = "/${s}"\nheader = "${s}:"`,
    }),
    (s) => ({
      toml: `[[projects]]\nname = "a"\n[[projects.routes]]\nname = "b"\ncallback_url = "ftp://${s}"\nheaders = { token = "${s}\\u0001", "a b" = "${s}" }`,
    }),
    (s) => ({
      env: {
        POSTERN_HTTP__LISTEN: s,
        POSTERN_LOG__LEVEL: s,
        POSTERN_SMTP__ENABLED: s,
        POSTERN_RETENTION__PAYLOAD_DAYS: s,
      },
    }),
    (s) => ({ env: { POSTERN_HTTP__TRUSTED_PROXIES: `["${s}", ]]`, POSTERN_HTTP__NOTHING: s, POSTERN_DATADIR: s } }),
  ];
  test.each(places.map((place, index) => [index, place] as const))("place %i", (_, place) => {
    fc.assert(
      fc.property(secret, (s) => {
        const loaded = load(place(s));
        if (!Array.isArray(loaded)) throw new Error("accepted");
        expect(JSON.stringify(loaded)).not.toContain(s);
      }),
      { numRuns: 50 },
    );
  });
});
