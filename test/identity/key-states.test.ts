import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { KeyMove } from "../../src/identity/index.ts";
import type { KeyRecord } from "../../src/store/types.ts";
import { turns } from "../support/fake-clock.ts";
import { as, code, House, must, OPERATOR } from "./house.ts";

let house: House;
let manager: KeyRecord;
beforeAll(async () => {
  house = await House.open();
  manager = await house.key({ kind: "management", preset: "operator" });
});
afterAll(() => house.close());

const move = (key: KeyRecord, to: KeyMove, actor = OPERATOR) => house.keys.move(actor, key, to);

describe("a key's states", () => {
  test("each is refused with its own code", async () => {
    const key = await house.key();
    expect(house.refusal(key)).toBeUndefined();
    must(await move(key, "freeze"));
    expect(house.refusal(key)).toBe("KEY_FROZEN");
    must(await move(key, "contain"));
    expect(house.refusal(key)).toBe("KEY_CONTAINED");
    must(await move(key, "revoke"));
    expect(house.refusal(key)).toBe("KEY_REVOKED");
    const short = await house.key({ preset: "agent", expiresAt: house.clock.wall() + 1000 });
    await house.clock.advance(1000);
    expect([house.refusal(short), house.keys.stateOf(short)]).toEqual(["KEY_EXPIRED", "expired"]);
  });

  test("frozen is thawed by a person, or by a management key that is not itself", async () => {
    for (const actor of [OPERATOR, as(manager)]) {
      const key = await house.key();
      must(await move(key, "freeze", actor));
      expect(must(await move(key, "thaw", actor)).state).toBe("active");
      expect(house.refusal(key)).toBeUndefined();
    }
  });

  test("contained is lifted by a person only, and thawing does not get around it", async () => {
    const key = await house.key();
    must(await move(key, "freeze"));
    must(await move(key, "contain", as(manager)));
    expect(code(await move(key, "lift", as(manager)))).toBe("NOT_ALLOWED");
    expect(code(await move(key, "thaw", as(manager)))).toBe("STATE_CONFLICT");
    expect(code(await move(key, "freeze", as(manager)))).toBe("STATE_CONFLICT");
    expect(house.refusal(key)).toBe("KEY_CONTAINED");
    expect(must(await move(key, "lift")).state).toBe("active");
  });

  test("revoked is final", async () => {
    const key = await house.key();
    must(await move(key, "revoke"));
    for (const to of ["freeze", "thaw", "contain", "lift"] as const) {
      expect(code(await move(key, to))).toBe("STATE_CONFLICT");
    }
    expect(must(await move(key, "revoke")).state).toBe("revoked");
  });

  test("revoked is final though another change came at the same moment", async () => {
    for (const other of ["freeze", "contain"] as const) {
      const key = await house.key();
      const [revoked, late] = await Promise.all([move(key, "revoke"), move(key, other)]);
      expect(must(revoked).state).toBe("revoked");
      expect(code(late)).toBe("STATE_CONFLICT");
      await house.parts.services.keys.load();
      expect(house.keys.stateOf(key)).toBe("revoked");
    }
  });

  test("a move to where it is already changes nothing and is no error", async () => {
    const key = await house.key();
    must(await move(key, "freeze"));
    expect(must(await move(key, "freeze")).state).toBe("frozen");
    expect(must(await move(await house.key(), "thaw")).state).toBe("active");
  });
});

describe("no key", () => {
  test("edits, thaws or lifts itself; it may freeze, contain, revoke or delete itself", async () => {
    const self = () => house.key({ kind: "management", preset: "operator" });
    const one = await self();
    expect(code(await house.keys.update(as(one), one, { name: "x" }))).toBe("NOT_ALLOWED");
    must(await move(one, "freeze", as(one)));
    expect(code(await move(one, "thaw", as(one)))).toBe("NOT_ALLOWED");
    const two = await self();
    must(await move(two, "contain", as(two)));
    expect(code(await move(two, "lift", as(two)))).toBe("NOT_ALLOWED");
    const three = await self();
    must(await move(three, "revoke", as(three)));
    const four = await self();
    must(await house.keys.hide(as(four), four));
  });

  test("edits one that is wider or lives longer than itself", async () => {
    const end = house.clock.wall() + 60_000;
    const narrow = await house.key({ kind: "management", scopes: ["keys:write", "inbox:read"], expiresAt: end });
    const wider = await house.key({ scopes: ["inbox:write"], expiresAt: end });
    const longer = await house.key({ scopes: ["inbox:read"] });
    for (const key of [wider, longer]) {
      expect(code(await house.keys.update(as(narrow), key, { scopes: ["inbox:read"] }))).toBe("NOT_ALLOWED");
    }
    const like = await house.key({ scopes: ["inbox:read"], expiresAt: end });
    expect(code(await house.keys.update(as(narrow), like, { scopes: ["inbox:write"] }))).toBe("SCOPE_MISSING");
    expect(code(await house.keys.update(as(narrow), like, { expiresAt: null }))).toBe("INVALID_REQUEST");
    expect(must(await house.keys.update(as(narrow), like, { name: "new" })).name).toBe("new");
  });

  test("does anything once it is not active, though it was when its request came", async () => {
    const gone = await house.key({ kind: "management", preset: "operator" });
    const key = await house.key();
    must(await move(gone, "contain"));
    for (const answer of [
      await move(key, "revoke", as(gone)),
      await house.keys.hide(as(gone), key),
      await house.keys.update(as(gone), key, { name: "x" }),
    ]) {
      expect(code(answer)).toBe("KEY_CONTAINED");
    }
    expect(house.refusal(key)).toBeUndefined();
  });
});

