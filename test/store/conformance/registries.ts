import { expect } from "bun:test";
import { newId } from "../../../src/kernel/ids.ts";
import { sha256Of } from "../../../src/kernel/secrets.ts";
import type { KeyRecord, Rejection } from "../../../src/store/types.ts";
import { ACK, type Bed, DAY, hash16, newProject, newSource, ok, refused } from "./bed.ts";
import type { Rule } from "./rule.ts";

function newKey(bed: Bed, name: string): KeyRecord {
  return {
    ...{ id: newId("key", 1), project: bed.project, name, kind: "application", scopes: ["inbox:read", "inbox:write"] },
    ...{ hash: sha256Of(name), state: "active", expiresAt: null, createdAt: 5, creator: "operator", hidden: false },
  };
}

/** Projects, keys and sources, and the answers that creations remember. */
export function registryRules(rule: Rule): void {
  rule("keys are made, changed and listed, also by the next run", async (bed) => {
    const { keys } = bed.store;
    const [a, b] = [newKey(bed, "a"), { ...newKey(bed, "b"), expiresAt: 99, hidden: true }];
    expect(await ok(keys.create(a))).toEqual(a);
    await ok(keys.create(b));
    const changed = { ...a, name: "c", state: "frozen" as const, scopes: [], expiresAt: 7, hidden: true };
    const { name, state, scopes, expiresAt, hidden } = changed;
    expect(await ok(keys.update(a.id, { name, state, scopes, expiresAt, hidden }))).toEqual(changed);
    expect(await ok(keys.update(a.id, { expiresAt: null }))).toEqual({ ...changed, expiresAt: null });
    await refused(keys.update(newId("key", 1), { name }), "NOT_FOUND");
    await bed.restart();
    expect(await bed.store.keys.list()).toEqual([{ ...changed, expiresAt: null }, b]);
  });

  rule("sources are made, changed, listed and deleted, each with a number that no other ever gets", async (bed) => {
    const { sources } = bed.store;
    const wanted = newSource(bed.project, "billing");
    const a = await ok(sources.create(wanted));
    expect(a).toEqual({ ...wanted, num: a.num });
    const b = await ok(sources.create(newSource(bed.project, "other")));
    const change = {
      ...{ name: "bills", kind: "stripe", settings: '{"dedup":"id"}', tokenHash: sha256Of("new"), paused: true },
      ...{ tokenSealed: new Uint8Array([3]), secretsSealed: new Uint8Array([4, 5]), managed: true },
    };
    expect(await ok(sources.update(a.id, change))).toEqual({ ...a, ...change });
    await refused(sources.update(newId("src", 1), change), "NOT_FOUND");
    expect(await ok(sources.delete(b.id))).toBeNull();
    await refused(sources.delete(b.id), "NOT_FOUND");
    await bed.restart();
    expect(await bed.store.sources.list()).toEqual([{ ...a, ...change }]);
    const c = await ok(bed.store.sources.create(newSource(bed.project, "other")));
    expect(c.num).toBeGreaterThan(b.num);
  });

  rule("a name is taken once: a source's in its project, a project's everywhere", async (bed) => {
    const { sources, projects } = bed.store;
    const other = newProject("other");
    await ok(projects.create(other));
    const a = await ok(sources.create(newSource(bed.project, "a")));
    await ok(sources.create(newSource(bed.project, "b")));
    await ok(sources.create(newSource(other.id, "a")));
    await refused(sources.create(newSource(bed.project, "a")), "NAME_TAKEN");
    await refused(sources.update(a.id, { name: "b" }), "NAME_TAKEN");
    await refused(projects.create(newProject("other")), "NAME_TAKEN");
    await refused(projects.update(bed.project, { slug: "other" }), "NAME_TAKEN");
    expect((await sources.list()).map((source) => source.name).sort()).toEqual(["a", "a", "b"]);
    expect(await ok(projects.update(bed.project, { slug: "main", title: "Main", managed: true }))).toMatchObject({
      ...{ id: bed.project, slug: "main", title: "Main", managed: true },
    });
    await refused(projects.update(newProject("none").id, { title: "x" }), "NOT_FOUND");
    expect((await projects.list()).map((project) => project.slug)).toEqual(["main", "other"]);
  });

  rule("a deleted source's events stay", async (bed) => {
    const source = await ok(bed.store.sources.create(newSource(bed.project, "billing")));
    const event = await bed.arrive({ source: source.name });
    await ok(bed.store.sources.delete(source.id));
    expect(await bed.event(event.id)).toEqual(event);
  });

  rule("a source keeps its last 100 refused transmissions, newest first, in pages", async (bed) => {
    const { sources } = bed.store;
    const a = await ok(sources.create(newSource(bed.project, "a")));
    const b = await ok(sources.create(newSource(bed.project, "b")));
    const rejection = (at: number): Rejection => ({
      ...{ at, code: "SIGNATURE_INVALID", reason: "the signature is missing", size: at, remoteAddress: "192.0.2.1" },
    });
    await ok(sources.reject([{ sourceNum: b.num, rejection: rejection(1) }]));
    const many = Array.from({ length: 130 }, (_, i) => ({ sourceNum: a.num, rejection: rejection(i) }));
    await ok(sources.reject(many.slice(0, 70)));
    await ok(sources.reject(many.slice(70)));
    const first = await sources.rejections(a.num, { limit: 60 });
    expect(first.rows[0]).toEqual(rejection(129));
    expect(first.rows).toHaveLength(60);
    const rest = await sources.rejections(a.num, { limit: 60, ...(first.next ? { before: first.next } : {}) });
    expect(rest.next).toBeUndefined();
    expect([...first.rows, ...rest.rows].map((row) => row.at)).toEqual(Array.from({ length: 100 }, (_, i) => 129 - i));
    expect((await sources.rejections(b.num, { limit: 60 })).rows).toEqual([rejection(1)]);
    await ok(sources.delete(a.id));
    await ok(sources.reject([{ sourceNum: a.num, rejection: rejection(1) }]));
    expect((await sources.rejections(a.num, { limit: 60 })).rows).toEqual([]);
  });

  rule("a creation's answer is remembered with it for 24 hours, and not without it", async (bed) => {
    const remember = (slot: string) => ({
      ...{ slot: sha256Of(slot), bodyHash: sha256Of("body") },
      answer: (created: { id: string }) => JSON.stringify({ id: created.id }),
    });
    const source = await ok(bed.store.sources.create(newSource(bed.project, "a"), remember("source")));
    const key = await ok(bed.store.keys.create(newKey(bed, "a"), remember("key")));
    const project = await ok(bed.store.projects.create(newProject("p"), remember("project")));
    await refused(bed.store.sources.create(newSource(bed.project, "a"), remember("taken")), "NAME_TAKEN");
    const thrown = bed.store.sources.create(newSource(bed.project, "b"), {
      ...remember("thrown"),
      answer: () => {
        throw new Error("no answer");
      },
    });
    await expect(thrown).rejects.toThrow("no answer");
    expect((await bed.store.sources.list()).map(({ name }) => name)).toEqual(["a"]);
    await bed.restart();
    const remembered = (slot: string) => bed.store.remembered(sha256Of(slot));
    for (const [slot, { id }] of [
      ["source", source],
      ["key", key],
      ["project", project],
    ] as const) {
      expect(await remembered(slot)).toEqual({ bodyHash: sha256Of("body"), answer: `{"id":"${id}"}` });
    }
    expect(await remembered("taken")).toBeUndefined();
    expect(await remembered("thrown")).toBeUndefined();
    await bed.clock.advance(DAY - 1);
    expect(await remembered("source")).toBeDefined();
    await bed.clock.advance(1);
    expect(await remembered("source")).toBeUndefined();
  });

  rule("an answer that made nothing can be remembered too", async (bed) => {
    await ok(bed.store.rememberAnswer(sha256Of("slot"), sha256Of("body"), '{"status":409}'));
    expect(await bed.store.remembered(sha256Of("slot"))).toEqual({
      ...{ bodyHash: sha256Of("body"), answer: '{"status":409}' },
    });
  });

  rule("a deleted project takes along all that is its, and nothing else", async (bed) => {
    const { store } = bed;
    const other = newProject("other");
    await ok(store.projects.create(other));
    const theirs = await ok(store.sources.create(newSource(other.id, "a")));
    const ours = await ok(store.sources.create(newSource(bed.project, "a")));
    const kept = await bed.arrive();
    const dedup = (sourceNum: number) => ({ sourceNum, key: hash16("k"), bodyHash: hash16("b"), ttlMs: DAY });
    const mine = await bed.arrive({ dedup: dedup(ours.num) });
    const blob = { key: "e".repeat(32), size: 300_000, contentType: "text/plain" };
    const first = await bed.arrive({ project: other.id, payload: null, blob, dedup: dedup(theirs.num) });
    const many = Array.from({ length: 1200 }, () => store.events.accept(bed.newEvent({ project: other.id })));
    await Promise.all(many);
    const [claim] = await ok(store.leases.claimNext(other.id, {}, "key_a", 1, DAY));
    if (claim) await ok(store.leases.settle(other.id, claim.event.id, "key_a", claim.lease.id, ACK));
    await ok(store.keys.create({ ...newKey(bed, "theirs"), project: other.id }));
    await ok(store.keys.create(newKey(bed, "ours")));
    expect(await ok(store.projects.delete(other.id))).toEqual([blob.key]);
    await refused(store.projects.delete(other.id), "NOT_FOUND");
    expect(await store.events.find(first.id)).toBeUndefined();
    expect(await store.upkeep.counts()).toEqual([{ project: bed.project, status: "pending", count: 2 }]);
    expect((await store.sources.list()).map(({ id }) => id)).toEqual([ours.id]);
    expect((await store.keys.list()).map(({ name }) => name)).toEqual(["ours"]);
    expect(await store.events.changesAfter(other.id, 0, 10)).toEqual([]);
    expect(await bed.event(kept.id)).toEqual(kept);
    expect((await bed.arrive({ dedup: dedup(ours.num) })).id).toBe(mine.id);
  });

  rule("what arrives while its project is being deleted is gone with it or refused, never left behind", async (bed) => {
    const other = newProject("other");
    await ok(bed.store.projects.create(other));
    await Promise.all(Array.from({ length: 1500 }, () => bed.store.events.accept(bed.newEvent({ project: other.id }))));
    let deleted = false;
    const deletion = ok(bed.store.projects.delete(other.id)).then(() => {
      deleted = true;
    });
    while (!deleted) await bed.store.events.accept(bed.newEvent({ project: other.id }));
    await deletion;
    await refused(bed.store.events.accept(bed.newEvent({ project: other.id })), "NOT_FOUND");
    expect(await bed.store.upkeep.counts()).toEqual([]);
    expect((await bed.store.projects.list()).map(({ slug }) => slug)).toEqual(["default"]);
  });

  rule("the workspace keeps its name, and its count of events by project and status", async (bed) => {
    const { workspaceId } = bed.store;
    expect(workspaceId).toMatch(/^[0-9a-f-]{36}$/);
    await bed.arrive();
    const claim = await bed.claimed(await bed.arrive());
    await bed.settled(await bed.claimed(await bed.arrive()), ACK);
    await bed.settled(claim, { action: "release", delayMs: DAY });
    await bed.restart();
    expect(bed.store.workspaceId).toBe(workspaceId);
    expect((await bed.store.upkeep.counts()).sort((a, b) => a.count - b.count)).toEqual([
      { project: bed.project, status: "done", count: 1 },
      { project: bed.project, status: "pending", count: 2 },
    ]);
    expect(await bed.store.writable()).toBe(true);
  });
}
