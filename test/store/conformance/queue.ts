import { expect } from "bun:test";
import fc from "fast-check";
import { glob } from "../../../src/kernel/glob.ts";
import { sha256Of } from "../../../src/kernel/secrets.ts";
import { ACK, type Bed, newProject, newSource, ok, RELEASE } from "./bed.ts";
import type { Rule } from "./rule.ts";

type Known = { id: string; seq: number; type: string; ready: boolean };

const FILTERS = ["t.*", "t.1*", "t.?", "t.77", "t.*9", "none.*", "*"];
const arrive = fc.record({
  do: fc.constant("arrive" as const),
  types: fc.array(fc.nat(199), { maxLength: 120, size: "max" }),
});
const take = fc.record({
  ...{ do: fc.constant("take" as const), type: fc.constantFrom(...FILTERS), max: fc.integer({ min: 1, max: 90 }) },
  ...{ end: fc.constantFrom("keep", "ack", "release"), besideBug: fc.boolean() },
});
const takeAny = fc.record({ do: fc.constant("takeAny" as const), max: fc.integer({ min: 1, max: 200 }) });
const look = fc.record({
  do: fc.constant("look" as const),
  type: fc.constantFrom(...FILTERS),
  after: fc.nat(300),
});
const restart = fc.constant({ do: "restart" as const });
const steps = fc.array(fc.oneof(arrive, take, take, takeAny, look, { weight: 1, arbitrary: restart }), {
  ...{ minLength: 5, maxLength: 20, size: "max" as const },
});

/** A piece of work with a bug, which takes down the transaction that others share with it. */
async function bug(bed: Bed): Promise<void> {
  const remember = { slot: sha256Of("slot"), bodyHash: sha256Of("body") };
  const answer = () => {
    throw new Error("a bug");
  };
  const failing = bed.store.sources.create(newSource(bed.project, "bug"), { ...remember, answer });
  await expect(failing).rejects.toThrow("a bug");
}

class Queue {
  readonly #bed: Bed;
  readonly #known: Known[] = [];

  constructor(bed: Bed) {
    this.#bed = bed;
  }

  async arrive(types: readonly number[]): Promise<void> {
    for (const event of await Promise.all(types.map((n) => this.#bed.arrive({ type: `t.${n}`, payload: null })))) {
      this.#known.push({ id: event.id, seq: event.seq, type: event.type, ready: true });
    }
    this.#known.sort((a, b) => a.seq - b.seq);
  }

  /** Claims; beside a bug twice at the same moment, so that all of it is undone and done again. */
  async take(type: string | undefined, max: number, end: string, besideBug: boolean): Promise<void> {
    const claim = () => this.#bed.claimNext(type === undefined ? {} : { type }, max);
    const claiming = Promise.all(besideBug ? [claim(), claim()] : [claim()]);
    if (besideBug) await bug(this.#bed);
    const claims = (await claiming).flat();
    const expected = this.#matching(type ?? "*").slice(0, besideBug ? 2 * max : max);
    expect(claims.map(({ event }) => event.id as string)).toEqual(expected.map(({ id }) => id));
    for (const event of expected) event.ready = end === "release";
    if (end === "keep") return;
    await Promise.all(claims.map((one) => this.#bed.settled(one, end === "ack" ? ACK : RELEASE)));
  }

  /** Looks behind an event, and then at the head: the one must not make the other miss anything. */
  async look(type: string, after: number): Promise<void> {
    await this.#first(type, this.#known[after % (this.#known.length || 1)]?.seq ?? 0);
    await this.#first(type, this.#known.at(-1)?.seq ?? 0);
    for (const each of FILTERS) await this.#first(each, 0);
  }

  async #first(type: string, afterSeq: number): Promise<void> {
    const expected = this.#matching(type).find(({ seq }) => seq > afterSeq);
    const found = await this.#bed.store.events.firstReady(this.#bed.project, { type }, afterSeq);
    expect(found?.id as string | undefined).toBe(expected?.id);
  }

  #matching(type: string): Known[] {
    const matches = glob(type);
    return this.#known.filter((event) => event.ready && matches(event.type));
  }
}

/** The queue under a filter, with few and with very many types in it. */
export function queueRules(rule: Rule): void {
  rule(
    "what a filter finds next is the oldest that matches, whatever came, went, or failed beside it",
    async (bed) => {
      let run = 0;
      await fc.assert(
        fc.asyncProperty(steps, async (moves) => {
          const project = newProject(`p${run++}`);
          await ok(bed.store.projects.create(project));
          bed.project = project.id;
          const queue = new Queue(bed);
          for (const move of moves) {
            if (move.do === "arrive") await queue.arrive(move.types);
            else if (move.do === "take") await queue.take(move.type, move.max, move.end, move.besideBug);
            else if (move.do === "takeAny") await queue.take(undefined, move.max, "ack", false);
            else if (move.do === "look") await queue.look(move.type, move.after);
            else await bed.restart();
          }
        }),
        { numRuns: 15, seed: 20_261_007 },
      );
    },
    60_000,
  );

  rule(
    "a filter that matches very many types finds the one that is there behind many others",
    async (bed) => {
      const types = Array.from({ length: 300 }, (_, i) => `t.${i}`);
      await Promise.all(types.map((type) => bed.arrive({ type, payload: null })));
      const emptied = await bed.claimNext({ type: "t.*" }, 300);
      expect(emptied.map(({ event }) => event.type).sort()).toEqual([...types].sort());
      await Promise.all(Array.from({ length: 4000 }, () => bed.arrive({ type: "other", payload: null })));
      const [last] = emptied.slice(-1);
      if (!last) throw new Error("nothing was claimed");
      await bed.arrive({ type: "t.7", payload: null });
      expect((await bed.claimNext({ type: "t.*" }, 2)).map(({ event }) => event.type)).toEqual(["t.7"]);
      await bed.settled(last, RELEASE);
      expect((await bed.claimNext({ type: "t.*" }, 2)).map(({ event }) => event.id)).toEqual([last.event.id]);
      expect(await bed.claimNext({ type: "t.*" }, 2)).toEqual([]);
    },
    30_000,
  );
}
