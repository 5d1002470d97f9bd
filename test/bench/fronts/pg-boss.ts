import { PgBoss } from "pg-boss";
import { frontArguments, serveFront } from "./front.ts";

const QUEUE = "bench";

const options = frontArguments();
const boss = new PgBoss({ host: options.where, user: "postgres", database: "postgres", max: 20 });
boss.on("error", (error) => console.error(error));
await boss.start();
await boss.createQueue(QUEUE);

serveFront(
  {
    async add(job) {
      if ((await boss.send(QUEUE, job)) === null) throw new Error("pg-boss took no job");
    },
    addMany: async (jobs) =>
      void (await boss.insert(
        QUEUE,
        jobs.map((data) => ({ data })),
      )),
    claim: (max) => boss.fetch(QUEUE, { batchSize: max }),
    ack: async (ids) => void (await boss.complete(QUEUE, ids.map(String))),
  },
  options,
);
