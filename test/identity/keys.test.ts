import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { KEY_KINDS, presetScopes, SCOPE_NAMES, SCOPES, type Scope } from "../../src/kernel/scopes.ts";
import { as, code, House, must, OPERATOR } from "./house.ts";

let house: House;
beforeAll(async () => {
  house = await House.open();
});
afterAll(() => house.close());

describe("a key's token", () => {
  test("is pst_, the kind, and at least 160 random bits", async () => {
    const spelt = { management: "mgmt", application: "app", intake: "intake" };
    for (const kind of KEY_KINDS) {
      const { token } = must(await house.create({ kind, preset: "operator" }));
      const [, kindName, secret = ""] = /^pst_([a-z]+)_([A-Za-z0-9_-]+)$/.exec(token) ?? [];
      expect(kindName).toBe(spelt[kind]);
      expect(Buffer.from(secret, "base64url").length * 8).toBeGreaterThanOrEqual(160);
    }
  });

  test("finds its key, and nothing near it does", async () => {
    const { key, token } = must(await house.create({ preset: "agent" }));
    expect(house.keys.byToken(token)?.id).toBe(key.id);
    for (const other of ["", "pst_app_", token.slice(0, -1), `${token}x`, token.toUpperCase(), ` ${token}`]) {
      expect(house.keys.byToken(other)).toBeUndefined();
    }
    expect(house.keys.byToken(token.replace("pst_app_", "pst_mgmt_"))).toBeUndefined();
  });

  test("is nowhere in the data folder; its hash is", async () => {
    const own = await House.open();
    const { key, token } = must(await own.create({ preset: "agent" }));
    await own.close();
    const kept = readdirSync(own.dir).filter((name) => name.startsWith("postern.db"));
    const bytes = Buffer.concat(kept.map((name) => readFileSync(join(own.dir, name))));
    expect(bytes.includes(key.id)).toBe(true);
    expect(bytes.includes(token.split("_").slice(2).join("_"))).toBe(false);
    expect(bytes.includes(new Bun.CryptoHasher("sha256").update(token).digest())).toBe(true);
  });

  test("holds in the next run", async () => {
    const { key, token } = must(await house.create({ preset: "agent" }));
    await house.restart();
    expect(house.keys.byToken(token)).toEqual(key);
  });
});

describe("a key's scopes", () => {
  test("each may be held by the kinds of the table, and by no other", async () => {
    for (const kind of KEY_KINDS) {
      for (const scope of SCOPE_NAMES) {
        const may = (SCOPES[scope].kinds as readonly string[]).includes(kind);
        const made = await house.create({ kind, scopes: [scope] });
        expect(`${kind} ${scope} ${code(made) ?? "made"}`).toBe(`${kind} ${scope} ${may ? "made" : "INVALID_REQUEST"}`);
      }
    }
  });

  test("come from exactly one of `scopes` and `preset`", async () => {
    expect(code(await house.create({}))).toBe("INVALID_REQUEST");
    expect(code(await house.create({ scopes: ["inbox:read"], preset: "agent" }))).toBe("INVALID_REQUEST");
    expect(code(await house.create({ scopes: [] }))).toBe("INVALID_REQUEST");
    const { scopes } = await house.key({ scopes: ["inbox:read", "inbox:write", "inbox:read"] });
    expect(scopes).toEqual(["inbox:read", "inbox:write"]);
  });

  test("of a preset are those of the kind", async () => {
    for (const [kind, preset] of [
      ...([
        ["application", "agent"],
        ["application", "operator"],
        ["application", "reporter"],
      ] as const),
      ...([
        ["management", "operator"],
        ["intake", "reporter"],
        ["intake", "operator"],
      ] as const),
    ] as const) {
      expect((await house.key({ kind, preset })).scopes).toEqual(presetScopes(preset, kind));
    }
    expect((await house.key({ preset: "agent" })).scopes).not.toContain("inbox:requeue");
  });
});

