import { join } from "node:path";
import { type Call, flag, isOn } from "./command.ts";
import type { Finding } from "./doctor-finding.ts";
import { checkCertificate, checkDisk, checkFolder, checkPrivate, checkUser } from "./doctor-machine.ts";
import { pairs } from "./event-view.ts";
import { EXIT } from "./exit.ts";
import { printable } from "./printable.ts";
import { style } from "./table.ts";

const COLOURS = { pass: "32", info: "36", warn: "33", fail: "31" } as const;

/** `postern doctor`: every check with its result, and the fix where there is something to mend; exit 1 where one fails. */
export async function runDoctor(call: Call): Promise<number> {
  const findings: Finding[] = [];
  for await (const finding of checks(call)) findings.push(finding);
  const failed = findings.some(({ level }) => level === "fail");
  if (isOn(call, "json")) call.io.out(`${JSON.stringify({ ok: !failed, checks: findings })}\n`);
  else if (isOn(call, "jsonl")) call.io.out(findings.map((finding) => `${JSON.stringify(finding)}\n`).join(""));
  else for (const finding of findings) call.io.out(lineOf(call, finding));
  return failed ? EXIT.failed : EXIT.done;
}

function lineOf({ io }: Call, { level, name, detail, fix }: Finding): string {
  const title = `${level.slice(0, 1).toUpperCase()}${level.slice(1)}`.padEnd(4);
  const line = `${style(io, COLOURS[level], title)}  ${pairs([[name.padEnd(16), printable(detail)]])}\n`;
  return fix === undefined ? line : `${line}      → ${fix}\n`;
}

async function* checks(call: Call): AsyncGenerator<Finding> {
  const { isConfigErrors, loadConfig } = await import("../config/load.ts");
  const { formatConfigError } = await import("../config/errors.ts");
  const { resolveSecrets } = await import("../config/secrets.ts");
  const { env, cwd } = call.io;
  const loaded = loadConfig({ argvPath: flag(call, "config"), env, cwd });
  const secrets = isConfigErrors(loaded) ? loaded : resolveSecrets(loaded, { env });
  if (isConfigErrors(loaded) || Array.isArray(secrets)) {
    const errors = Array.isArray(secrets) ? secrets : [];
    const detail = errors.map(formatConfigError).join("; ");
    yield { level: "fail", name: "configuration", detail, fix: "`postern help config KEY` explains a key" };
  } else {
    yield { level: "pass", name: "configuration", detail: loaded.file ?? "no file: the defaults" };
    for (const warning of secrets.warnings) yield { level: "warn", name: "secrets", detail: warning };
  }
  yield checkClock();
  yield checkUser();
  if (isConfigErrors(loaded)) return;
  const dir = loaded.config.data_dir;
  const folder = checkFolder(dir);
  yield folder;
  yield checkDisk(dir);
  if (folder.level !== "info") {
    for (const file of ["master.key", "postern.db", "postern.sock"]) yield* checkPrivate(join(dir, file));
    yield await checkDaemon(dir);
  }
  yield* checkOpenness(loaded.config);
  const { tls_cert } = loaded.config.http;
  if (tls_cert !== undefined) yield checkCertificate(tls_cert, Date.now());
}

/** A clock that is far off refuses every signature with a timestamp. */
function checkClock(): Finding {
  const now = new Date();
  const detail = now.toISOString();
  if (now.getUTCFullYear() >= 2026) return { level: "pass", name: "clock", detail };
  return { level: "fail", name: "clock", detail, fix: "set it, and keep it by NTP: `timedatectl set-ntp true`" };
}

async function checkDaemon(dir: string): Promise<Finding> {
  const { reach } = await import("./client.ts");
  const { CliError } = await import("./exit.ts");
  const socket = join(dir, "postern.sock");
  try {
    const response = await reach(
      { base: "http://localhost", socket, key: undefined, project: undefined },
      "GET",
      "/readyz",
      {
        signal: AbortSignal.timeout(5000),
      },
    );
    const text = await response.text();
    if (response.ok) return { level: "pass", name: "daemon", detail: "it runs and is ready" };
    return { level: "fail", name: "daemon", detail: text.slice(0, 300), fix: "see its log: `journalctl -u postern`" };
  } catch (error) {
    if (error instanceof CliError)
      return { level: "warn", name: "daemon", detail: error.message, fix: "start it: `postern serve`" };
    if (!(error instanceof Error)) throw error;
    return {
      level: "fail",
      name: "daemon",
      detail: "it did not answer within 5 s",
      fix: "see its log: `journalctl -u postern`",
    };
  }
}

type Openness = {
  public_url?: string | undefined;
  http: { listen: string; tls_cert?: string | undefined; trusted_proxies: readonly string[] };
};

/** What to mind once more than this machine can reach it. */
async function* checkOpenness({ public_url, http }: Openness): AsyncGenerator<Finding> {
  const { isLoopback, parseListen } = await import("../config/listen.ts");
  const address = parseListen(http.listen);
  if ("wrong" in address) return;
  if (isLoopback(address.host)) {
    const detail = `${http.listen}: this machine only, by this shell's configuration`;
    yield { level: "pass", name: "http.listen", detail };
    if (public_url === undefined) {
      const fix = "for webhooks from outside put a reverse proxy in front, and set public_url";
      yield { level: "info", name: "public_url", detail: "not set: links begin with the listen address", fix };
    }
    return;
  }
  yield {
    level: "info",
    name: "http.listen",
    detail: `${http.listen}: open to the network, by this shell's configuration`,
  };
  yield public_url === undefined
    ? {
        level: "warn",
        name: "public_url",
        detail: "not set, though it is open to the network",
        fix: "set public_url to the URL that the outside world uses",
      }
    : { level: "pass", name: "public_url", detail: public_url };
  if (http.tls_cert !== undefined) return;
  const proxied = http.trusted_proxies.length > 0;
  yield proxied
    ? { level: "info", name: "TLS", detail: "none here: the trusted proxies have to do it" }
    : {
        level: "warn",
        name: "TLS",
        detail: "none: keys and payloads go readable over the network",
        fix: "set http.tls_cert and http.tls_key, or listen on 127.0.0.1 behind a reverse proxy",
      };
}
