import { type ConfigError, formatConfigError } from "./config/errors.ts";
import { errorInConfig, isConfigErrors, type LoadedConfig, type LoadOptions, loadConfig } from "./config/load.ts";
import type { Config } from "./config/schema.ts";
import { resolveSecrets } from "./config/secrets.ts";
import { type Doors, openDoors } from "./http/index.ts";
import { Keys, Projects } from "./identity/index.ts";
import { Inbox, Links, type Retainer, startRetention, Tallies } from "./inbox/index.ts";
import { type Clock, systemClock } from "./kernel/clock.ts";
import { endOnBugs, outliveTheLog, takeSignals } from "./kernel/lifetime.ts";
import { type Log, makeLog } from "./kernel/log.ts";
import { notifyReady, notifyReloading, notifyStopping, notifyWatchdog, watchdogIntervalMs } from "./kernel/notify.ts";
import { Vault } from "./kernel/secrets.ts";
import { VERSION } from "./kernel/version.ts";
import { applyDeclared } from "./operations/declared.ts";
import type { Services } from "./operations/index.ts";
import { fileBlobs } from "./store/blobs.ts";
import { type DataFolder, openDataFolder } from "./store/data-folder.ts";
import { openSqliteStore } from "./store/sqlite/sqlite-store.ts";
import { type IngestDeps, Rejections, Sources } from "./webhook/index.ts";

/** Why the daemon does not start; the text is for the operator. */
export class StartRefusal extends Error {}

/** What is in flight when the daemon stops has this long to finish (contract, section 13). */
const STOP_MS = 10_000;

export type Parts = { services: Services; ingest: IngestDeps; close: () => Promise<void> };

/** Opens the store and puts the features together; what a test or a bench drives without a listener. */
export async function assemble(
  folder: DataFolder,
  options: { clock?: (lastGate: number) => Clock; maxBodyBytes: number },
): Promise<Parts> {
  const store = await openSqliteStore({ dataDir: folder.dir, clock: options.clock ?? systemClock });
  const { clock } = store;
  const blobs = fileBlobs(folder.blobs, () => store.refusal());
  const vault = new Vault(folder.masterKey);
  const projects = new Projects(store.projects, clock);
  const keys = new Keys(store.keys, clock);
  const sources = new Sources(store.sources, clock, vault);
  const refused = await projects.load();
  if (refused) throw new StartRefusal(refused.detail);
  await keys.load();
  await sources.load();
  const inbox = new Inbox(store, clock);
  const rejections = new Rejections(store.sources, clock);
  keys.onLost((key) => void inbox.dismiss(key.id));
  projects.onGone((id, gone) => {
    sources.forget(id);
    keys.forget(id);
    void blobs.delete(gone);
  });
  const counters = { accepted: 0, duplicates: 0, rejected: 0 };
  const tallies = new Tallies(store, () => clock.gate());
  const links = new Links(vault, clock);
  const services = { clock, store, blobs, projects, keys, sources, rejections, inbox, links, tallies, counters };
  const ingest = {
    sources,
    events: store.events,
    blobs,
    rejections,
    clock,
    maxBodyBytes: options.maxBodyBytes,
    counters,
  };
  return {
    services,
    ingest,
    async close() {
      inbox.close();
      await rejections.flush();
      await store.close();
    },
  };
}

/** `postern serve`: runs until SIGTERM or SIGINT. Throws `StartRefusal` or `StoreRefusal` where it may not start. */
export async function serve(load: LoadOptions): Promise<void> {
  const lifetime = takeSignals();
  const loaded = configured(loadConfig(load));
  const { config } = loaded;
  const log = makeLog({
    level: config.log.level,
    format: logFormat(config),
    write: (line) => process.stderr.write(line),
  });
  endOnBugs(log);
  outliveTheLog();
  const folder = openDataFolder(config.data_dir);
  const parts = await assemble(folder, { maxBodyBytes: config.http.max_body_bytes });
  await declare(parts.services, loaded, load, log);
  const upkeep = startRetention(parts.services, config.retention, log);
  await upkeep.begun;
  const doors = await openDoors(parts, config, folder.socket, log);
  if ("wrong" in doors) throw new StartRefusal(doors.wrong);
  greet(parts.services, doors.url(), folder, config);
  notifyReady(`listening on ${doors.url()}`);
  const watchdog = keepWatchdog();
  let current = config;
  lifetime.onReload(async () => {
    current = await reload(parts.services, { load, doors, upkeep, current, log });
  });
  await lifetime.stopped;
  notifyStopping();
  log.info("stopping", { grace_seconds: STOP_MS / 1000 });
  clearInterval(watchdog);
  upkeep.stop();
  await doors.stop(STOP_MS);
  await parts.close();
  log.info("stopped");
}