describe("a key that a key makes", () => {
  const some: Scope[] = ["keys:write", "inbox:read", "inbox:write", "signals:write"];

  test("is no management key", async () => {
    const maker = await house.key({ kind: "management", preset: "operator" });
    for (const wish of [{ scopes: ["inbox:read"] }, { scopes: [] }, { preset: "agent", expiresAt: 1 }] as const) {
      expect(code(await house.create({ kind: "management", ...wish }, as(maker)))).toBe("NOT_ALLOWED");
    }
  });

  test("is no wider than its maker", async () => {
    const maker = await house.key({ kind: "management", scopes: some });
    const refused = await house.create({ scopes: ["inbox:read", "inbox:requeue"] }, as(maker));
    expect(refused).toMatchObject({ code: "SCOPE_MISSING", extra: { scope: "inbox:requeue" } });
    expect(code(await house.create({ preset: "agent" }, as(maker)))).toBe("SCOPE_MISSING");
    const child = await house.key({ scopes: ["inbox:read"] }, as(maker));
    expect([child.creator, child.scopes]).toEqual([maker.id, ["inbox:read"]]);
  });

  test("lives no longer than its maker", async () => {
    const end = house.clock.wall() + 60_000;
    const maker = await house.key({ kind: "management", scopes: some, expiresAt: end });
    expect(code(await house.create({ scopes: ["inbox:read"] }, as(maker)))).toBe("INVALID_REQUEST");
    expect(code(await house.create({ scopes: ["inbox:read"], expiresAt: end + 1 }, as(maker)))).toBe("INVALID_REQUEST");
    expect((await house.key({ scopes: ["inbox:read"], expiresAt: end }, as(maker))).expiresAt).toBe(end);
  });

  test("is no wider and lives no longer than its maker even when the maker is cut down later", async () => {
    const maker = await house.key({ kind: "management", scopes: some });
    const child = await house.key({ scopes: ["inbox:read", "inbox:write"] }, as(maker));
    const end = house.clock.wall() + 60_000;
    must(await house.keys.update(OPERATOR, maker, { scopes: ["keys:write", "inbox:read"], expiresAt: end }));
    expect(house.now(child)).toMatchObject({ scopes: ["inbox:read"], expiresAt: end });
    await house.restart();
    expect(house.now(child)).toMatchObject({ scopes: ["inbox:read"], expiresAt: end });
    must(await house.keys.update(OPERATOR, maker, { scopes: some, expiresAt: null }));
    expect(house.now(child)).toMatchObject({ scopes: ["inbox:read", "inbox:write"], expiresAt: null });
  });

  test("is not made wider or longer-lived than its maker by anyone", async () => {
    const end = house.clock.wall() + 60_000;
    const maker = await house.key({ kind: "management", scopes: some, expiresAt: end });
    const child = await house.key({ scopes: ["inbox:read"], expiresAt: end }, as(maker));
    const other = await house.key({ kind: "management", preset: "operator" });
    for (const actor of [OPERATOR, as(other)]) {
      expect(code(await house.keys.update(actor, child, { scopes: ["inbox:requeue"] }))).toBe("SCOPE_MISSING");
      expect(code(await house.keys.update(actor, child, { expiresAt: null }))).toBe("INVALID_REQUEST");
      expect(code(await house.keys.update(actor, child, { expiresAt: end + 1 }))).toBe("INVALID_REQUEST");
      expect(must(await house.keys.update(actor, child, { scopes: ["inbox:write"] })).scopes).toEqual(["inbox:write"]);
    }
  });

  test("is no more alive than its maker, and is alive again with it", async () => {
    const maker = await house.key({ kind: "management", scopes: some });
    const child = await house.key({ scopes: ["inbox:read"] }, as(maker));
    expect(house.refusal(child)).toBeUndefined();
    must(await house.keys.move(OPERATOR, maker, "freeze"));
    expect([house.refusal(child), house.keys.stateOf(child)]).toEqual(["KEY_FROZEN", "frozen"]);
    expect(house.keys.refusal(child)?.detail).toContain(maker.id);
    must(await house.keys.move(OPERATOR, maker, "contain"));
    expect(house.refusal(child)).toBe("KEY_CONTAINED");
    must(await house.keys.move(OPERATOR, maker, "lift"));
    expect(house.refusal(child)).toBeUndefined();
    must(await house.keys.hide(OPERATOR, maker));
    expect(house.refusal(child)).toBe("KEY_REVOKED");
    await house.restart();
    expect(house.refusal(child)).toBe("KEY_REVOKED");
  });

  test("is not made by a key that has lost its life since it was looked up", async () => {
    const maker = await house.key({ kind: "management", scopes: some });
    must(await house.keys.move(OPERATOR, maker, "freeze"));
    expect(code(await house.create({ scopes: ["inbox:read"] }, as(maker)))).toBe("KEY_FROZEN");
  });
});
