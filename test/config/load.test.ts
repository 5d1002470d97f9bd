import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { formatConfigError } from "../../src/config/errors.ts";
import { errorInConfig, isConfigErrors, loadConfig } from "../../src/config/load.ts";
import { tempDir } from "../support/tmp.ts";
import { accepted, refused } from "./setup.ts";

describe("which file", () => {
  const files = {
    "/given.toml": "log.level = 'debug'",
    "/home/me/named.toml": "log.level = 'warn'",
    "/home/me/postern.toml": "log.level = 'error'",
    "/etc/postern/postern.toml": "log.format = 'json'",
  };

  test("--config, then $POSTERN_CONFIG, then ./postern.toml, then /etc/postern/postern.toml, and only one of them", () => {
    const env = { POSTERN_CONFIG: "named.toml" };
    expect(accepted({ files, env, argvPath: "/given.toml" }).config.log.level).toBe("debug");
    expect(accepted({ files, env }).config.log.level).toBe("warn");
    expect(accepted({ files }).config.log).toEqual({ level: "error", format: "auto" });
    const away = accepted({ files, cwd: "/elsewhere" });
    expect(away.config.log).toEqual({ level: "info", format: "json" });
    expect(away.file).toBe("/etc/postern/postern.toml");
    expect(accepted({}).file).toBeNull();
  });

  test("one that is named must be there", () => {
    expect(refused({ argvPath: "nowhere.toml" })).toEqual([
      "nowhere.toml: there is no such file, but --config names it",
    ]);
    expect(refused({ env: { POSTERN_CONFIG: "/x/y.toml" } })).toEqual([
      "/x/y.toml: there is no such file, but $POSTERN_CONFIG names it",
    ]);
    expect(refused({ argvPath: "" })).toEqual(["--config: names no file"]);
    expect(accepted({ env: { POSTERN_CONFIG: "" } }).file).toBeNull();
  });

  test("one that is there but cannot be read is not passed over", () => {
    const cwd = tempDir("config");
    mkdirSync(join(cwd, "postern.toml"));
    const loaded = loadConfig({ env: {}, cwd });
    if (!isConfigErrors(loaded)) throw new Error("accepted");
    expect(loaded.map(formatConfigError)).toEqual(["postern.toml: cannot be read (EISDIR)"]);
  });

  test("it must be UTF-8", () => {
    const cwd = tempDir("config");
    writeFileSync(join(cwd, "postern.toml"), new Uint8Array([0x23, 0xff, 0xfe]));
    const loaded = loadConfig({ env: {}, cwd });
    if (!isConfigErrors(loaded)) throw new Error("accepted");
    expect(loaded.map(formatConfigError)).toEqual(["postern.toml: is not UTF-8 text"]);
  });

  test("a real one is read", () => {
    const cwd = tempDir("config");
    writeFileSync(join(cwd, "postern.toml"), "\ufeff# läuft\n[http]\r\nlisten = 'localhost:1'\r\n");
    const loaded = loadConfig({ env: {}, cwd });
    if (isConfigErrors(loaded)) throw new Error(loaded.map(formatConfigError).join());
    expect(loaded.config.http.listen).toBe("localhost:1");
    expect(loaded.origins.get("http.listen")).toBe("file:3");
  });
});

