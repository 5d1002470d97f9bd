/** One of the two keys that the load works with. */
export type Holder = { name: string; token: string };

export type Settle =
  | { action: "ack"; result: { by: string } }
  | { action: "nack"; retry: boolean; reason: string }
  | { action: "release" };

/** One transmission that a provider sends, perhaps several times. */
export type Delivery = { key: string; body: string; event: string | undefined };

export type Held = { lease: string; holder: Holder };

/** What is known for certain of one event: only what an answer said. */
export type Known = {
  delivery: Delivery;
  held: Held | undefined;
  end: "done" | "dead" | undefined;
  nacks: number;
  /** The body was read back and compared since the event was answered. */
  bodyChecked: boolean;
};

/** A settle that was sent, and not answered before the daemon was killed. */
export type OpenSettle = { event: string; held: Held; settle: Settle };

/**
 * What a daemon answered over its lives on one folder, and what it never got to answer. Everything that was answered
 * must hold for ever; what was not may have happened or not, until it is asked for again.
 */
export class Ledger {
  readonly deliveries: Delivery[] = [];
  readonly events = new Map<string, Known>();
  readonly counts = { accepted: 0, duplicates: 0, acks: 0, settles: 0, leases: 0, leaseChecks: 0, bodies: 0 };
  /** Deliveries sent and not answered. */
  readonly openDeliveries = new Set<Delivery>();
  readonly openSettles = new Set<OpenSettle>();
  /** Leases that claims without an answer may have taken. */
  unseenLeases = 0;
  /** What an answer contradicted. */
  readonly wrong: string[] = [];

  newDelivery(body: (key: string) => string): Delivery {
    const key = crypto.randomUUID();
    const delivery = { key, body: body(key), event: undefined };
    this.deliveries.push(delivery);
    return delivery;
  }

  /** A 200 of ingest. */
  accepted(delivery: Delivery, answer: { id: string; duplicate: boolean }): void {
    this.openDeliveries.delete(delivery);
    this.counts[answer.duplicate ? "duplicates" : "accepted"]++;
    if (delivery.event === undefined) {
      delivery.event = answer.id;
      const other = this.events.get(answer.id);
      if (other && other.delivery !== delivery) this.wrong.push(`${answer.id} answers two deliveries`);
      this.know(delivery, answer.id);
      return;
    }
    if (delivery.event !== answer.id) {
      this.wrong.push(`delivery ${delivery.key} was first ${delivery.event} and then ${answer.id}`);
    }
  }

  know(delivery: Delivery, id: string): Known {
    const known = this.events.get(id);
    if (known) return known;
    const made: Known = { delivery, held: undefined, end: undefined, nacks: 0, bodyChecked: false };
    this.events.set(id, made);
    return made;
  }

  /** A lease that a claim answered. */
  claimed(id: string, delivery: Delivery, held: Held): void {
    const known = this.know(delivery, id);
    if (known.held && ![...this.openSettles].some(({ held: open }) => open.lease === known.held?.lease)) {
      this.wrong.push(`${id} was claimed as ${held.lease} while ${known.held.lease} held it`);
    }
    if (known.end) this.wrong.push(`${id} was ${known.end}, and claimed again`);
    known.held = held;
    this.counts.leases++;
  }

  /** A settle that was answered with success. */
  settled(open: OpenSettle): void {
    this.openSettles.delete(open);
    this.counts.settles++;
    const known = this.events.get(open.event);
    if (!known) return;
    if (known.held?.lease === open.held.lease) known.held = undefined;
    if (open.settle.action === "nack") known.nacks++;
    if (open.settle.action === "ack") {
      known.end = "done";
      this.counts.acks++;
    }
    if (open.settle.action === "nack" && !open.settle.retry) known.end = "dead";
  }
}
