import { beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Daemon, postern } from "../support/daemon.ts";
import { describeWith, needsBinary } from "../support/needs.ts";
import { tempDir } from "../support/tmp.ts";
import { type Bed, makeBed, type OpenApi, raw, refused } from "./bed.ts";

const binary = needsBinary();

describeWith(binary)("what a running daemon shows (contract, section 13)", () => {
  let bed: Bed;

  beforeAll(async () => {
    bed = await makeBed({ env: { POSTERN_LOG__LEVEL: "debug" } });
  });

  test("the first start says where it listens, where its data lies and what to try next", async () => {
    expect(bed.daemon.output).toContain(`listens on ${bed.daemon.url}`);
    expect(bed.daemon.output).toContain(bed.daemon.dataDir);
    const next = /^ {2}(?:\S*\/)?postern (.+)$/m.exec(bed.daemon.output)?.[1] ?? "";
    const made = await bed.daemon.run(next.split(" "));
    expect({ code: made.code, stderr: made.stderr }).toEqual({ code: 0, stderr: "" });
    expect(made.stdout).toContain(`${bed.daemon.url}/in/`);
  });

  test("healthz, readyz and metrics answer without a key", async () => {
    for (const path of ["/healthz", "/readyz"]) expect((await bed.daemon.api(path)).status).toBe(200);
    const metrics = await bed.daemon.api("/metrics");
    expect(metrics.headers.get("content-type")).toStartWith("text/plain; version=0.0.4");
    for (const line of metrics.text.trimEnd().split("\n")) {
      expect(line).toMatch(
        /^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{([a-z_]+="[^"\\\n]*",?)+\})? -?\d+(\.\d+)?(e[+-]\d+)?)$/,
      );
    }
  });

  test("/openapi.json is OpenAPI 3.1 that stands for itself, and lists every route", async () => {
    const { text, headers } = await bed.daemon.api("/openapi.json");
    expect(headers.get("content-type")).toBe("application/json");
    const doc = JSON.parse(text) as OpenApi;
    expect(doc.openapi).toMatch(/^3\.1\.\d+$/);
    for (const [, ref = ""] of text.matchAll(/"\$ref":"([^"]+)"/g)) {
      const found = ref
        .slice(2)
        .split("/")
        .reduce<unknown>((inner, key) => (inner as Record<string, unknown> | undefined)?.[key], doc);
      expect({ ref, found: found !== undefined }).toEqual({ ref, found: true });
    }
    const ids = Object.values(doc.paths).flatMap((methods) =>
      Object.values(methods).flatMap((one) => one.operationId ?? []),
    );
    expect(new Set(ids).size).toBe(ids.length);
    for (const [path, methods] of Object.entries(doc.paths)) {
      const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
      for (const [method, operation] of Object.entries(methods)) {
        expect(method).toMatch(/^(get|put|post|patch|delete)$/);
        const { parameters = [] } = operation as unknown as {
          parameters?: { in: string; name: string; required: boolean }[];
        };
        const inPath = parameters.filter((one) => one.in === "path");
        expect({ path, names: inPath.map(({ name }) => name) }).toEqual({ path, names });
        for (const one of inPath) expect(one.required).toBe(true);
        expect(Object.keys(operation.responses).length).toBeGreaterThan(0);
        const concrete = path.replaceAll(/\{\w+\}/g, "x");
        const answer = await bed.daemon.api(concrete, { method: method.toUpperCase() });
        expect({ path, method, status: answer.status }).not.toEqual({ path, method, status: 405 });
      }
    }
    for (const path of [
      "/v1/inbox",
      "/v1/inbox/wait",
      "/v1/inbox/claim",
      "/v1/inbox/settle",
      "/v1/inbox/requeue",
      ...["claim", "ack", "nack", "extend", "release", "requeue", "purge", "history", "payload"].map(
        (verb) => `/v1/events/{id}/${verb}`,
      ),
      "/v1/events/{id}",
      "/v1/stream",
      "/v1/sources",
      "/v1/sources/{id}",
      ...["rotate-secret", "rotate-url", "pause", "resume", "rejections"].map((verb) => `/v1/sources/{id}/${verb}`),
      "/v1/keys",
      "/v1/keys/{id}",
      ...["freeze", "thaw", "contain", "lift", "revoke"].map((verb) => `/v1/keys/{id}/${verb}`),
      "/v1/projects",
      "/v1/projects/{id}",
      "/in/{token}",
      "/healthz",
      "/readyz",
      "/metrics",
    ]) {
      expect(Object.keys(doc.paths)).toContain(path);
    }
  });

  test("/docs is for people, and loads nothing from elsewhere", async () => {
    const docs = await bed.daemon.api("/docs");
    expect(docs.headers.get("content-type")).toStartWith("text/html");
    expect(docs.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(docs.text).not.toMatch(/(?:src|href|action)\s*=\s*["']?(?:https?:)?\/\/|@import|url\(|<script/i);
    expect(docs.text).toContain("/v1/inbox/claim");
  });

  test("a second daemon on the same folder is refused in a sentence, and the first goes on", async () => {
    const second = await postern(["serve"], {
      dataDir: bed.daemon.dataDir,
      env: { POSTERN_HTTP__LISTEN: "127.0.0.1:0" },
    });
    expect(second.code).toBe(1);
    expect(second.stderr).toMatch(/already|another|in use|running/i);
    expect(second.stderr).toContain(bed.daemon.dataDir);
    expect(second.stderr).not.toMatch(/\n\s+at /);
    expect((await bed.get("/v1/inbox")).status).toBe(200);
  });

  test("no token or secret stands in the log or on disk in clear; files are closed to others", async () => {
    const secret = "a-secret-that-nobody-guesses-0123456789";
    const source = await bed.source({ kind: "github", secret });
    const made = await bed.source({ kind: "hmac_sha256" });
    const rotated = await bed.post(`/v1/sources/${source.id}/rotate-secret`);
    const key = await bed.key();
    const big = await bed.source();
    await bed.event(big, "x".repeat(300_000), { authorization: "Bearer private-header-value" });
    await bed.send(source, "{}", { "x-hub-signature-256": `sha256=${"ab".repeat(32)}` });
    await bed.get("/v1/inbox", key.key);
    await bed.get(`/v1/sources/${source.id}/rejections`);
    const hidden = [
      secret,
      made.secret ?? "",
      rotated.json<{ secret: string }>().secret,
      key.key,
      key.key.slice(8),
      source.path.slice(4),
      big.path.slice(4),
      "private-header-value",
      "ab".repeat(32),
    ];
    for (const text of hidden) expect(text.length).toBeGreaterThan(15);
    for (const text of hidden) expect(bed.daemon.output).not.toContain(text);
    const files = readdirSync(bed.daemon.dataDir, { recursive: true, withFileTypes: true });
    expect(files.length).toBeGreaterThan(3);
    expect(statSync(bed.daemon.dataDir).mode & 0o777).toBe(0o700);
    for (const file of files) {
      const path = join(file.parentPath, file.name);
      expect({ path, mode: statSync(path).mode & 0o077 }).toEqual({ path, mode: 0 });
      if (!file.isFile()) continue;
      const bytes = readFileSync(path);
      for (const text of hidden) expect({ path, clear: bytes.includes(text) }).toEqual({ path, clear: false });
    }
  });

  test("a client that never ends its request holds up neither others nor the stop", async () => {
    const hanging = raw(bed.daemon.port, ["POST /v1/inbox/claim HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{"], {
      untilMs: 15_000,
    });
    expect((await bed.get("/v1/inbox")).status).toBe(200);
    expect(await bed.daemon.stop()).toBe(0);
    await hanging;
    await bed.daemon.start();
  });
});

describeWith(binary)("configuration at the start (contract, section 13)", () => {
  const serve = async (text: string, env: Record<string, string> = {}) => {
    const file = join(tempDir("config"), "postern.toml");
    writeFileSync(file, text);
    return { file, ...(await postern(["serve", "--config", file], { env })) };
  };

  const declared = '[[projects]]\nname = "default"\n[[projects.sources]]\nchannel = "webhook"\n';

  test("an unknown key, a wrong type and an impossible value say file, line, key and the nearest right one", async () => {
    for (const [text, line, ...said] of [
      ['[http]\nlistne = "127.0.0.1:0"', 2, "http.listne", "listen"],
      ["[htpp]\n", 1, "htpp", "http"],
      ['[http]\n\nmax_body_bytes = "much"', 3, "http.max_body_bytes"],
      ["[http]\nmax_body_bytes = -1", 2, "http.max_body_bytes"],
      ['[log]\nlevel = "chatty"', 2, "log.level"],
      ["[http\n", 1],
      [`${declared}name = "postern"\nkind = "unsigned"`, 5, "postern"],
      [`${declared}name = "a"\nkind = "githbu"`, 6, "kind", "github"],
      [
        '[[projects]]\nname = "default"\n[[projects.routes]]\nname = "out"\ncallback_url = "https://example.org/"',
        4,
        "routes",
      ],
    ] as const) {
      const { file, code, stderr } = await serve(text);
      expect({ text, code }).toEqual({ text, code: 1 });
      expect(stderr).toContain(`${file}:${line}`);
      for (const part of said) expect(stderr).toContain(part);
      expect(stderr).not.toMatch(/\n\s+at /);
    }
    const { code, stderr } = await serve("", { POSTERN_HTTP__LISTNE: "x" });
    expect(code).toBe(1);
    expect(stderr).toContain("POSTERN_HTTP__LISTNE");
  });

  test("what the file declares is made, marked and read-only elsewhere; no longer declared it is free again", async () => {
    const folder = tempDir("declared");
    const file = join(folder, "postern.toml");
    const secretFile = join(folder, "secret");
    writeFileSync(secretFile, "from-a-file\n", { mode: 0o600 });
    const declare = (sources: string) =>
      writeFileSync(file, `[[projects]]\nname = "shop"\ntitle = "The shop"\n${sources}`);
    const one = (name: string, more = "") =>
      `[[projects.sources]]\nname = "${name}"\nchannel = "webhook"\nkind = "github"\n${more}`;
    declare(one("hub", 'secret_env = "HUB_SECRET"\n') + one("file", `secret_file = "${secretFile}"\ndedup = "none"\n`));
    const daemon = new Daemon({ args: ["--config", file], env: { HUB_SECRET: "from-the-environment" } });
    await daemon.start();
    type Listed = { sources: { id: string; name: string; managed: string; settings: { dedup: string } }[] };
    const list = async () => (await daemon.operator("/v1/sources?project=shop")).json<Listed>().sources;
    const [hub, fromFile] = await list();
    expect([hub?.name, hub?.managed, fromFile?.settings.dedup]).toEqual(["hub", "config", "none"]);
    const project = await daemon.operator("/v1/projects/shop");
    expect(project.json()).toMatchObject({ slug: "shop", name: "The shop", managed: "config" });
    const path = `/v1/sources/${hub?.id}`;
    for (const [method, where, body] of [
      ["PATCH", path, { name: "other" }],
      ["DELETE", path, undefined],
      ["POST", `${path}/rotate-secret`, {}],
      ["POST", `${path}/rotate-url`, {}],
      ["POST", `${path}/pause`, {}],
      ["PATCH", "/v1/projects/shop", { name: "other" }],
      ["DELETE", "/v1/projects/shop", undefined],
    ] as const) {
      const options = { method, ...(body === undefined ? {} : { body }) };
      refused(await daemon.operator(`${where}?project=shop`, options), 409, "MANAGED_BY_CONFIG");
    }
    const before = hub?.id;
    declare(one("hub", 'secret_env = "HUB_SECRET"\ndedup = "id"\n'));
    await daemon.restart();
    const after = await list();
    expect(after.map(({ id, name, managed }) => [id === before, name, managed])).toEqual([
      [true, "hub", "config"],
      [false, "file", "api"],
    ]);
    expect(after[0]?.settings.dedup).toBe("id");
    const freed = await daemon.operator(`/v1/sources/${after[1]?.id}?project=shop`, { method: "DELETE" });
    expect(freed.status).toBe(204);
    expect(await daemon.stop()).toBe(0);
    expect(daemon.output).not.toContain("from-the-environment");
  });
});
