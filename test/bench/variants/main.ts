/**
 * Postern's own server with another store behind its way in, to show what the store costs and what the shared commit
 * gains: `main.ts none` accepts and keeps nothing; `main.ts apart` commits each event by itself. All else is the product's.
 */

import { assemble } from "../../../src/daemon.ts";
import { listen, listenSocket, makeApp } from "../../../src/http/index.ts";
import { newId } from "../../../src/kernel/ids.ts";
import { makeLog } from "../../../src/kernel/log.ts";
import { openDataFolder } from "../../../src/store/data-folder.ts";
import type { EventStore } from "../../../src/store/store.ts";

const MAX_BODY_BYTES = 10 * 1024 * 1024;

type Accept = EventStore["accept"];

/** Takes every event and keeps none. */
const keepsNothing: Accept = async () => ({ id: newId("evt", Date.now()), duplicate: false });

/** Hands the writer the next event when the one before is on disk, so that each has a commit of its own. */
function oneByOne(accept: Accept): Accept {
  let last: Promise<unknown> = Promise.resolve();
  return (event) => {
    const accepted = last.then(() => accept(event));
    last = accepted;
    return accepted;
  };
}

const [variant = ""] = process.argv.slice(2);
const folder = openDataFolder(process.env.POSTERN_DATA_DIR ?? "");
const port = Number(process.env.POSTERN_HTTP__LISTEN?.split(":")[1]);
const { services, ingest, close } = await assemble(folder, { maxBodyBytes: MAX_BODY_BYTES });
const accept = variant === "none" ? keepsNothing : oneByOne(ingest.events.accept);
const log = makeLog({ level: "warn", format: "json", write: (line) => process.stderr.write(line) });
const app = makeApp({
  services,
  ingest: { ...ingest, events: { accept } },
  log,
  baseUrl: () => `http://127.0.0.1:${port}`,
  notReady: async () => [],
});
const doors = { fetch: app.fetch, log, trustsProxy: () => false };
const { server } = listen(doors, { host: "127.0.0.1", port }, null);
const socket = listenSocket(doors, folder.socket);
process.once("SIGTERM", async () => {
  await Promise.all([server.stop(true), socket.stop(true)]);
  await close();
  process.exit(0);
});
