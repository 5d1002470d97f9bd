import { startFront } from "./front-side.ts";
import type { Peer } from "./peer.ts";

/** A server that does nothing, to show that the client is not what is measured. */
export const bareServer: Peer = {
  name: "Bun.serve, body read, nothing done",
  how: "the client against a server that reads the body and answers: the room that the client and the runtime leave",
  missing: () => undefined,
  async start() {
    const side = await startFront(
      "bare",
      "",
      async () => ({ waiting: await taken(side.ingest?.port), done: 0 }),
      async () => {},
    );
    return { ...side, worker: undefined };
  },
};

async function taken(port: number | undefined): Promise<number> {
  return Number(await (await fetch(`http://127.0.0.1:${port}/`)).text());
}
