import { expect } from "bun:test";
import { type Id, newId } from "../../src/kernel/ids.ts";
import { isProblem } from "../../src/kernel/problems.ts";
import type { Accepted } from "../../src/store/store.ts";
import { turns } from "../support/fake-clock.ts";
import { checkEvents, checkHistories } from "./model-check.ts";
import { runOne, type Scene } from "./model-one.ts";
import { SOURCES, type Step, TYPES } from "./model-steps.ts";
import { Wait, Waits } from "./model-waits.ts";
import { type House, must, World } from "./model-world.ts";
import { type Act, type ModelEvent, matches, ReferenceModel } from "./reference-model.ts";

type Sent = { source: number; type: number; body: string };

/** One life: each step is done to Postern and to the model, then both must stand alike. */
export class Run implements Scene {
  readonly world: World;
  readonly model: ReferenceModel;
  readonly #waits = new Waits();
  readonly #paused = SOURCES.map(() => false);
  /** Bodies taken so far, to send one again. */
  readonly #bodies: Sent[] = [];
  #made = 0;

  private constructor(world: World) {
    this.world = world;
    const { clock } = world.house;
    this.model = new ReferenceModel(clock.gate(), clock.wall());
  }

  static async begin(house: House, slug: string): Promise<Run> {
    return new Run(await World.make(house, slug));
  }

  get inbox() {
    return this.world.house.services.inbox;
  }

  async live(steps: readonly Step[]): Promise<void> {
    for (const source of [0, 1]) await this.#do({ do: "arrive", source, type: source, again: null });
    for (const step of steps) await this.#do(step);
    await checkHistories(this);
  }

  /** Sends everyone away, so that the next life begins with nobody waiting. */
  async end(): Promise<void> {
    for (const wait of this.#waits.waiting) wait.leave();
    await turns();
  }

  async #do(step: Step): Promise<void> {
    await this.#perform(step);
    await this.#rest();
  }

