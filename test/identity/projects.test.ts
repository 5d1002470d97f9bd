import { describe, expect, test } from "bun:test";
import { DEFAULT_PROJECT } from "../../src/identity/index.ts";
import { idBytes, uuidText } from "../../src/kernel/ids.ts";
import { turns } from "../support/fake-clock.ts";
import { code, House, must, OPERATOR } from "./house.ts";

/** A test with a data folder of its own. */
function houseTest(name: string, run: (house: House) => Promise<void>): void {
  test(name, async () => {
    const house = await House.open();
    try {
      await run(house);
    } finally {
      await house.close();
    }
  });
}

const projectsOf = (house: House) => house.parts.services.projects;
const other = { slug: "shop", title: "My shop", managed: false };

describe("projects", () => {
  houseTest("the default one is there from the first start, and made once", async (house) => {
    expect(projectsOf(house).list()).toMatchObject([{ slug: DEFAULT_PROJECT, managed: false }]);
    const before = projectsOf(house).list();
    await house.restart();
    expect(projectsOf(house).list()).toEqual(before);
  });

  houseTest("one that was renamed or deleted does not come back with the next start", async (house) => {
    const made = must(await projectsOf(house).create(other));
    expect(await projectsOf(house).delete(house.project)).toBeUndefined();
    await house.restart();
    expect(projectsOf(house).list()).toEqual([made]);
  });

  houseTest("is found by id, by the UUID of the same bits, and by slug", async (house) => {
    const made = must(await projectsOf(house).create(other));
    const uuid = uuidText(idBytes("prj", made.id) ?? new Uint8Array(16));
    for (const name of [made.id, uuid, uuid.toUpperCase(), "shop"]) expect(projectsOf(house).find(name)).toEqual(made);
    for (const name of ["", "SHOP", "prj_", made.id.slice(0, -1)]) expect(projectsOf(house).find(name)).toBeUndefined();
    const odd = must(await projectsOf(house).create({ ...other, slug: "0193a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b" }));
    expect(projectsOf(house).find(odd.slug)).toEqual(odd);
  });

  houseTest("a slug is used once", async (house) => {
    must(await projectsOf(house).create(other));
    expect(code(await projectsOf(house).create(other))).toBe("NAME_TAKEN");
    expect(code(await projectsOf(house).update(house.project, { slug: "shop" }))).toBe("NAME_TAKEN");
    expect(projectsOf(house).find(DEFAULT_PROJECT)?.id).toBe(house.project);
    const renamed = must(await projectsOf(house).update(house.project, { slug: "main", title: "Main" }));
    expect(projectsOf(house).find("main")).toEqual(renamed);
  });

  houseTest("the last one cannot be deleted, also where two go at once", async (house) => {
    expect(code(await projectsOf(house).delete(house.project))).toBe("STATE_CONFLICT");
    const made = must(await projectsOf(house).create(other));
    const answers = await Promise.all([projectsOf(house).delete(made.id), projectsOf(house).delete(house.project)]);
    expect(answers.map(code)).toEqual([undefined, "STATE_CONFLICT"]);
    expect(code(await projectsOf(house).delete(made.id))).toBe("NOT_FOUND");
  });

  houseTest("deleting one removes its keys, sources and events, and no other's", async (house) => {
    const { keys, sources, store } = house.parts.services;
    const { id: project } = must(await projectsOf(house).create(other));
    const fields = { project, channel: "webhook", kind: "unsigned", fields: {}, managed: false } as const;
    const { source } = must(await sources.create({ ...fields, name: "theirs" }));
    const ours = must(await sources.create({ ...fields, project: house.project, name: "ours" })).source;
    const { key, token } = must(
      await keys.create(OPERATOR, { project, name: "k", kind: "application", preset: "agent" }),
    );
    const kept = await house.key();
    const what = { channel: "webhook", type: "t", verified: false, headers: "{}", payload: "1", blob: null } as const;
    const event = must(await store.events.accept({ ...what, project, source: "theirs" }));
    const wait = house.waitOf(key);
    expect(await projectsOf(house).delete(project)).toBeUndefined();
    await turns();
    expect(wait.ended).toBe(true);
    for (const again of [false, true]) {
      if (again) await house.restart();
      expect(projectsOf(house).find("shop")).toBeUndefined();
      expect(house.keys.byToken(token)).toBeUndefined();
      expect(house.refusal(key)).toBe("KEY_REVOKED");
      expect(house.parts.services.sources.byToken(source.token)).toBeUndefined();
      expect(await house.parts.services.store.events.find(event.id)).toBeUndefined();
      expect(house.now(kept)).toEqual(kept);
      expect(house.parts.services.sources.byToken(ours.token)?.record.name).toBe("ours");
    }
  });

  test("one that the store could not delete whole goes on with its sources and keys", async () => {
    const house = await House.open();
    const { sources, store } = house.parts.services;
    const { id: project } = must(await projectsOf(house).create(other));
    const { source } = must(
      await sources.create({ project, name: "s", channel: "webhook", kind: "unsigned", fields: {}, managed: false }),
    );
    const what = { channel: "webhook", type: "t", verified: false, headers: "{}", payload: "1", blob: null } as const;
    const many = Array.from({ length: 1000 }, () => store.events.accept({ ...what, project, source: "s" }));
    for (const one of await Promise.all(many)) must(one);
    // More than one step is needed, and the store stops after the first.
    const deletion = projectsOf(house).delete(project);
    await store.close();
    expect(code(await deletion)).toBe("STORAGE_UNAVAILABLE");
    expect(projectsOf(house).find("shop")?.id).toBe(project);
    expect(sources.byToken(source.token)?.record.name).toBe("s");
  });

  houseTest("one that is being deleted is not brought back by a change of the same moment", async (house) => {
    const { id } = must(await projectsOf(house).create(other));
    const change = projectsOf(house).update(id, { title: "New" });
    await projectsOf(house).delete(id);
    await change;
    expect(projectsOf(house).find(id)).toBeUndefined();
  });
});
