import { Database } from "bun:sqlite";
import { copyFileSync, existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Daemon } from "../../support/daemon.ts";
import { tempDir } from "../../support/tmp.ts";
import type { Delivery, Known, Ledger } from "./ledger.ts";
import { deliver, settle, type Target } from "./load.ts";

/** What `PRAGMA integrity_check` says of a copy of the database, with its journal, of a daemon that is down. */
export function integrity(dataDir: string): string {
  if (!existsSync(join(dataDir, "postern.db"))) return "ok";
  const copy = tempDir("copy");
  for (const name of ["postern.db", "postern.db-wal"]) {
    if (existsSync(join(dataDir, name))) copyFileSync(join(dataDir, name), join(copy, name));
  }
  const db = new Database(join(copy, "postern.db"));
  try {
    const found = db.query<{ integrity_check: string }, []>("PRAGMA integrity_check").all();
    return found.map(({ integrity_check }) => integrity_check).join("; ");
  } finally {
    db.close();
    Bun.spawnSync(["rm", "-rf", copy]);
  }
}

/** Asks again for all that got no answer, so that afterwards everything is known. */
export async function resolveOpen(daemon: Daemon, target: Target, ledger: Ledger): Promise<void> {
  await each([...ledger.openDeliveries], async (delivery) => {
    if (!(await deliver(daemon, target, ledger, delivery))) ledger.wrong.push(`${delivery.key} was not taken again`);
  });
  // A lease's settle that had happened gets the same answer again; one that had not happens now.
  await each([...ledger.openSettles], async (open) => {
    if (!(await settle(daemon, ledger, open))) ledger.wrong.push(`the settle of ${open.event} was not taken again`);
  });
}

type Listed = { id: string; status: string; attempts: number };

/** Compares all that the daemon knows with all that it ever answered, after `resolveOpen`; faults go to `ledger.wrong`. */
export async function compare(daemon: Daemon, target: Target, ledger: Ledger): Promise<void> {
  const rows = await listAll(daemon);
  const seen = new Map(rows.map((row) => [row.id, row]));
  const fault = (text: string) => ledger.wrong.push(text);
  if (seen.size !== rows.length) fault("an event is listed twice");
  const answered = ledger.deliveries.filter(({ event }) => event !== undefined);
  if (rows.length !== answered.length) fault(`${answered.length} deliveries were answered, ${rows.length} are there`);
  let unseen = 0;
  for (const [id, known] of ledger.events) {
    const row = seen.get(id);
    if (!row) fault(`${id} was answered with 200, and is gone`);
    else if (row.status === "claimed" && !known.held && !known.end) unseen++;
    else if (!allowed(known).includes(row.status)) fault(`${id} is ${row.status}, not ${allowed(known).join(" or ")}`);
    if (row && row.attempts !== known.nacks) fault(`${id} has ${row.attempts} attempts, and was nacked ${known.nacks}`);
  }
  if (unseen > ledger.unseenLeases) fault(`${unseen} events are held by nobody knows whom`);
  await checkBodies(daemon, ledger);
  await checkLeases(daemon, target, ledger);
  await checkEnds(daemon, target, ledger);
}

function allowed(known: Known): string[] {
  if (known.end) return [known.end];
  if (known.held) return ["claimed"];
  return known.nacks > 0 ? ["pending", "failed"] : ["pending"];
}

async function listAll(daemon: Daemon): Promise<Listed[]> {
  const rows: Listed[] = [];
  for (let cursor = ""; ; ) {
    const answer = await daemon.operator(`/v1/inbox?status=all&routed=all&limit=100${cursor}`);
    const page = answer.json<{ events: Listed[]; next_cursor: string | null }>();
    rows.push(...page.events);
    if (page.next_cursor === null) return rows;
    cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`;
  }
}

/** Every body that was answered since the last check comes back byte for byte. */
async function checkBodies(daemon: Daemon, ledger: Ledger): Promise<void> {
  await each([...ledger.events], async ([id, known]) => {
    if (known.bodyChecked) return;
    known.bodyChecked = true;
    ledger.counts.bodies++;
    if ((await bodyOf(daemon, id, known.delivery)) !== hashOf(known.delivery.body)) {
      ledger.wrong.push(`the body of ${id} is another`);
    }
  });
}

async function bodyOf(daemon: Daemon, id: string, delivery: Delivery): Promise<string> {
  const { event } = (await daemon.operator(`/v1/events/${id}`)).json<{
    event: { payload: unknown; payload_url: string | null };
  }>();
  if (event.payload_url === null) return hashOf(JSON.stringify(event.payload));
  const link = new URL(event.payload_url);
  const answer = await daemon.api(`${link.pathname}${link.search}`);
  return answer.status === 200 ? hashOf(answer.bytes) : `${delivery.key}: ${answer.status}`;
}

const hashOf = (bytes: string | Uint8Array) => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");

/** Every lease that was answered is its holder's, and no one else's. */
async function checkLeases(daemon: Daemon, target: Target, ledger: Ledger): Promise<void> {
  await each([...ledger.events], async ([id, { held }]) => {
    if (!held) return;
    ledger.counts.leaseChecks++;
    const [first, second] = target.holders;
    const other = held.holder === first ? second : first;
    const lease = { lease: held.lease };
    const stolen = await daemon.api(`/v1/events/${id}/ack`, { body: lease, key: other.token });
    if (stolen.status !== 409) ledger.wrong.push(`${id} was settled by another key: ${stolen.status}`);
    const taken = await daemon.api(`/v1/events/${id}/claim`, { method: "POST", key: other.token });
    if (taken.status !== 409) ledger.wrong.push(`${id} was claimed from its holder: ${taken.status}`);
    const body = { lease_seconds: 3600, ...lease };
    const extended = await daemon.api(`/v1/events/${id}/extend`, { body, key: held.holder.token });
    if (extended.status !== 200) ledger.wrong.push(`${id} was held as ${held.lease}: ${extended.text}`);
  });
}

const ENDS_ASKED = 10;

/** What is done or dead cannot be claimed. */
async function checkEnds(daemon: Daemon, target: Target, ledger: Ledger): Promise<void> {
  const ended = [...ledger.events].filter(([, { end }]) => end).slice(-ENDS_ASKED);
  await each(ended, async ([id]) => {
    const answer = await daemon.api(`/v1/events/${id}/claim`, { method: "POST", key: target.holders[0].token });
    if (answer.status !== 409) ledger.wrong.push(`${id} had ended, and was claimed: ${answer.status}`);
  });
}

/** The blobs in the folder, by their number. */
export function blobsIn(dataDir: string): number {
  return readdirSync(join(dataDir, "blobs"), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    .length;
}

const AT_ONCE = 16;

async function each<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  const runner = async () => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) await act(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, runner));
}