describe("losing `active`", () => {
  for (const to of ["freeze", "contain", "revoke"] as const) {
    test(`by ${to}: ends the waits at once and gives the leases back uncounted; others keep theirs`, async () => {
      const [key, other] = [await house.key(), await house.key()];
      const [event, others] = [await house.leasedBy(key), await house.leasedBy(other)];
      const [wait, otherWait] = [house.waitOf(key), house.waitOf(other)];
      must(await move(key, to));
      expect(await house.standing(event)).toBe("pending 0");
      expect(await house.standing(others)).toBe("claimed 0");
      expect([wait.ended, otherWait.ended]).toEqual([true, false]);
    });
  }

  test("takes the life of the keys it made, and of those they made", async () => {
    const maker = await house.key({ kind: "management", preset: "operator" });
    const child = await house.key({ preset: "agent" }, as(maker));
    const [event, wait] = [await house.leasedBy(child), house.waitOf(child)];
    must(await move(maker, "freeze"));
    expect(await house.standing(event)).toBe("pending 0");
    expect(wait.ended).toBe(true);
  });

  test("by its end: at that moment, and not before", async () => {
    const end = house.clock.wall() + 3 * 86_400_000;
    const key = await house.key({ preset: "agent", expiresAt: end });
    await house.clock.advance(end - house.clock.wall() - 2000);
    const [event, wait] = [await house.leasedBy(key), house.waitOf(key)];
    await house.clock.advance(1999);
    expect([await house.standing(event), wait.ended, house.refusal(key)]).toEqual(["claimed 0", false, undefined]);
    await house.clock.advance(1);
    expect([await house.standing(event), wait.ended]).toEqual(["pending 0", true]);
    expect(house.refusal(key)).toBe("KEY_EXPIRED");
  });

  test("by its end, which the wall clock may step to: within a minute, and its requests at once", async () => {
    const key = await house.key({ preset: "agent", expiresAt: house.clock.wall() + 86_400_000 });
    const wait = house.waitOf(key);
    house.clock.stepWall(86_400_000);
    expect(house.refusal(key)).toBe("KEY_EXPIRED");
    await house.clock.advance(60_000);
    expect(wait.ended).toBe(true);
    house.clock.stepWall(-86_400_000);
  });

  test("by its end that was moved nearer; not by one that was moved away", async () => {
    const soon = house.clock.wall() + 60_000;
    const [nearer, away] = [await house.key(), await house.key({ preset: "agent", expiresAt: soon })];
    const waits = [house.waitOf(nearer), house.waitOf(away)];
    must(await house.keys.update(OPERATOR, nearer, { expiresAt: soon }));
    must(await house.keys.update(OPERATOR, away, { expiresAt: null }));
    await house.clock.advance(60_000);
    expect(waits.map(({ ended }) => ended)).toEqual([true, false]);
  });

  test("an end that has passed is refused, for a new key and for a change", async () => {
    const now = house.clock.wall();
    expect(code(await house.create({ preset: "agent", expiresAt: now }))).toBe("INVALID_REQUEST");
    expect(code(await house.keys.update(OPERATOR, await house.key(), { expiresAt: now }))).toBe("INVALID_REQUEST");
    const over = await house.key({ preset: "agent", expiresAt: now + 1000 });
    await house.clock.advance(1000);
    expect(must(await house.keys.update(OPERATOR, over, { name: "kept its end" })).expiresAt).toBe(now + 1000);
  });

  test("of a scope to read or work the inbox ends what the key holds by it", async () => {
    const key = await house.key({ scopes: ["inbox:read", "inbox:write", "signals:write"] });
    const [event, wait] = [await house.leasedBy(key), house.waitOf(key)];
    must(await house.keys.update(OPERATOR, key, { scopes: ["inbox:read", "inbox:write"] }));
    expect([await house.standing(event), wait.ended]).toEqual(["claimed 0", false]);
    must(await house.keys.update(OPERATOR, key, { scopes: ["inbox:write"] }));
    expect([await house.standing(event), wait.ended]).toEqual(["pending 0", true]);
  });
});

describe("deleting a key", () => {
  test("revokes it and hides it from the list and by id, also in the next run", async () => {
    const { key, token } = must(await house.create({ preset: "agent" }));
    const wait = house.waitOf(key);
    must(await house.keys.hide(OPERATOR, key));
    await turns();
    expect(wait.ended).toBe(true);
    for (const again of [false, true]) {
      if (again) await house.restart();
      expect(house.keys.get(house.project, key.id)).toBeUndefined();
      expect(house.keys.list(house.project).map(({ id }) => id)).not.toContain(key.id);
      expect(house.keys.byToken(token)?.state).toBe("revoked");
      expect(house.refusal(key)).toBe("KEY_REVOKED");
    }
    expect(code(await house.keys.hide(OPERATOR, key))).toBe("NOT_FOUND");
  });

  test("a key is shown in its own project only", async () => {
    const key = await house.key();
    const other = must(await house.parts.services.projects.create({ slug: "other", title: "Other", managed: false }));
    expect(house.keys.get(other.id, key.id)).toBeUndefined();
    expect(house.keys.list(other.id)).toEqual([]);
    expect(house.keys.get(house.project, key.id)).toEqual(key);
  });
});
