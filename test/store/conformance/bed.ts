import { expect } from "bun:test";
import type { Clock } from "../../../src/kernel/clock.ts";
import { type Id, newId } from "../../../src/kernel/ids.ts";
import { isProblem, type Problem, type ProblemCode } from "../../../src/kernel/problems.ts";
import { sha256Of } from "../../../src/kernel/secrets.ts";
import type { SettleAction, Settled, Store } from "../../../src/store/store.ts";
import type { Claim, EventFilter, EventRecord, NewEvent, SourceRecord } from "../../../src/store/types.ts";
import { FakeClock } from "../../support/fake-clock.ts";

/** Opens the store that lies at a place, making it there the first time. A place is opened by one run at a time. */
export type OpenStore = (place: string, clock: (lastGate: number) => Clock) => Promise<Store>;

/** An implementation under test: how its store is opened, and where a fresh one may lie. */
export type Implementation = { open: OpenStore; newPlace: () => string };

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export const ACK: SettleAction = { action: "ack", result: null };
export const NACK: SettleAction = { action: "nack", retry: true, reason: null };
export const RELEASE: SettleAction = { action: "release", delayMs: 0 };

/** 16 bytes that stand for a text. */
export function hash16(text: string): Uint8Array {
  return sha256Of(text).subarray(0, 16);
}

/** What a call answered, where it must not be a problem. */
export async function ok<T>(answer: Promise<T | Problem>): Promise<T> {
  const value = await answer;
  if (isProblem(value)) throw new Error(`${value.code}: ${value.detail}`);
  return value;
}

/** Asserts that a call was refused with this code; answers the problem. */
export async function refused(answer: Promise<unknown>, code: ProblemCode): Promise<Problem> {
  const value = await answer;
  if (!isProblem(value)) throw new Error(`expected ${code}, got ${JSON.stringify(value)}`);
  expect(value.code).toBe(code);
  return value;
}

export function newProject(slug: string) {
  return { id: newId("prj", 1), slug, title: slug, createdAt: 1, managed: false };
}

/** A source's record as a feature makes it. */
export function newSource(project: Id<"prj">, name: string): Omit<SourceRecord, "num"> {
  return {
    ...{ id: newId("src", 1), project, name, channel: "webhook", kind: "unsigned", settings: "{}" },
    ...{ tokenHash: sha256Of(`${project} ${name}`), tokenSealed: new Uint8Array([1, 2]) },
    ...{ secretsSealed: new Uint8Array(), paused: false, managed: false, createdAt: 1 },
  };
}

/** A store with a project in it, a clock that stands still, and short ways to do what the rules are about. */
export class Bed {
  readonly #implementation: Implementation;
  readonly #place: string;
  project: Id<"prj"> = newId("prj", 1);
  store: Store;
  clock: FakeClock;
  open = true;

  private constructor(implementation: Implementation, place: string, store: Store, clock: FakeClock) {
    this.#implementation = implementation;
    this.#place = place;
    this.store = store;
    this.clock = clock;
  }

  static async make(implementation: Implementation): Promise<Bed> {
    let clock = new FakeClock();
    const place = implementation.newPlace();
    const store = await implementation.open(place, (lastGate) => {
      clock = new FakeClock(lastGate);
      return clock;
    });
    const bed = new Bed(implementation, place, store, clock);
    const project = newProject("default");
    await ok(store.projects.create(project));
    bed.project = project.id;
    return bed;
  }

  get place(): string {
    return this.#place;
  }

  async close(): Promise<void> {
    if (this.open) await this.store.close();
    this.open = false;
  }

  /** Closes the store and opens it again as the next run does, after `downMs` by the wall clock. */
  async restart(downMs = 0): Promise<void> {
    await this.close();
    const before = this.clock;
    this.store = await this.#implementation.open(this.#place, (lastGate) => {
      this.clock = before.restarted(lastGate, downMs);
      return this.clock;
    });
    this.open = true;
  }

  newEvent(more: Partial<NewEvent> = {}): NewEvent {
    return {
      ...{ project: this.project, source: "billing", channel: "webhook", type: "invoice.paid", verified: true },
      ...{ headers: '{"content-type":"application/json"}', payload: '{"n":1.10}', blob: null },
      ...more,
    };
  }

  /** An event that has arrived. */
  async arrive(more: Partial<NewEvent> = {}): Promise<EventRecord> {
    const { id } = await ok(this.store.events.accept(this.newEvent(more)));
    return this.event(id, more.project);
  }

  async event(id: Id<"evt">, project = this.project): Promise<EventRecord> {
    const event = await this.store.events.get(project, id);
    if (!event) throw new Error(`${id} is not there`);
    return event;
  }

  claim(event: { id: Id<"evt"> }, holder = "key_a", leaseMs = 300 * SECOND): Promise<Claim | Problem> {
    return this.store.leases.claim(this.project, event.id, holder, leaseMs);
  }

  async claimed(event: { id: Id<"evt"> }, holder = "key_a", leaseMs = 300 * SECOND): Promise<Claim> {
    return ok(this.claim(event, holder, leaseMs));
  }

  async claimNext(filter: EventFilter = {}, max = 1, holder = "key_a"): Promise<Claim[]> {
    return ok(this.store.leases.claimNext(this.project, filter, holder, max, 300 * SECOND));
  }

  /** Settles by the lease, as its holder. */
  settle({ event, lease }: Claim, act: SettleAction): Promise<Settled | Problem> {
    return this.store.leases.settle(this.project, event.id, lease.holder, lease.id, act);
  }

  settled(claim: Claim, act: SettleAction): Promise<Settled> {
    return ok(this.settle(claim, act));
  }

  /** Claims it and lets the lease run out, or nacks it, as often as said. */
  async fail(event: { id: Id<"evt"> }, times: number): Promise<void> {
    for (let i = 0; i < times; i++) {
      const { retryAt } = await this.settled(await this.claimed(event), NACK);
      if (retryAt !== null) await this.clock.advance(retryAt - this.clock.gate());
    }
  }

  /** The kinds of its history's lines, in order. */
  async historyKinds(event: { id: Id<"evt"> }): Promise<string[]> {
    return (await this.store.events.history(await this.event(event.id))).map((entry) => entry.kind);
  }
}
