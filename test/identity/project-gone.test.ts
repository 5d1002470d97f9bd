import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { House, must, OPERATOR } from "./house.ts";

describe("while a project goes", () => {
  let house: House;

  beforeAll(async () => {
    house = await House.open();
  });

  afterAll(() => house.close());

  test("keys of others that are made or change at that moment keep what became of them", async () => {
    for (let round = 0; round < 10; round++) {
      const { projects } = house.parts.services;
      const side = must(await projects.create({ slug: `side-${round}`, title: "Side", managed: false }));
      const wish = { project: side.id, name: "k", kind: "application" as const, preset: "agent" as const };
      const doomed = must(await house.keys.create(OPERATOR, wish));
      const frozen = must(await house.create({ preset: "agent" })).key;
      const [gone, made] = await Promise.all([
        projects.delete(side.id),
        Promise.all(Array.from({ length: 5 }, () => house.create({ preset: "agent" }))),
        house.keys.move(OPERATOR, frozen, "freeze"),
      ]);
      const late = await Promise.all(Array.from({ length: 5 }, () => house.create({ preset: "agent" })));
      expect(gone).toBeUndefined();
      for (const one of [...made, ...late]) expect(house.keys.byToken(must(one).token)?.id).toBe(must(one).key.id);
      expect(house.keys.stateOf(frozen)).toBe("frozen");
      expect(house.keys.byToken(doomed.token)).toBeUndefined();
    }
  });
});
