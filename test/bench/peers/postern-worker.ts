import type { HttpConnection } from "../load/http-connection.ts";
import { jsonRequest } from "../load/http-request.ts";
import type { Worker } from "./peer.ts";

type Claim = { event: { id: string }; lease: { id: string } };

/** A worker of Postern's inbox: `claim`, then `ack` for one event and `settle` for several. */
export function posternWorker(connection: HttpConnection, key: string): Worker {
  const exchange = async (path: string, body: unknown) => {
    const answer = await connection.request(jsonRequest(path, body, key));
    if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${answer.body}`);
    return JSON.parse(answer.body);
  };
  return {
    async cycle(max) {
      const { claims } = (await exchange("/v1/inbox/claim", { max })) as { claims: Claim[] };
      const [first] = claims;
      if (!first) return 0;
      if (max === 1) {
        await exchange(`/v1/events/${first.event.id}/ack`, { lease: first.lease.id });
        return 1;
      }
      const items = claims.map(({ event, lease }) => ({ id: event.id, lease: lease.id, action: "ack" }));
      const { results } = (await exchange("/v1/inbox/settle", { items })) as { results: { code?: string }[] };
      const failed = results.find((result) => result.code !== undefined);
      if (failed) throw new Error(`an ack failed: ${failed.code}`);
      return claims.length;
    },
    close: () => connection.close(),
  };
}
