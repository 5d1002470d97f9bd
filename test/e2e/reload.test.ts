import { expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:tls";
import { Daemon, type DaemonOptions, startDaemon } from "../support/daemon.ts";
import { describeWith, needsBinary, needsCommand, testWith } from "../support/needs.ts";
import { ServiceManager } from "../support/service-manager.ts";
import { tempDir } from "../support/tmp.ts";

const binary = needsBinary();

/** A daemon with a configuration file that the test writes again. */
async function configured(text: string, options: DaemonOptions = {}) {
  const file = join(tempDir("config"), "postern.toml");
  writeFileSync(file, text);
  const daemon = await startDaemon({ ...options, args: ["--config", file] });
  return {
    daemon,
    /** Writes the file anew and waits until the daemon has said what it made of it. */
    async reload(now: string): Promise<string> {
      writeFileSync(file, now);
      return await reloaded(daemon);
    },
  };
}

async function reloaded(daemon: Daemon): Promise<string> {
  const before = daemon.output.length;
  daemon.signal("SIGHUP");
  const said = () => daemon.output.slice(before);
  while (!/configuration (not )?reloaded/.test(said())) await Bun.sleep(5);
  return said();
}

const source = (name: string) => `
[[projects]]
name = "default"
[[projects.sources]]
name = "${name}"
kind = "unsigned"
channel = "webhook"
`;

async function names(daemon: Daemon): Promise<string[]> {
  const answer = await daemon.operator("/v1/sources");
  return answer.json<{ sources: { name: string }[] }>().sources.map(({ name }) => name);
}

describeWith(binary)("SIGHUP", () => {
  testWith()("brings what the file now declares into force", async () => {
    const { daemon, reload } = await configured(source("first"));
    expect(await names(daemon)).toEqual(["first"]);
    expect(await reload(source("first") + source("second").slice(source("second").indexOf("[[projects.s")))).toContain(
      '"configuration reloaded"',
    );
    expect(await names(daemon)).toEqual(["first", "second"]);
    expect(await daemon.stop()).toBe(0);
  });

  testWith()("leaves the former configuration in force where the new one has an error, and says where", async () => {
    const { daemon, reload } = await configured(source("first"));
    const broken = {
      "no TOML": "[http\n",
      "an unknown key": "[http]\nlisten_on = 1\n",
      "a source's error": source("second").replace("unsigned", "stripee"),
      "a certificate that is not there": '[http]\ntls_cert = "/nowhere/cert.pem"\ntls_key = "/nowhere/key.pem"\n',
    };
    for (const [what, text] of Object.entries(broken)) {
      const said = await reload(text);
      expect(said, what).toContain("configuration not reloaded; the former one holds");
      expect(said, what).toMatch(/postern\.toml:\d+|http\.tls_cert/);
      expect(await names(daemon), what).toEqual(["first"]);
    }
    expect(await daemon.stop()).toBe(0);
  });

  testWith()("names the settings that only the next start reads", async () => {
    const { daemon, reload } = await configured("");
    expect(await reload('[log]\nlevel = "debug"\n')).toContain("takes force with the next start only: log");
    expect(await daemon.stop()).toBe(0);
  });

  testWith()("while the daemon starts or stops it ends nothing", async () => {
    const daemon = await startDaemon();
    const code = daemon.stop();
    for (let i = 0; i < 20; i++) daemon.signal("SIGHUP");
    expect(await code).toBe(0);
  });
});

/** A self-signed certificate for the loopback address, with this common name. */
function certify(folder: string, name: string): void {
  const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  const request = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const files = ["-keyout", key, "-out", cert, "-days", "2", "-subj", `/CN=${name}`];
  const made = Bun.spawnSync(["openssl", ...request, ...files, "-addext", "subjectAltName=IP:127.0.0.1"]);
  if (made.exitCode !== 0) throw new Error(made.stderr.toString());
}

/** The common name of the certificate that a new connection is shown. */
function shown(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.destroy();
    });
    socket.on("error", reject);
  });
}

