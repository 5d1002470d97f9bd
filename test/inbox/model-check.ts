import { expect } from "bun:test";
import type { Id } from "../../src/kernel/ids.ts";
import { EVENT_STATUSES, type EventRecord } from "../../src/store/types.ts";
import type { Scene } from "./model-one.ts";
import { must } from "./model-world.ts";
import { liveLease, type ModelEvent } from "./reference-model.ts";

/** Every event that was accepted is there once, and stands and is held as the model says; nothing else is there. */
export async function checkEvents({ inbox, model, world }: Scene): Promise<void> {
  const query = { project: world.project, statuses: EVENT_STATUSES, limit: 1000 };
  const { rows, next } = await inbox.list(query);
  expect(next).toBeUndefined();
  expect(rows.map(standing)).toEqual(model.events.map(modelStanding));
  for (const [i, event] of model.events.entries()) {
    const lease = rows[i] && (await inbox.lease(rows[i]));
    const live = liveLease(event);
    expect(lease && [lease.id, lease.holder, lease.expiresAt]).toEqual(
      live && [live.id as Id<"lse">, live.holder, live.expires],
    );
    if (event.attempts > 5 || event.releases > 20) throw new Error("attempts and releases are bounded");
  }
}

/** The counts by status add up, and each event's history tells what happened to it, no line more and none less. */
export async function checkHistories({ inbox, model, world }: Scene): Promise<void> {
  const counts = await world.house.services.store.upkeep.counts();
  const ours = counts.filter(({ project }) => project === world.project);
  expect(ours.reduce((sum, { count }) => sum + count, 0)).toBe(model.events.length);
  for (const event of model.events) {
    const record = must(await inbox.get(world.project, event.id as Id<"evt">));
    const kinds = (await inbox.history(record)).map((entry) => entry.kind);
    // Sorted: where a lease ends in the moment in which another thing happens, either line may stand first.
    expect(kinds.sort()).toEqual([...event.history].sort());
  }
}

function standing(event: EventRecord) {
  const { id, source, type, verified, status, attempts, purged, dueAt, receivedAt } = event;
  return { id, source, type, verified, status, attempts, purged, due: dueAt, receivedAt };
}

function modelStanding(event: ModelEvent) {
  const { id, source, type, verified, status, attempts, purged, due, receivedAt } = event;
  return { id: id as Id<"evt">, source, type, verified, status, attempts, purged, due, receivedAt };
}
