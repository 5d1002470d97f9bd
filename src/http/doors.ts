import { existsSync, unlinkSync } from "node:fs";
import type { Server } from "bun";
import { type CidrSet, cidrSet } from "../config/cidr.ts";
import { parseListen } from "../config/listen.ts";
import type { Config } from "../config/schema.ts";
import type { Log } from "../kernel/log.ts";
import type { Services } from "../operations/index.ts";
import type { IngestDeps } from "../webhook/index.ts";
import { makeApp } from "./app.ts";
import { type Certificate, type NoCertificate, readCertificate } from "./certificate.ts";
import { type Listening, listen, listenSocket, type ServeDeps } from "./serve.ts";

/** Why the daemon cannot listen, or not with the new settings: a sentence for the operator. */
export type NotListening = { wrong: string };

/** The daemon's listeners: the network, and the operator's socket. */
export type Doors = {
  /** Where the network's listener is, without a slash at the end. */
  url: () => string;
  /**
   * Reads what new settings name, and answers the function that brings them into force. What the operator did wrong
   * is found by the reading, so that a reload either happens whole or not at all.
   */
  renewal: (config: Config) => Promise<(() => void) | NotListening>;
  /** Takes no more connections, ends waits politely, and gives what is in flight `graceMs` to finish. */
  stop: (graceMs: number) => Promise<void>;
};

/** What is in flight is looked at this often while the daemon stops. */
const STOP_STEP_MS = 50;

/** Opens the listeners. `socketPath` is the operator's; its folder must be closed to others. */
export async function openDoors(
  parts: { services: Services; ingest: IngestDeps },
  config: Config,
  socketPath: string,
  log: Log,
): Promise<Doors | NotListening> {
  const address = parseListen(config.http.listen);
  if ("wrong" in address) return { wrong: `http.listen: ${address.wrong}` };
  const certificate = await readCertificate(config);
  if (certificate && "wrong" in certificate) return certificate;
  const network = new Network(address, certificate);
  const live: Live = { proxies: cidrSet(config.http.trusted_proxies), publicUrl: config.public_url };
  const deps = makeDeps(parts, live, network, certificate !== null, log);
  const refused = network.open(deps);
  if (refused)
    return { wrong: `cannot listen on ${config.http.listen} (${refused}): stop what uses it, or set http.listen` };
  const socket = listenSocket(certificate ? makeDeps(parts, live, network, false, log) : deps, socketPath);
  return {
    url: () => network.url,
    renewal: (now) => renewal(now, live, network, parts.ingest, deps),
    async stop(graceMs) {
      await stopServers([...network.servers(), socket], graceMs, () => parts.services.inbox.endWaits());
      if (existsSync(socketPath)) unlinkSync(socketPath);
    },
  };
}

/** The settings that a reload changes under the listeners. */
type Live = { proxies: CidrSet; publicUrl: string | undefined };

function makeDeps(
  { services, ingest }: { services: Services; ingest: IngestDeps },
  live: Live,
  network: Network,
  secure: boolean,
  log: Log,
): ServeDeps {
  const baseUrl = () => live.publicUrl ?? network.url;
  const notReady = async () => ((await services.store.writable()) ? [] : ["the store takes no writes"]);
  const { fetch } = makeApp({ services, ingest, log, baseUrl, notReady, secure });
  return { fetch, log, trustsProxy: (peer) => live.proxies.contains(peer) };
}

async function renewal(
  config: Config,
  live: Live,
  network: Network,
  ingest: IngestDeps,
  deps: ServeDeps,
): Promise<(() => void) | NoCertificate> {
  const certificate = await readCertificate(config);
  if (certificate && "wrong" in certificate) return certificate;
  return () => {
    live.proxies = cidrSet(config.http.trusted_proxies);
    live.publicUrl = config.public_url;
    ingest.maxBodyBytes = config.http.max_body_bytes;
    network.renew(deps, certificate);
  };
}

/** The network's listener. Its certificate changes by a second listener on the same port: Bun keeps a listener's own. */
class Network {
  readonly #address: { host: string; port: number };
  #certificate: Certificate | null;
  #current: Listening | undefined;
  /** Listeners that take no more connections, and finish those they have. */
  readonly #retiring = new Set<Server<unknown>>();

  constructor(address: { host: string; port: number }, certificate: Certificate | null) {
    this.#address = address;
    this.#certificate = certificate;
  }

  get url(): string {
    return this.#current?.url ?? "";
  }

  servers(): Server<unknown>[] {
    return [...this.#retiring, ...(this.#current ? [this.#current.server] : [])];
  }

  /** Begins to listen; answers why it cannot. */
  open(deps: ServeDeps): string | undefined {
    try {
      this.#current = listen(deps, this.#address, this.#certificate);
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  /** With another certificate a second listener takes over; the first finishes what it has. Whether there is TLS at all is settled at the start. */
  renew(deps: ServeDeps, certificate: Certificate | null): void {
    const before = this.#current;
    if (!before || !certificate || !this.#certificate) return;
    if (certificate.cert === this.#certificate.cert && certificate.key === this.#certificate.key) return;
    try {
      this.#current = listen(deps, { ...this.#address, port: before.port }, certificate, "beside");
    } catch (error) {
      deps.log.error("the new certificate is not in force; the former one holds", { error: String(error) });
      return;
    }
    this.#certificate = certificate;
    this.#retiring.add(before.server);
    void before.server.stop().then(() => this.#retiring.delete(before.server));
  }
}

/** Lets servers finish: they are done, or cut off when the time is over. */
async function stopServers(servers: readonly Server<unknown>[], graceMs: number, endWaits: () => void): Promise<void> {
  const finished = Promise.all(servers.map((server) => server.stop())).then(() => true);
  const deadline = performance.now() + graceMs;
  do {
    // Again and again: a wait whose body was still on its way begins late.
    endWaits();
  } while (!(await Promise.race([finished, pause()])) && performance.now() < deadline);
  await Promise.all(servers.map((server) => server.stop(true)));
}

function pause(): Promise<false> {
  // It must not hold the process when all is finished before.
  return new Promise((resolve) => setTimeout(() => resolve(false), STOP_STEP_MS).unref());
}