async function secureDaemon(): Promise<{ daemon: Daemon; folder: string; port: number }> {
  const folder = tempDir("tls");
  certify(folder, "before");
  const daemon = new Daemon({
    env: { POSTERN_HTTP__TLS_CERT: join(folder, "cert.pem"), POSTERN_HTTP__TLS_KEY: join(folder, "key.pem") },
    secure: true,
  });
  await daemon.start();
  return { daemon, folder, port: daemon.port };
}

describeWith(binary, needsCommand("openssl"))("the certificate", () => {
  testWith()("is renewed by SIGHUP for new connections; what is in flight under the old one finishes", async () => {
    const { daemon, folder, port } = await secureDaemon();
    expect(await shown(port)).toBe("before");
    const key = (
      await daemon.operator("/v1/keys", { body: { name: "w", kind: "application", preset: "agent" } })
    ).json<{ key: string }>().key;
    const wait = daemon.api("/v1/inbox/wait", { body: { timeout_seconds: 2 }, key });
    await Bun.sleep(150);
    certify(folder, "after");
    expect(await reloaded(daemon)).toContain('"configuration reloaded"');
    for (let i = 0; i < 10; i++) expect(await shown(port)).toBe("after");
    expect((await wait).json()).toEqual({ event: null });
    expect(await daemon.stop()).toBe(0);
  });

  testWith()("stays the former one where the new one and its key do not belong together", async () => {
    const { daemon, folder, port } = await secureDaemon();
    const other = tempDir("tls");
    certify(other, "other");
    writeFileSync(join(folder, "key.pem"), await Bun.file(join(other, "key.pem")).text());
    const said = await reloaded(daemon);
    expect(said).toContain("the key is not the certificate's");
    expect(said).not.toContain("PRIVATE");
    expect(await shown(port)).toBe("before");
    expect(await daemon.stop()).toBe(0);
  });

  testWith()("does not let a second daemon share the port", async () => {
    const { daemon, folder, port } = await secureDaemon();
    const second = await daemon.run(["serve"], {
      env: {
        POSTERN_DATA_DIR: tempDir("data"),
        POSTERN_HTTP__LISTEN: `127.0.0.1:${port}`,
        POSTERN_HTTP__TLS_CERT: join(folder, "cert.pem"),
        POSTERN_HTTP__TLS_KEY: join(folder, "key.pem"),
      },
    });
    expect(second.code).toBe(1);
    expect(second.stderr).toContain(`cannot listen on 127.0.0.1:${port}`);
    expect(await daemon.stop()).toBe(0);
  });
});

describeWith(binary, needsCommand("python3"))("the service manager", () => {
  testWith()("is told of the start, of a reload and its end, and of the stop, in this order", async () => {
    const manager = await ServiceManager.listen(join(tempDir("notify"), "socket"));
    const daemon = await startDaemon({ env: { NOTIFY_SOCKET: manager.socket } });
    expect((await manager.next()).text).toBe(`READY=1\nSTATUS=listening on ${daemon.url}`);
    expect(await reloaded(daemon)).toContain('"configuration reloaded"');
    expect((await manager.next()).text).toMatch(/^RELOADING=1\nMONOTONIC_USEC=\d+$/);
    expect((await manager.next()).text).toBe("READY=1");
    expect(await daemon.stop()).toBe(0);
    expect((await manager.next()).text).toBe("STOPPING=1");
  });

  testWith()("gets a sign of life at half of its watchdog's time, from the start on", async () => {
    const manager = await ServiceManager.listen(join(tempDir("notify"), "socket"));
    const daemon = await startDaemon({ env: { NOTIFY_SOCKET: manager.socket, WATCHDOG_USEC: "200000" } });
    expect((await manager.next()).text).toStartWith("READY=1");
    for (let i = 0; i < 3; i++) expect((await manager.next()).text).toBe("WATCHDOG=1");
    expect(await daemon.stop()).toBe(0);
  });
});
