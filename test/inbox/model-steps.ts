import fc from "fast-check";
import type { Act, ModelFilter } from "./reference-model.ts";

/** Which lease a settle names: the live one by its holder; one of all there ever were; the live one by another key; none; one that never was. */
export type LeaseChoice = "live" | "old" | "foreign" | "absent" | "unknown";
export const SOURCES = ["shop", "lab"] as const;
export const TYPES = ["order.paid", "order.sent", "alarm"] as const;
export const HOLDERS = 3;

/** Numbers pick among what there is at that time, modulo its count. */
export type OneStep =
  | { do: "claim"; event: number; holder: number; seconds: number; gone: boolean }
  | { do: "claimNext"; holder: number; filter: ModelFilter; max: number; seconds: number; gone: boolean }
  | { do: "settle"; event: number; lease: LeaseChoice; which: number; act: Act }
  | { do: "extend"; event: number; lease: LeaseChoice; which: number; seconds: number }
  | { do: "requeue"; event: number }
  | { do: "purge"; event: number };

export type Step =
  | OneStep
  | { do: "together"; steps: OneStep[] }
  | { do: "arrive"; source: number; type: number; again: number | null }
  | { do: "burst"; source: number; types: number[] }
  | { do: "leaveAsItComes"; holder: number; source: number; type: number }
  | { do: "wait"; holder: number; filter: ModelFilter; after: number | null; timeoutMs: number }
  | { do: "takeWait"; holder: number; filter: ModelFilter; max: number; seconds: number; timeoutMs: number }
  | { do: "leave"; which: number }
  | { do: "releaseOften"; event: number; holder: number; times: number }
  | { do: "failOften"; event: number; holder: number; times: number }
  | { do: "holdLong"; event: number; holder: number; times: number }
  | { do: "requeueMany"; status: "dead" | "done" | "failed"; filter: ModelFilter; dry: boolean }
  | { do: "pause"; source: number; paused: boolean }
  | { do: "freeze"; holder: number }
  | { do: "thaw"; holder: number }
  | { do: "pass"; ms: number }
  | { do: "stepWall"; ms: number }
  | { do: "restart"; downMs: number };

const index = fc.nat({ max: 1000 });
const holder = fc.nat({ max: HOLDERS - 1 });
const seconds = fc.constantFrom(30, 45, 300, 3600);
const gone = fc.nat({ max: 9 }).map((n) => n === 0);
const filter: fc.Arbitrary<ModelFilter> = fc.constantFrom<ModelFilter>(
  ...[{}, {}, { source: "shop" }, { type: "order.*" }, { type: "alarm" }, { verified: false }],
  { source: "lab", type: "order.paid" },
);
const act: fc.Arbitrary<Act> = fc.constantFrom<Act>(
  ...([{ action: "ack" }, { action: "ack", result: null }, { action: "nack" }, { action: "nack" }] as const),
  ...([
    { action: "nack", retry: true, reason: "no" },
    { action: "nack", retry: false },
  ] as const),
  ...([{ action: "release" }, { action: "release", delay_seconds: 20 }] as const),
);
const lease = fc.constantFrom<LeaseChoice>("live", "live", "live", "live", "old", "foreign", "absent", "unknown");
/** Off the round numbers of leases and retries, so that time-outs seldom fall on them. */
const timeoutMs = fc.constantFrom(25_007, 90_013, 299_999);

const claim = fc.record({ do: fc.constant("claim" as const), event: index, holder, seconds, gone });
const claimNext = fc.record({
  ...{ do: fc.constant("claimNext" as const), holder, filter, seconds, gone },
  max: fc.constantFrom(1, 1, 2, 5),
});
const settle = fc.record({ do: fc.constant("settle" as const), event: index, lease, which: index, act });
const extend = fc.record({ do: fc.constant("extend" as const), event: index, lease, which: index, seconds });
const requeue = fc.record({ do: fc.constant("requeue" as const), event: index });
const purge = fc.record({ do: fc.constant("purge" as const), event: index });
const one: fc.Arbitrary<OneStep> = fc.oneof(
  { arbitrary: claim, weight: 3 },
  { arbitrary: claimNext, weight: 5 },
  { arbitrary: settle, weight: 9 },
  { arbitrary: extend, weight: 2 },
  { arbitrary: requeue, weight: 2 },
  { arbitrary: purge, weight: 1 },
);

/** A claim whose caller has gone is undone by a second piece of work, which others of the same moment come before. */
const together = fc
  .array(one, { maxLength: 6 })
  .map((steps) => steps.map((step) => ("gone" in step ? { ...step, gone: false } : step)));

const after: fc.Arbitrary<number | null> = fc.option(index);
const source = fc.nat({ max: SOURCES.length - 1 });
const type = fc.nat({ max: TYPES.length - 1 });
const done = <T extends string>(name: T) => fc.constant(name);

const arrive = fc.record({ do: done("arrive"), source, type, again: fc.option(index, { freq: 4 }) });
const rush: fc.Arbitrary<Step>[] = [
  fc.record({ do: done("burst"), source, types: fc.array(type, { minLength: 2, maxLength: 4 }) }),
  fc.record({ do: done("leaveAsItComes"), holder, source, type }),
];
const waiting: fc.Arbitrary<Step>[] = [
  fc.record({ do: done("wait"), holder, filter, after, timeoutMs }),
  fc.record({ do: done("takeWait"), holder, filter, max: fc.constantFrom(1, 1, 3), seconds, timeoutMs }),
  fc.record({ do: done("leave"), which: index }),
];
/** Whatever has a bound is brought to it. */
const bounded: fc.Arbitrary<Step>[] = [
  fc.record({ do: done("releaseOften"), event: index, holder, times: fc.constantFrom(2, 12, 22) }),
  fc.record({ do: done("failOften"), event: index, holder, times: fc.constantFrom(2, 5) }),
  fc.record({ do: done("holdLong"), event: index, holder, times: fc.constantFrom(3, 14) }),
];
const requeueMany = fc.record({
  ...{ do: done("requeueMany"), filter, dry: fc.boolean() },
  status: fc.constantFrom("dead" as const, "done" as const, "failed" as const),
});
const pass = fc.record({
  do: done("pass"),
  ms: fc.constantFrom(1, 1000, 20_000, 30_000, 61_000, 300_000, 3_600_000, 90_000_000),
});
const stepWall = fc.record({
  do: done("stepWall"),
  ms: fc.constantFrom(-86_400_000, -1500, 700, 3_600_000, 200_000_000),
});
const restart = fc.record({ do: done("restart"), downMs: fc.constantFrom(-3_600_000, 0, 30_000, 86_400_000) });

const weighed = (weight: number, ...arbitraries: fc.Arbitrary<Step>[]) => ({
  weight,
  arbitrary: fc.oneof(...arbitraries),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  weighed(30, one),
  weighed(20, arrive),
  weighed(5, ...rush),
  weighed(5, fc.record({ do: done("together"), steps: together })),
  weighed(14, ...waiting),
  weighed(4, ...bounded),
  weighed(2, requeueMany),
  weighed(2, fc.record({ do: done("pause"), source, paused: fc.boolean() })),
  weighed(1, fc.record({ do: done("freeze"), holder })),
  weighed(2, fc.record({ do: done("thaw"), holder })),
  weighed(10, pass),
  weighed(2, stepWall),
  weighed(2, restart),
);

/** A life of an inbox. */
export const lives: fc.Arbitrary<Step[]> = fc.array(step, { minLength: 1, maxLength: 60, size: "max" });