function configured(loaded: LoadedConfig | ConfigError[]): LoadedConfig {
  if (isConfigErrors(loaded)) throw new StartRefusal(loaded.map(formatConfigError).join("\n"));
  return loaded;
}

function logFormat({ log }: Config): "text" | "json" {
  if (log.format !== "auto") return log.format;
  return process.stderr.isTTY ? "text" : "json";
}

/** Creates and updates what the file declares; an error stops a start and leaves a reload as it was. */
async function declare(services: Services, loaded: LoadedConfig, load: LoadOptions, log: Log): Promise<void> {
  const resolved = resolveSecrets(loaded, { env: load.env });
  if (Array.isArray(resolved)) throw new StartRefusal(resolved.map(formatConfigError).join("\n"));
  for (const warning of resolved.warnings) log.warn(warning);
  const errors = await applyDeclared(services, loaded.config.projects, resolved.secrets);
  if (errors.length === 0) return;
  const lines = errors.map(({ path, message }) => formatConfigError(errorInConfig(loaded, path, message)));
  throw new StartRefusal(lines.join("\n"));
}

type Reload = { load: LoadOptions; doors: Doors; upkeep: Retainer; current: Config; log: Log };

/** SIGHUP: reads the configuration again. Answers the one in force: where the new one has an error, the former. */
async function reload(services: Services, { load, doors, upkeep, current, log }: Reload): Promise<Config> {
  notifyReloading();
  try {
    const loaded = configured(loadConfig(load));
    const renew = await doors.renewal(loaded.config);
    if ("wrong" in renew) throw new StartRefusal(renew.wrong);
    await declare(services, loaded, load, log);
    renew();
    upkeep.follow(loaded.config.retention);
    const later = needsRestart(current, loaded.config);
    if (later.length > 0) log.warn(`takes force with the next start only: ${later.join(", ")}`);
    log.info("configuration reloaded", { file: loaded.file });
    return loaded.config;
  } catch (error) {
    if (!(error instanceof StartRefusal)) throw error;
    log.error("configuration not reloaded; the former one holds", { why: error.message });
    return current;
  } finally {
    notifyReady();
  }
}

/** The settings that changed and are read at the start alone. */
function needsRestart(before: Config, after: Config): string[] {
  const changed = (a: unknown, b: unknown) => JSON.stringify(a) !== JSON.stringify(b);
  const tls = ({ http }: Config) => http.tls_cert !== undefined;
  return [
    ...(changed(before.data_dir, after.data_dir) ? ["data_dir"] : []),
    ...(changed(before.http.listen, after.http.listen) ? ["http.listen"] : []),
    ...(tls(before) !== tls(after) ? ["http.tls_cert and http.tls_key, which were set or taken away"] : []),
    ...(changed(before.log, after.log) ? ["log"] : []),
  ];
}

function keepWatchdog(): ReturnType<typeof setInterval> | undefined {
  const interval = watchdogIntervalMs();
  return interval === undefined ? undefined : setInterval(() => notifyWatchdog(), interval);
}

/** Where it listens, and on a first start the next command to try. */
function greet(services: Services, url: string, folder: DataFolder, config: Config): void {
  const lines = [`postern ${VERSION} listens on ${url}`, `data folder: ${folder.dir}`];
  if (config.public_url) lines.push(`public URL: ${config.public_url}`);
  const empty = services.projects.list().every(({ id }) => services.sources.list(id).length === 0);
  if (empty) {
    lines.push(
      "",
      "Next: make a source, and send something to the URL it prints:",
      `  ${Bun.which("postern") ? "postern" : process.execPath} sources create --name hello --kind unsigned`,
    );
  }
  process.stdout.write(`${lines.join("\n")}\n`);
}
