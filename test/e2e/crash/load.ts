import { createHmac } from "node:crypto";
import type { Answer, Daemon, RequestOptions } from "../../support/daemon.ts";
import type { Delivery, Held, Holder, Ledger, OpenSettle, Settle } from "./ledger.ts";
import type { Random } from "./random.ts";

/** Where and how to send: made once on a folder, and good for all of its daemon's lives. */
export type Target = { ingestPath: string; secret: string; holders: readonly [Holder, Holder] };

/** `bulk`: bodies so large that checkpoints come often. */
export type Kind = "mixed" | "bulk";

const SENDERS = 4;
const WORKERS = 3;
const LEASE_SECONDS = 3600;
const APART_BYTES = 262_144;

/** Makes a signed source and two keys. */
export async function prepare(daemon: Daemon): Promise<Target> {
  const secret = "the secret of the crash test";
  const body = { name: "load", channel: "webhook", kind: "github", secret };
  const source = (await created(daemon, "/v1/sources", body)) as { ingest_url: string };
  const holder = async (name: string): Promise<Holder> => {
    const key = (await created(daemon, "/v1/keys", { name, kind: "application", preset: "agent" })) as { key: string };
    return { name, token: key.key };
  };
  return {
    ingestPath: new URL(source.ingest_url).pathname,
    secret,
    holders: [await holder("first"), await holder("second")],
  };
}

async function created(daemon: Daemon, path: string, body: object): Promise<unknown> {
  const answer = await daemon.operator(path, { body });
  if (answer.status !== 201) throw new Error(`${path} answered ${answer.status}: ${answer.text}`);
  return answer.json();
}

/** Sends a delivery once more; true where the answer was 200. */
export async function deliver(daemon: Daemon, target: Target, ledger: Ledger, delivery: Delivery): Promise<boolean> {
  const signature = createHmac("sha256", target.secret).update(delivery.body).digest("hex");
  const headers = {
    "content-type": "application/json",
    "x-github-event": "push",
    "x-github-delivery": delivery.key,
    "x-hub-signature-256": `sha256=${signature}`,
  };
  if (delivery.event === undefined) ledger.openDeliveries.add(delivery);
  const answer = await ask(ledger, daemon, target.ingestPath, { body: delivery.body, headers });
  if (!answer) return false;
  ledger.accepted(delivery, answer.json());
  return true;
}

/** Settles a lease; true where the answer was 200. Sent again it must get the same answer. */
export async function settle(daemon: Daemon, ledger: Ledger, open: OpenSettle): Promise<boolean> {
  ledger.openSettles.add(open);
  const { action, ...body } = { ...open.settle, lease: open.held.lease };
  const path = `/v1/events/${open.event}/${action}`;
  const answer = await ask(ledger, daemon, path, { body, key: open.held.holder.token });
  if (answer) ledger.settled(open);
  return answer !== undefined;
}

/**
 * Asks; undefined where the daemon is gone or going (a 503), so that nobody knows what became of it. Any other refusal
 * is a fault, and noted.
 */
async function ask(ledger: Ledger, daemon: Daemon, path: string, options: RequestOptions): Promise<Answer | undefined> {
  let answer: Answer;
  try {
    answer = await daemon.api(path, options);
  } catch {
    return undefined; // The connection broke: that is what this test is for.
  }
  if (answer.status === 200) return answer;
  if (answer.status !== 503) ledger.wrong.push(`${path} answered ${answer.status}: ${answer.text.slice(0, 300)}`);
  return undefined;
}

/** Works until the daemon stops answering. */
export async function work(daemon: Daemon, target: Target, ledger: Ledger, random: Random, kind: Kind): Promise<void> {
  const senders = Array.from({ length: SENDERS }, () => send(daemon, target, ledger, random, kind));
  const workers = Array.from({ length: WORKERS }, (_, i) => {
    const holder = target.holders[i % 2 === 0 ? 0 : 1];
    return claimAndSettle(daemon, ledger, random, holder);
  });
  await Promise.all([...senders, ...workers]);
}

async function send(daemon: Daemon, target: Target, ledger: Ledger, random: Random, kind: Kind): Promise<void> {
  for (;;) {
    const again = random.chance(0.15) ? random.pick(ledger.deliveries) : undefined;
    const delivery = again ?? ledger.newDelivery((key) => bodyOf(key, sizeOf(random, kind)));
    if (!(await deliver(daemon, target, ledger, delivery))) return;
  }
}

