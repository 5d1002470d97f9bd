import type { Problem } from "../../src/kernel/problems.ts";
import type { Claim, EventRecord } from "../../src/store/types.ts";
import { type ModelFilter, matches, type ReferenceModel } from "./reference-model.ts";

type Ended = { claims: Claim[] } | { event: EventRecord | undefined };

/** One who waits, as the test sees it. */
export class Wait {
  readonly holder: string;
  readonly filter: ModelFilter;
  /** Gate time at which it gives up. */
  readonly deadline: number;
  /** Of one that takes: at most so many, for so long. Of one that looks: only events behind this many oldest ones. */
  readonly kind: { takes: true; max: number; leaseMs: number } | { takes: false; from: number };
  readonly #gone = new AbortController();
  /** True once it has been sent away: its client left, its key lost its life, the daemon stops. */
  sentAway = false;
  ended: Ended | Problem | undefined;

  constructor(holder: string, filter: ModelFilter, deadline: number, kind: Wait["kind"]) {
    this.holder = holder;
    this.filter = filter;
    this.deadline = deadline;
    this.kind = kind;
  }

  get signal(): AbortSignal {
    return this.#gone.signal;
  }

  leave(): void {
    this.sentAway = true;
    this.#gone.abort();
  }
}

/** Everyone who waits, the longest waiting first. */
export class Waits {
  waiting: Wait[] = [];

  sendAway(which: (wait: Wait) => boolean): void {
    for (const wait of this.waiting) if (which(wait)) wait.sentAway = true;
  }

  /** The next moment at which one gives up. */
  nextDeadline(): number | undefined {
    return this.waiting.length === 0 ? undefined : Math.min(...this.waiting.map((wait) => wait.deadline));
  }

  /**
   * After something happened and all came to rest: who waits sleeps if and only if nothing matching can be claimed. What
   * takers took is taken in the model as well.
   */
  settle(model: ReferenceModel): void {
    for (const wait of this.waiting) if (!wait.kind.takes) checkLooker(wait, wait.kind.from, model);
    for (const wait of this.waiting) if (wait.kind.takes) checkTaken(wait, wait.kind, model);
    this.#checkOrder();
    for (const wait of this.waiting) {
      if (wait.kind.takes && !wait.ended) mustBeAsleep(wait, model.ready(wait.filter).length === 0, model);
    }
    this.waiting = this.waiting.filter((wait) => !wait.ended);
  }

  /** Among those who want the same, none took anything while one that waited longer still waits. */
  #checkOrder(): void {
    for (const [i, wait] of this.waiting.entries()) {
      if (wait.ended || !wait.kind.takes) continue;
      const same = (other: Wait) => JSON.stringify(other.filter) === JSON.stringify(wait.filter);
      const before = this.waiting.slice(i + 1).find((other) => same(other) && tookSomething(other));
      if (before) throw new Error("one that waited less was served before one that waited longer");
    }
  }
}

function checkLooker(wait: Wait, from: number, model: ReferenceModel): void {
  const behind = new Set(model.events.slice(from).map((event) => event.id));
  const first = model.ready(wait.filter).find((event) => behind.has(event.id));
  if (!wait.ended) {
    mustBeAsleep(wait, first === undefined, model);
    return;
  }
  if (!("event" in wait.ended)) throw new Error("a wait was refused");
  const { event } = wait.ended;
  if (event === undefined) mustHaveGivenUp(wait, model);
  else if (event.id !== first?.id) throw new Error(`woken with ${event.id}, the first that matches is ${first?.id}`);
}

function checkTaken(wait: Wait, kind: { max: number; leaseMs: number }, model: ReferenceModel): void {
  if (!wait.ended) return;
  if (!("claims" in wait.ended)) throw new Error("a waiting claim was refused");
  const { claims } = wait.ended;
  if (claims.length === 0) mustHaveGivenUp(wait, model);
  if (claims.length > kind.max) throw new Error("more were taken than asked for");
  for (const { event, lease } of claims) {
    const known = model.events.find((one) => one.id === event.id);
    if (!known || !matches(known, wait.filter)) throw new Error("what was taken does not match");
    const held = model.claim(known, wait.holder, kind.leaseMs, lease.id);
    if (typeof held === "string") throw new Error(`what was taken could not be claimed: ${held}`);
    if (held.expires !== lease.expiresAt) throw new Error("the lease ends at another time");
  }
}

function mustBeAsleep(wait: Wait, mayBe: boolean, model: ReferenceModel): void {
  if (!mayBe) throw new Error(`still asleep though something matches ${JSON.stringify(wait.filter)}`);
  if (wait.sentAway) throw new Error("still waiting though it was sent away");
  if (wait.deadline <= model.gate) throw new Error("still waiting though its time is over");
}

function mustHaveGivenUp(wait: Wait, model: ReferenceModel): void {
  if (!wait.sentAway && wait.deadline > model.gate) throw new Error("it gave up before its time");
}

function tookSomething(wait: Wait): boolean {
  return wait.ended !== undefined && "claims" in wait.ended && wait.ended.claims.length > 0;
}
