import { type Job, Queue, Worker } from "bullmq";
import { frontArguments, serveFront } from "./front.ts";

const QUEUE = "bench";
const TOKEN = "bench";

const options = frontArguments();
const connection = { path: options.where, maxRetriesPerRequest: null };
const queue = new Queue(QUEUE, { connection });
const worker = new Worker(QUEUE, null, { connection, autorun: false });
await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()]);

/** Claimed jobs: BullMQ settles the object that it handed out. */
const held = new Map<string, Job>();

serveFront(
  {
    add: async (job) => void (await queue.add(job.type, job)),
    addMany: async (jobs) => void (await queue.addBulk(jobs.map((data) => ({ name: data.type, data })))),
    async claim(max) {
      const next = () => worker.getNextJob(TOKEN, { block: false });
      const jobs = (await Promise.all(Array.from({ length: max }, next))).filter((job) => job !== undefined);
      for (const job of jobs) held.set(job.id ?? "", job);
      return jobs.map(({ id, data }) => ({ id, data }));
    },
    async ack(ids) {
      await Promise.all(ids.map((id) => held.get(String(id))?.moveToCompleted(null, TOKEN, false)));
      for (const id of ids) held.delete(String(id));
    },
  },
  options,
);