describe("the environment", () => {
  const env = (variables: Record<string, string>) => accepted({ env: variables }).config;

  test("names a section and a key, in any case, or a key at the top", () => {
    expect(env({ POSTERN_HTTP__LISTEN: "localhost:0" }).http.listen).toBe("localhost:0");
    expect(env({ POSTERN_Http__Max_Body_Bytes: "5" }).http.max_body_bytes).toBe(5);
    expect(env({ POSTERN_DATA_DIR: "/data" }).data_dir).toBe("/data");
    expect(env({ POSTERN_PUBLIC_URL: "https://a.example" }).public_url).toBe("https://a.example");
  });

  test("holds numbers, truths and lists", () => {
    expect(env({ POSTERN_RETENTION__PAYLOAD_DAYS: " 7 " }).retention.payload_days).toBe(7);
    for (const yes of ["true", "1", "YES", "on"])
      expect(env({ POSTERN_SMTP__ANY_DOMAIN: yes }).smtp.any_domain).toBe(true);
    for (const no of ["false", "0", "No", "off"]) expect(env({ POSTERN_SMTP__ENABLED: no }).smtp.enabled).toBe(false);
    expect(env({ POSTERN_DNS__SERVERS: "127.0.0.1:53, ::1," }).dns.servers).toEqual(["127.0.0.1:53", "::1"]);
    expect(env({ POSTERN_DNS__SERVERS: '["9.9.9.9"]' }).dns.servers).toEqual(["9.9.9.9"]);
    expect(env({ POSTERN_LOG__LEVEL: "debug" }).log.level).toBe("debug");
  });

  test("wins over the file, and an empty variable counts as unset", () => {
    const toml = "[http]\nlisten = '127.0.0.1:1'\ntrusted_proxies = ['10.0.0.0/8']";
    const { config } = accepted({
      toml,
      env: { POSTERN_HTTP__LISTEN: "127.0.0.1:2", POSTERN_HTTP__TRUSTED_PROXIES: "[]" },
    });
    expect(config.http).toMatchObject({ listen: "127.0.0.1:2", trusted_proxies: [] });
    expect(accepted({ toml, env: { POSTERN_HTTP__LISTEN: "" } }).config.http.listen).toBe("127.0.0.1:1");
  });

  test.each([
    [{ POSTERN_HTTP__LISEN: "x" }, "POSTERN_HTTP__LISEN: is no setting. Did you mean `POSTERN_HTTP__LISTEN`?"],
    [{ POSTERN_HTPP__LISTEN: "x" }, "POSTERN_HTPP__LISTEN: is no setting. Did you mean `POSTERN_HTTP__LISTEN`?"],
    [{ POSTERN_DNS__WHATEVER: "x" }, "POSTERN_DNS__WHATEVER: is no setting. The keys of [dns] are: servers."],
    [{ POSTERN_DATADIR: "x" }, "POSTERN_DATADIR: is no setting. Did you mean `POSTERN_DATA_DIR`?"],
    [{ POSTERN_HTTP_LISTEN: "x" }, "POSTERN_HTTP_LISTEN: is no setting. Did you mean `POSTERN_HTTP__LISTEN`?"],
    [
      { POSTERN_PROJECTS__0__NAME: "x" },
      "POSTERN_PROJECTS__0__NAME: is no setting: projects are declared in the configuration file only.",
    ],
    [
      { POSTERN_HTTP__MAX_BODY_BYTES: "10M" },
      "POSTERN_HTTP__MAX_BODY_BYTES: http.max_body_bytes: must be a whole number, not a string",
    ],
    [{ POSTERN_SMTP__ENABLED: "maybe" }, "POSTERN_SMTP__ENABLED: smtp.enabled: must be true or false, not a string"],
    [
      { POSTERN_DNS__SERVERS: "1.1.1.1,dns" },
      "POSTERN_DNS__SERVERS: dns.servers.1: must be the IP address of a name server, with a port where it isn't 53: 127.0.0.1:5353 or [::1]:5353",
    ],
    [
      { POSTERN_DNS__SERVERS: "[1" },
      "POSTERN_DNS__SERVERS: dns.servers: must be comma-separated, or a TOML list of strings",
    ],
    [
      { POSTERN_LOG__LEVEL: "info", POSTERN_log__level: "warn" },
      "POSTERN_log__level: log.level: is set by POSTERN_LOG__LEVEL as well; keep one of them",
    ],
    [{ POSTERN_HTTP__TLS_KEY: "/k" }, "POSTERN_HTTP__TLS_KEY: http.tls_key: needs `tls_cert` beside it"],
  ])("a mistake in it is told: %j", (variables: Record<string, string>, error) => {
    expect(refused({ env: variables })).toEqual([error]);
  });

  test("holds others' variables, which are left alone", () => {
    accepted({
      env: {
        POSTERN_URL: "http://x",
        POSTERN_KEY: "pst_app_x",
        POSTERN_PROJECT: "default",
        POSTERN_PORT: "tcp://10.0.0.1:8484",
        POSTERN_SERVICE_HOST: "10.0.0.1",
        HTTP__LISTEN: "x",
      },
    });
  });

  test("holds secrets that the file names, whatever they are called", () => {
    const toml =
      "[[projects]]\nname='a'\n[[projects.sources]]\nname='b'\nchannel='webhook'\nkind='github'\nsecret_env='POSTERN_GITHUB__SECRET'";
    accepted({ toml, env: { POSTERN_GITHUB__SECRET: "x" } });
  });

  test("does not hide that a section of the file is none", () => {
    expect(refused({ toml: "http = 5", env: { POSTERN_HTTP__LISTEN: "127.0.0.1:1" } })).toEqual([
      "postern.toml:1: http: must be a table, not a number",
    ]);
  });
});

