import { BeanstalkClient } from "../peers/beanstalk-client.ts";
import { putCommand, remove, reserve } from "../peers/beanstalkd.ts";
import { frontArguments, type Job, serveFront } from "./front.ts";

const options = frontArguments();

/** A job belongs to the connection that reserved it, so one connection does all for all callers. */
const client = await BeanstalkClient.open(Number(options.where));

async function put(jobs: readonly Job[]): Promise<void> {
  const answers = await client.commands(jobs.map((job) => putCommand(JSON.stringify(job))));
  const refused = answers.find(({ line }) => !line.startsWith("INSERTED"));
  if (refused) throw new Error(`beanstalkd answered ${refused.line} to a put`);
}

serveFront(
  {
    add: (job) => put([job]),
    addMany: put,
    async claim(max) {
      const claims = await reserve(client, max);
      return claims.map(({ id, data }) => ({ id, data: JSON.parse(data.toString()) as unknown }));
    },
    ack: (ids) => remove(client, ids.map(String)),
  },
  options,
);
