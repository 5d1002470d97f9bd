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
  | { do: "wait"; holder: number; filter: ModelFilter; after: number | null; timeoutMs: number }
  | { do: "takeWait"; holder: number; filter: ModelFilter; max: number; seconds: number; timeoutMs: number }
  | { do: "leave"; which: number }
  | { do: "releaseOften"; event: number; holder: number; times: number }
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
  ...([{ action: "ack" }, { action: "ack", result: { n: 1 } }, { action: "nack" }, { action: "nack" }] as const),
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

const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: one, weight: 30 },
  {
    arbitrary: fc.record({
      ...{ do: fc.constant("arrive" as const), source: fc.nat({ max: 1 }), type: fc.nat({ max: TYPES.length - 1 }) },
      again: fc.option(index, { freq: 4 }),
    }),
    weight: 18,
  },
  { arbitrary: fc.record({ do: fc.constant("together" as const), steps: together }), weight: 5 },
  {
    arbitrary: fc.record({ do: fc.constant("wait" as const), holder, filter, after: fc.option(index), timeoutMs }),
    weight: 4,
  },
  {
    arbitrary: fc.record({
      ...{ do: fc.constant("takeWait" as const), holder, filter, seconds, timeoutMs },
      max: fc.constantFrom(1, 1, 3),
    }),
    weight: 8,
  },
  { arbitrary: fc.record({ do: fc.constant("leave" as const), which: index }), weight: 2 },
  {
    arbitrary: fc.record({
      ...{ do: fc.constant("releaseOften" as const), event: index, holder },
      times: fc.constantFrom(2, 19, 22),
    }),
    weight: 1,
  },
  {
    arbitrary: fc.record({
      ...{ do: fc.constant("holdLong" as const), event: index, holder },
      times: fc.constantFrom(3, 14),
    }),
    weight: 1,
  },
  {
    arbitrary: fc.record({
      ...{ do: fc.constant("requeueMany" as const), filter, dry: fc.boolean() },
      status: fc.constantFrom("dead" as const, "done" as const, "failed" as const),
    }),
    weight: 2,
  },
  {
    arbitrary: fc.record({ do: fc.constant("pause" as const), source: fc.nat({ max: 1 }), paused: fc.boolean() }),
    weight: 2,
  },
  { arbitrary: fc.record({ do: fc.constant("freeze" as const), holder }), weight: 1 },
  { arbitrary: fc.record({ do: fc.constant("thaw" as const), holder }), weight: 2 },
  {
    arbitrary: fc.record({
      do: fc.constant("pass" as const),
      ms: fc.constantFrom(1, 1000, 20_000, 30_000, 61_000, 300_000, 3_600_000, 90_000_000),
    }),
    weight: 10,
  },
  {
    arbitrary: fc.record({
      do: fc.constant("stepWall" as const),
      ms: fc.constantFrom(-86_400_000, -1500, 700, 3_600_000, 200_000_000),
    }),
    weight: 2,
  },
  {
    arbitrary: fc.record({
      do: fc.constant("restart" as const),
      downMs: fc.constantFrom(-3_600_000, 0, 30_000, 86_400_000),
    }),
    weight: 2,
  },
);

/** A life of an inbox: it begins with a few events, so that there is something to work on. */
export const lives: fc.Arbitrary<Step[]> = fc.array(step, { minLength: 1, maxLength: 60, size: "max" });