describe("paths", () => {
  test("in the file start at its folder, others at the working directory", () => {
    const files = { "/etc/p/p.toml": "data_dir = 'data'\n[http]\ntls_cert = '../c.pem'\ntls_key = '/k.pem'" };
    const { config } = accepted({ files, argvPath: "/etc/p/p.toml", env: { POSTERN_DELIVERY__CA_FILE: "ca.pem" } });
    expect(config.data_dir).toBe("/etc/p/data");
    expect(config.http).toMatchObject({ tls_cert: "/etc/c.pem", tls_key: "/k.pem" });
    expect(config.delivery.ca_file).toBe("/home/me/ca.pem");
  });

  test("the data folder is ./postern-data, or systemd's state folder", () => {
    expect(accepted({}).config.data_dir).toBe("/home/me/postern-data");
    const env = { STATE_DIRECTORY: "/var/lib/postern:/var/lib/other" };
    const loaded = accepted({ env });
    expect(loaded.config.data_dir).toBe("/var/lib/postern");
    expect(loaded.origins.get("data_dir")).toBe("env:STATE_DIRECTORY");
    expect(accepted({ env, toml: "data_dir = '/x'" }).config.data_dir).toBe("/x");
  });

  test("may begin with systemd's folder of credentials, where there is one", () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: written so in the file
    const toml = "http = { tls_cert = '${CREDENTIALS_DIRECTORY}/c', tls_key = '$CREDENTIALS_DIRECTORY/k' }";
    const { config } = accepted({ toml, env: { CREDENTIALS_DIRECTORY: "/run/credentials/p" } });
    expect(config.http).toMatchObject({ tls_cert: "/run/credentials/p/c", tls_key: "/run/credentials/p/k" });
    const errors = refused({ toml });
    expect(errors).toHaveLength(2);
    expect(errors[0]).toMatch(
      /^postern\.toml:1: http\.tls_cert: begins with \$CREDENTIALS_DIRECTORY, which is not set/,
    );
    expect(refused({ toml: "data_dir = '$HOME/x'" })).toEqual([
      "postern.toml:1: data_dir: may begin with $CREDENTIALS_DIRECTORY, but with no other variable",
    ]);
  });
});

describe("origins", () => {
  const toml =
    "[[projects]]\nname = 'a'\n[[projects.sources]]\nname = 'b'\nchannel = 'webhook'\nkind = 'github'\n[log]\nlevel = 'warn'";
  const loaded = accepted({ toml, env: { POSTERN_SMTP__ENABLED: "no" } });

  test("tell for each key where its value comes from", () => {
    expect(loaded.origins.get("log.level")).toBe("file:8");
    expect(loaded.origins.get("log.format")).toBe("default");
    expect(loaded.origins.get("smtp.enabled")).toBe("env:POSTERN_SMTP__ENABLED");
    expect(loaded.origins.get("projects.0.sources.0.kind")).toBe("file:6");
  });

  test("let a feature say where what it refuses stands", () => {
    const at = (path: (string | number)[]) => formatConfigError(errorInConfig(loaded, path, "no"));
    expect(at(["projects", 0, "sources", 0, "kind"])).toBe("postern.toml:6: projects.0.sources.0.kind: no");
    expect(at(["projects", 0, "sources", 0, "secret"])).toBe("postern.toml:3: projects.0.sources.0.secret: no");
    expect(at(["smtp", "enabled"])).toBe("POSTERN_SMTP__ENABLED: smtp.enabled: no");
    expect(at(["http", "listen"])).toBe("postern.toml: http.listen: no");
  });
});
