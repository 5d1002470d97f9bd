import { expect } from "bun:test";
import type { Inbox } from "../../src/inbox/index.ts";
import type { Id } from "../../src/kernel/ids.ts";
import { isProblem, type Problem } from "../../src/kernel/problems.ts";
import type { Claim, EventRecord } from "../../src/store/types.ts";
import type { LeaseChoice, OneStep } from "./model-steps.ts";
import type { World } from "./model-world.ts";
import { liveLease, type ModelEvent, type ModelLease, type ReferenceModel } from "./reference-model.ts";

/** What one call needs to be made, and to be compared. */
export type Scene = {
  readonly world: World;
  readonly model: ReferenceModel;
  readonly inbox: Inbox;
  eventAt(n: number): ModelEvent | undefined;
  strangeLease(): Id<"lse">;
};

/** Compares an answer with the model's, in which the call is made only then. */
type Check = () => void;

const NOTHING: Check = () => {};

/** Makes one call that is one piece of work for the store; the answer's check comes when all calls of the moment are made. */
export async function runOne(scene: Scene, step: OneStep): Promise<Check> {
  if (step.do === "claimNext") return claimNext(scene, step);
  const event = scene.eventAt(step.event);
  if (!event) return NOTHING;
  if (step.do === "claim") return claim(scene, event, step);
  if (step.do === "settle") return settle(scene, event, step);
  if (step.do === "extend") return extend(scene, event, step);
  return step.do === "requeue" ? requeue(scene, event) : purge(scene, event);
}

async function claim(scene: Scene, event: ModelEvent, step: OneStep & { do: "claim" }): Promise<Check> {
  if (scene.world.refusal(step.holder)) return NOTHING;
  const { caller, abort } = callerOf(scene, step.holder);
  const answer = scene.inbox.claim(caller, idOf(event), step.seconds * 1000);
  if (step.gone) abort();
  const real = await answer;
  return () => {
    if (step.gone) {
      // Whoever has gone holds nothing, whether or not it could have been claimed.
      expect(isProblem(real)).toBe(true);
      return;
    }
    const lease = isProblem(real) ? "" : real.lease.id;
    same(real, scene.model.claim(event, caller.holder, step.seconds * 1000, lease), event, sameLease);
  };
}

async function claimNext(scene: Scene, step: OneStep & { do: "claimNext" }): Promise<Check> {
  if (scene.world.refusal(step.holder)) return NOTHING;
  const { caller, abort } = callerOf(scene, step.holder);
  const leaseMs = step.seconds * 1000;
  const answer = scene.inbox.claimNext(caller, step.filter, { max: step.max, leaseMs, waitMs: 0 });
  if (step.gone) abort();
  const real = await answer;
  if (isProblem(real)) throw new Error(real.detail);
  return () => {
    const wanted = step.gone ? [] : scene.model.ready(step.filter).slice(0, step.max);
    expect(real.map(({ event }) => event.id)).toEqual(wanted.map(idOf));
    for (const [i, event] of wanted.entries()) {
      const one = real[i];
      if (one) same(one, scene.model.claim(event, caller.holder, leaseMs, one.lease.id), event, sameLease);
    }
  };
}

async function settle(scene: Scene, event: ModelEvent, step: OneStep & { do: "settle" }): Promise<Check> {
  const named = nameLease(scene, event, step.lease, step.which);
  if (!named) return NOTHING;
  const caller = { project: scene.world.project, holder: named.holder };
  const real = await scene.inbox.settle(caller, idOf(event), named.lease, step.act);
  return () =>
    same(real, scene.model.settle(event, named.holder, named.lease, step.act), event, (settled, wanted) => {
      expect([settled.event.status, settled.event.attempts, settled.retryAt]).toEqual([
        ...[wanted.status, wanted.attempts, wanted.due],
      ]);
    });
}

async function extend(scene: Scene, event: ModelEvent, step: OneStep & { do: "extend" }): Promise<Check> {
  const named = nameLease(scene, event, step.lease, step.which);
  if (!named) return NOTHING;
  const caller = { project: scene.world.project, holder: named.holder };
  const real = await scene.inbox.extend(caller, idOf(event), named.lease, step.seconds * 1000);
  return () => same(real, scene.model.extend(event, named.holder, named.lease, step.seconds * 1000), event, sameLease);
}

async function requeue(scene: Scene, event: ModelEvent): Promise<Check> {
  const real = await scene.inbox.requeue(scene.world.project, idOf(event), "operator");
  return () => same(real, scene.model.requeue(event), event, sameStatus);
}

async function purge(scene: Scene, event: ModelEvent): Promise<Check> {
  const real = await scene.inbox.purge(scene.world.project, idOf(event), "operator");
  return () => same(isProblem(real) ? real : real.event, scene.model.purge(event), event, sameStatus);
}

/** Who settles, and which lease is named. Undefined where there is none of that sort. */
function nameLease(
  { world, strangeLease }: Scene,
  event: ModelEvent,
  choice: LeaseChoice,
  which: number,
): { holder: string; lease: Id<"lse"> | undefined } | undefined {
  const live = liveLease(event);
  const some = world.holder(which % world.keys.length);
  if (choice === "absent") return { holder: live?.holder ?? some, lease: undefined };
  if (choice === "unknown") return { holder: live?.holder ?? some, lease: strangeLease() };
  const lease: ModelLease | undefined = choice === "old" ? event.leases[which % event.leases.length] : live;
  if (!lease) return undefined;
  const other = world.keys.find((key) => key.id !== lease.holder)?.id ?? "";
  return { holder: choice === "foreign" ? other : lease.holder, lease: lease.id as Id<"lse"> };
}

/** Both refused with the same code, or both answered alike. */
function same<R, W>(real: R | Problem, wanted: string | W, event: ModelEvent, alike: (real: R, wanted: W) => void) {
  if (isProblem(real) || typeof wanted === "string") {
    expect(isProblem(real) ? real.code : "answered").toBe(typeof wanted === "string" ? wanted : "answered");
    if (isProblem(real)) expect(real.extra.event_status).toBe(event.status);
  } else alike(real, wanted);
}

function sameLease({ lease }: Claim, wanted: ModelLease): void {
  expect([lease.id, lease.holder, lease.expiresAt]).toEqual([
    wanted.id as Id<"lse">,
    ...[wanted.holder, wanted.expires],
  ]);
}

function sameStatus(real: EventRecord, wanted: ModelEvent): void {
  expect([real.status, real.attempts, real.purged]).toEqual([wanted.status, wanted.attempts, wanted.purged]);
}

function callerOf({ world }: Scene, holder: number) {
  const gone = new AbortController();
  const caller = { project: world.project, holder: world.holder(holder), signal: gone.signal };
  return { caller, abort: () => gone.abort() };
}

function idOf(event: ModelEvent): Id<"evt"> {
  return event.id as Id<"evt">;
}
