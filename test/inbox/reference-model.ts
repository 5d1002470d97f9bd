import type { EventStatus } from "../../src/store/types.ts";

/** What the contract's section 5 says of an inbox, written down once more as plainly as it can be: no store, no waiting. */

export type ModelFilter = { source?: string; type?: string; verified?: boolean };

export type Act =
  | { action: "ack"; result?: unknown }
  | { action: "nack"; retry?: boolean; reason?: string }
  | { action: "release"; delay_seconds?: number };

/** An event as a settle answers it; `due` in gate milliseconds. */
export type Standing = { status: EventStatus; attempts: number; due: number | null };

export type ModelLease = {
  id: string;
  holder: string;
  claimedAt: number;
  expires: number;
  /** Set once it has ended; `act` and `answer` where its holder settled it. */
  ended?: { act?: string; answer?: Standing };
};

export type ModelEvent = Standing & {
  id: string;
  source: string;
  type: string;
  verified: boolean;
  receivedAt: number;
  releases: number;
  purged: boolean;
  leases: ModelLease[];
  /** The kinds of its history's lines. */
  history: string[];
};

const DAY = 86_400_000;

export class ReferenceModel {
  gate: number;
  wall: number;
  /** Oldest first. */
  readonly events: ModelEvent[] = [];
  readonly #firsts = new Map<string, { event: ModelEvent; until: number }>();

  constructor(gate: number, wall: number) {
    this.gate = gate;
    this.wall = wall;
  }

  /** The same body to the same source within 24 hours of the first is a duplicate. */
  arrive(what: { source: string; type: string; verified: boolean }, body: string, id: string): ModelEvent {
    const key = `${what.source} ${body}`;
    const first = this.#firsts.get(key);
    if (first && first.until > this.gate) {
      first.event.history.push("duplicate");
      return first.event;
    }
    const fresh = { status: "pending", attempts: 0, due: null, releases: 0, purged: false } as const;
    const event: ModelEvent = { ...what, ...fresh, id, receivedAt: this.wall, leases: [], history: ["received"] };
    this.events.push(event);
    this.#firsts.set(key, { event, until: this.gate + DAY });
    return event;
  }

  /** What can be claimed now, oldest first. */
  ready(filter: ModelFilter): ModelEvent[] {
    return this.events.filter((event) => isReady(event) && matches(event, filter));
  }

  claim(event: ModelEvent, holder: string, leaseMs: number, id: string): string | ModelLease {
    if (!isReady(event)) return "EVENT_NOT_CLAIMABLE";
    const lease = { id, holder, claimedAt: this.gate, expires: this.gate + leaseMs };
    event.leases.push(lease);
    this.#stand(event, { status: "claimed", due: lease.expires }, "claimed");
    return lease;
  }

  settle(event: ModelEvent, holder: string, leaseId: string | undefined, act: Act): string | Standing {
    const lease = this.#held(event, holder, leaseId);
    if (typeof lease === "string") return lease;
    if (lease.ended) return (lease.ended.act === sameAct(act) && lease.ended.answer) || "LEASE_NOT_HELD";
    if (act.action === "release" && event.releases === 20) return "RELEASE_LIMIT";
    if (act.action === "ack") this.#stand(event, { status: "done", due: null }, "acked");
    else if (act.action === "nack") this.#fail(event, act.retry ?? true);
    else {
      const delay = (act.delay_seconds ?? 0) * 1000;
      event.releases++;
      this.#stand(event, { status: "pending", due: delay === 0 ? null : this.gate + delay }, "released");
    }
    const answer = { status: event.status, attempts: event.attempts, due: event.due };
    lease.ended = { act: sameAct(act), answer };
    return answer;
  }

  extend(event: ModelEvent, holder: string, leaseId: string | undefined, leaseMs: number): string | ModelLease {
    const lease = this.#held(event, holder, leaseId);
    if (typeof lease === "string") return lease;
    if (lease.ended) return "LEASE_NOT_HELD";
    lease.expires = Math.min(this.gate + leaseMs, lease.claimedAt + DAY / 2);
    event.due = lease.expires;
    return lease;
  }

  requeue(event: ModelEvent): string | ModelEvent {
    if (event.status === "pending" || event.status === "claimed") return "EVENT_NOT_REQUEUABLE";
    event.attempts = 0;
    event.releases = 0;
    return this.#stand(event, { status: "pending", due: null }, "requeued");
  }

  purge(event: ModelEvent): string | ModelEvent {
    if (event.status === "claimed") return "EVENT_LEASED";
    if (!event.purged) event.history.push("purged");
    event.purged = true;
    return event;
  }

  /** A key that loses its life loses its leases, uncounted. */
  releaseAll(holder: string): void {
    for (const event of this.events) {
      const live = liveLease(event);
      if (live?.holder !== holder) continue;
      live.ended = {};
      this.#stand(event, { status: "pending", due: null }, "lease_revoked");
    }
  }

  /** The next moment at which something happens by time alone. */
  nextDue(): number | undefined {
    const due = this.events.flatMap((event) => event.due ?? []);
    return due.length === 0 ? undefined : Math.min(...due);
  }

  /** Time passes to this moment, which is no later than the next due one. */
  passTo(gate: number): void {
    this.gate = gate;
    for (const event of this.events) {
      if (event.due === null || event.due > gate) continue;
      const live = liveLease(event);
      if (live) {
        live.ended = {};
        event.attempts++;
        this.#stand(event, { status: event.attempts === 5 ? "dead" : "pending", due: null }, "lease_expired");
      } else this.#stand(event, { status: "pending", due: null });
    }
  }

  #fail(event: ModelEvent, retry: boolean): void {
    event.attempts++;
    const dead = !retry || event.attempts === 5;
    const rest = [30, 60, 120, 240][event.attempts - 1] ?? 0;
    this.#stand(event, { status: dead ? "dead" : "failed", due: dead ? null : this.gate + rest * 1000 }, "nacked");
  }

  #stand(event: ModelEvent, to: Pick<Standing, "status" | "due">, line?: string): ModelEvent {
    if (line) event.history.push(line);
    return Object.assign(event, to);
  }

  #held(event: ModelEvent, holder: string, leaseId: string | undefined): string | ModelLease {
    const own = event.leases.filter((lease) => lease.holder === holder);
    if (leaseId !== undefined) return own.find((lease) => lease.id === leaseId) ?? "LEASE_NOT_HELD";
    return own.length > 1 ? "LEASE_REQUIRED" : (own[0] ?? "LEASE_NOT_HELD");
  }
}

/** The lease that holds the event now: there is never more than one. */
export function liveLease(event: ModelEvent): ModelLease | undefined {
  const live = event.leases.filter((lease) => !lease.ended);
  if (live.length > 1) throw new Error("the model itself has two live leases on one event");
  return live[0];
}

export function matches(event: ModelEvent, { source, type, verified }: ModelFilter): boolean {
  return (
    (source === undefined || source === event.source) &&
    (type === undefined || (type.endsWith("*") ? event.type.startsWith(type.slice(0, -1)) : type === event.type)) &&
    (verified === undefined || verified === event.verified)
  );
}

function isReady(event: ModelEvent): boolean {
  return event.status === "pending" && event.due === null;
}

/** Two settles are the same if they ask the same, a default spelt out or not. */
function sameAct(act: Act): string {
  if (act.action === "ack") return JSON.stringify(act.result === undefined ? ["ack"] : ["ack", act.result]);
  if (act.action === "nack") return JSON.stringify(["nack", act.retry ?? true, act.reason ?? null]);
  return JSON.stringify(["release", act.delay_seconds ?? 0]);
}