function sizeOf(random: Random, kind: Kind): number {
  if (random.chance(0.04)) return random.between(APART_BYTES + 1, APART_BYTES + 150_000);
  if (kind === "bulk") return random.between(60_000, 250_000);
  return random.chance(0.1) ? random.between(6000, 30_000) : random.between(100, 3000);
}

function bodyOf(key: string, size: number): string {
  return JSON.stringify({ key, filling: key.repeat(Math.ceil(size / key.length)).slice(0, size) });
}

async function claimAndSettle(daemon: Daemon, ledger: Ledger, random: Random, holder: Holder): Promise<void> {
  // As it stands now: what is claimed from here on is its claimer's to settle.
  const left = [...ledger.events].flatMap(([event, { held }]) =>
    held?.holder === holder && random.chance(0.5) ? [{ event, held }] : [],
  );
  for (const { event, held } of left) {
    if (ledger.events.get(event)?.held === held && !isSettling(ledger, held)) {
      if (!(await settle(daemon, ledger, { event, held, settle: settleOf(random, holder) }))) return;
    }
  }
  for (;;) {
    const claims = await claimSome(daemon, ledger, random.between(1, 8), holder);
    if (!claims) return;
    const settled = random.chance(0.5)
      ? await settleTogether(daemon, ledger, random, claims)
      : await settleSingly(daemon, ledger, random, claims);
    if (!settled) return;
  }
}

const isSettling = (ledger: Ledger, held: Held) => [...ledger.openSettles].some((open) => open.held === held);

type Claimed = { event: string; held: Held };

async function claimSome(daemon: Daemon, ledger: Ledger, max: number, holder: Holder): Promise<Claimed[] | undefined> {
  const body = { max, lease_seconds: LEASE_SECONDS, wait_seconds: 1 };
  ledger.unseenLeases += max;
  const answer = await ask(ledger, daemon, "/v1/inbox/claim", { body, key: holder.token });
  if (!answer) return undefined;
  ledger.unseenLeases -= max;
  const { claims } = answer.json<{ claims: ClaimAnswer[] }>();
  return claims.flatMap(({ event, lease }) => {
    const held = { lease: lease.id, holder };
    // Another sender's answer may still be on its way: the claim then is the first that tells of the event.
    const delivery = ledger.deliveries.find(({ key }) => key === event.payload?.key) ?? deliveryOf(ledger, event.id);
    if (!delivery) {
      ledger.unseenLeases++;
      return [];
    }
    ledger.claimed(event.id, delivery, held);
    return [{ event: event.id, held }];
  });
}

type ClaimAnswer = { event: { id: string; payload: { key: string } | null }; lease: { id: string } };

const deliveryOf = (ledger: Ledger, id: string) => ledger.events.get(id)?.delivery;

/** One claim in four is kept, for the next life to find held. */
const kept = 0.25;

async function settleSingly(daemon: Daemon, ledger: Ledger, random: Random, claims: Claimed[]): Promise<boolean> {
  for (const { event, held } of claims) {
    if (random.chance(kept)) continue;
    if (!(await settle(daemon, ledger, { event, held, settle: settleOf(random, held.holder) }))) return false;
  }
  return true;
}

async function settleTogether(daemon: Daemon, ledger: Ledger, random: Random, claims: Claimed[]): Promise<boolean> {
  const chosen = claims.filter(() => !random.chance(kept));
  const key = chosen[0]?.held.holder.token;
  if (key === undefined) return true;
  const open = chosen.map(({ event, held }) => ({ event, held, settle: settleOf(random, held.holder) }));
  for (const each of open) ledger.openSettles.add(each);
  const items = open.map(({ event, held, settle }) => ({ id: event, lease: held.lease, ...settle }));
  const answer = await ask(ledger, daemon, "/v1/inbox/settle", { body: { items }, key });
  if (!answer) return false;
  const { results } = answer.json<{ results: { id: string; code?: string }[] }>();
  for (const [i, each] of open.entries()) {
    const code = results[i]?.code;
    if (code === undefined) ledger.settled(each);
    // The daemon was going: it may be asked again in its next life.
    else if (code !== "STORAGE_UNAVAILABLE") ledger.wrong.push(`a settle of ${each.event} answered ${code}`);
  }
  return true;
}

function settleOf(random: Random, holder: Holder): Settle {
  const chance = random.next();
  if (chance < 0.7) return { action: "ack", result: { by: holder.name } };
  if (chance < 0.8) return { action: "nack", retry: true, reason: "tried in vain" };
  if (chance < 0.85) return { action: "nack", retry: false, reason: "hopeless" };
  return { action: "release" };
}
