import { Database } from "bun:sqlite";
import { bun, defineQueue } from "plainjob";
import { frontArguments, serveFront } from "./front.ts";

const TYPE = "bench";

const options = frontArguments();
const database = new Database(options.where, { create: true, strict: true });
const connection = bun(database);
const silent = { error: console.error, warn: console.warn, info() {}, debug() {} };
const queue = defineQueue({ connection, logger: silent });
// plainjob sets NORMAL, which does not survive a loss of power.
connection.pragma("synchronous = FULL");

/** Several calls in one transaction: one commit for a batch. */
const together = <T>(work: () => T): T => database.transaction(work).immediate();

serveFront(
  {
    add: async (job) => void queue.add(TYPE, job),
    addMany: async (jobs) => void together(() => jobs.map((job) => queue.add(TYPE, job))),
    claim: async (max) =>
      together(() => {
        const claims: { id: unknown; data: unknown }[] = [];
        while (claims.length < max) {
          const next = queue.getAndMarkJobAsProcessing(TYPE);
          const job = next && queue.getJobById(next.id);
          if (!job) break;
          claims.push({ id: job.id, data: JSON.parse(job.data) });
        }
        return claims;
      }),
    ack: async (ids) =>
      together(() => {
        for (const id of ids) queue.markJobAsDone(Number(id));
      }),
  },
  options,
);