  async #rest(): Promise<void> {
    await turns(12);
    const { clock } = this.world.house;
    expect([clock.gate(), clock.wall()]).toEqual([this.model.gate, this.model.wall]);
    this.#waits.settle(this.model);
    await checkEvents(this);
  }

  async #perform(step: Step): Promise<void> {
    if (step.do === "arrive") await this.#arrive(step);
    else if (step.do === "burst") await this.#burst(step);
    else if (step.do === "leaveAsItComes") await this.#leaveAsItComes(step);
    else if (step.do === "together") await this.#together(step.steps);
    else if (step.do === "wait") this.#wait(step);
    else if (step.do === "takeWait") this.#takeWait(step);
    else if (step.do === "leave") pick(this.#waits.waiting, step.which)?.leave();
    else if (step.do === "releaseOften") await this.#releaseOften(step);
    else if (step.do === "failOften") await this.#failOften(step);
    else if (step.do === "holdLong") await this.#holdLong(step);
    else if (step.do === "requeueMany") await this.#requeueMany(step);
    else if (step.do === "pause") await this.#pause(step.source, step.paused);
    else if (step.do === "freeze") await this.#freeze(step.holder);
    else if (step.do === "thaw") await this.world.move(step.holder, "thaw");
    else if (step.do === "pass") await this.#pass(step.ms);
    else if (step.do === "stepWall") this.#stepWall(step.ms);
    else if (step.do === "restart") await this.#restart(step.downMs);
    else await this.#together([step]);
  }

  /** Several calls at one moment share a transaction, in their order. */
  async #together(steps: Parameters<typeof runOne>[1][]): Promise<void> {
    const checks = await Promise.all(steps.map((step) => runOne(this, step)));
    for (const check of checks) check();
  }

  async #arrive({ source, type, again }: { source: number; type: number; again: number | null }): Promise<void> {
    const sent = (again === null ? undefined : pick(this.#bodies, again)) ?? this.#fresh(source, type);
    const answer = await this.world.send(sent.source, sent.body);
    if (this.#paused[sent.source]) expect(codeOf(answer)).toBe("SOURCE_PAUSED");
    else this.#arrived(sent, must(answer));
  }

  #fresh(source: number, type: number): Sent {
    return { source, type, body: `{"type":"${TYPES[type]}","n":${this.#made++}}` };
  }

  #arrived(sent: Sent, { id, duplicate }: Accepted): void {
    const known = this.model.events.length;
    const source = SOURCES[sent.source] ?? "";
    const what = { source, type: TYPES[sent.type] ?? "", verified: source === "shop" };
    const event = this.model.arrive(what, sent.body, id);
    expect([id, duplicate]).toEqual([event.id as Id<"evt">, this.model.events.length === known]);
    this.#bodies.push(sent);
  }

  /** Several arrive in one transaction. */
  async #burst({ source, types }: Step & { do: "burst" }): Promise<void> {
    const sent = types.map((type) => this.#fresh(source, type));
    const answers = await Promise.all(sent.map(({ body }) => this.world.send(source, body)));
    for (const [i, one] of sent.entries()) {
      const answer = answers[i];
      if (this.#paused[source]) expect(codeOf(answer)).toBe("SOURCE_PAUSED");
      else if (answer) this.#arrived(one, must(answer));
    }
  }

  /** Of two who would take it, the one that waits longer goes at the very moment at which something arrives. */
  async #leaveAsItComes({ holder, source, type }: Step & { do: "leaveAsItComes" }): Promise<void> {
    const { store } = this.world.house.services;
    const taking = { do: "takeWait", holder, filter: { type: "*" }, max: 1, seconds: 300, timeoutMs: 299_999 } as const;
    for (const _ of [1, 2]) this.#takeWait(taking);
    await this.#rest();
    const first = this.#waits.waiting.find(({ filter }) => filter.type === "*");
    const stop = store.onCommit(() => first?.leave());
    await this.#arrive({ source, type, again: null });
    await turns();
    stop();
  }

  #wait({ holder, filter, after, timeoutMs }: Step & { do: "wait" }): void {
    if (this.world.refusal(holder)) return;
    const from = after === null ? 0 : (after % this.model.events.length) + 1;
    const id = this.world.holder(holder);
    const wait = new Wait(id, filter, this.model.gate + timeoutMs, { takes: false, from });
    const last = this.model.events[from - 1]?.id as Id<"evt"> | undefined;
    const answer = this.inbox.wait(this.#caller(wait), filter, { timeoutMs, after: last });
    this.#follow(
      wait,
      answer.then((event) => (isProblem(event) ? event : { event })),
    );
  }

  #takeWait({ holder, filter, max, seconds, timeoutMs }: Step & { do: "takeWait" }): void {
    if (this.world.refusal(holder)) return;
    const leaseMs = seconds * 1000;
    const wait = new Wait(this.world.holder(holder), filter, this.model.gate + timeoutMs, {
      ...{ takes: true, max, leaseMs },
    });
    const answer = this.inbox.claimNext(this.#caller(wait), filter, { max, leaseMs, waitMs: timeoutMs });
    this.#follow(
      wait,
      answer.then((claims) => (isProblem(claims) ? claims : { claims })),
    );
  }

  #caller(wait: Wait) {
    return { project: this.world.project, holder: wait.holder, signal: wait.signal };
  }

  #follow(wait: Wait, answer: Promise<NonNullable<Wait["ended"]>>): void {
    this.#waits.waiting.push(wait);
    void answer.then((ended) => {
      wait.ended = ended;
    });
  }

  /** A requeue lets it be released as often again. */
  async #releaseOften({ event, holder, times }: Step & { do: "releaseOften" }): Promise<void> {
    const claim = { do: "claim", event, holder, seconds: 300, gone: false } as const;
    const settle = (act: Act) => ({ do: "settle", event, lease: "live", which: 0, act }) as const;
    for (const _ of [1, 2]) {
      for (let i = 0; i < times; i++) {
        await this.#together([claim]);
        await this.#together([settle({ action: "release" })]);
        await this.#rest();
      }
      await this.#together([claim]);
      await this.#together([settle({ action: "ack" })]);
      await this.#together([{ do: "requeue", event }]);
      await this.#rest();
    }
  }

  async #failOften({ event, holder, times }: Step & { do: "failOften" }): Promise<void> {
    for (let i = 0; i < times; i++) {
      await this.#together([{ do: "claim", event, holder, seconds: 30, gone: false }]);
      if (i % 2 === 0)
        await this.#together([{ do: "settle", event, lease: "live", which: 0, act: { action: "nack" } }]);
      await this.#rest();
      await this.#pass(240_000);
    }
  }

  /** Extends a lease again and again, until it may be held no longer. */
  async #holdLong({ event, holder, times }: Step & { do: "holdLong" }): Promise<void> {
    await this.#together([{ do: "claim", event, holder, seconds: 3600, gone: false }]);
    for (let i = 0; i < times; i++) {
      await this.#together([{ do: "extend", event, lease: "live", which: 0, seconds: 3600 }]);
      await this.#rest();
      await this.#pass(3_000_000);
    }
  }

  async #requeueMany({ status, filter, dry }: Step & { do: "requeueMany" }): Promise<void> {
    const query = { project: this.world.project, ...filter, statuses: [status] };
    const matched = must(await this.inbox.requeueMany(query, "operator", dry));
    const wanted = this.model.events.filter((event) => event.status === status && matches(event, filter));
    expect(matched).toBe(wanted.length);
    if (!dry) for (const event of wanted) this.model.requeue(event);
  }

  async #pause(source: number, paused: boolean): Promise<void> {
    await this.world.setPaused(source, paused);
    this.#paused[source] = paused;
  }

  async #freeze(holder: number): Promise<void> {
    const refused = await this.world.move(holder, "freeze");
    if (refused) throw new Error(refused.detail);
    const id = this.world.holder(holder);
    this.#waits.sendAway((wait) => wait.holder === id);
    this.model.releaseAll(id);
  }

  /** Time passes from one moment at which something is due to the next. */
  async #pass(ms: number): Promise<void> {
    const end = this.model.gate + ms;
    while (this.model.gate < end) {
      const to = Math.min(end, this.model.nextDue() ?? end, this.#waits.nextDeadline() ?? end);
      const step = to - this.model.gate;
      await this.world.house.clock.advance(step);
      this.model.wall += step;
      this.model.passTo(to);
      await this.#rest();
    }
  }

  #stepWall(ms: number): void {
    this.world.house.clock.stepWall(ms);
    this.model.wall += ms;
  }

  async #restart(downMs: number): Promise<void> {
    this.#waits.sendAway(() => true);
    await this.world.house.restart(downMs);
    this.model.wall += downMs;
    this.model.passTo(Math.max(this.model.gate, this.model.wall));
  }

  eventAt(n: number): ModelEvent | undefined {
    return pick(this.model.events, n);
  }

  strangeLease(): Id<"lse"> {
    return newId("lse", 1);
  }
}

function pick<T>(all: readonly T[], n: number): T | undefined {
  return all[n % all.length];
}

function codeOf(answer: unknown): string | undefined {
  return isProblem(answer) ? answer.code : undefined;
}
