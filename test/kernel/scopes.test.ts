import { describe, expect, test } from "bun:test";
import { KEY_KINDS, presetScopes, SCOPE_NAMES, SCOPES, scopesOfKind } from "../../src/kernel/scopes.ts";

const APPLICATION = [
  ...["inbox:read", "inbox:write", "inbox:requeue", "errors:read", "alerts:read", "incidents:read"],
  ...["signals:write", "requests:read", "requests:write", "mcp:read", "mcp:write"],
];

describe("which kinds of key may hold which scopes", () => {
  test("a management key may hold all of them", () => {
    expect(scopesOfKind("management")).toEqual(SCOPE_NAMES);
    expect(SCOPE_NAMES).toHaveLength(20);
  });

  test("an application key may hold what an agent works with, and nothing that reads raw mail or changes the set-up", () => {
    expect([...scopesOfKind("application")].sort() as string[]).toEqual([...APPLICATION].sort());
  });

  test("an intake key may report signals only", () => {
    expect(scopesOfKind("intake")).toEqual(["signals:write"]);
  });

  test("every scope says what it allows, and some kind may hold it", () => {
    for (const scope of SCOPE_NAMES) {
      expect(SCOPES[scope].allows).not.toBe("");
      expect(KEY_KINDS).toContain(SCOPES[scope].kinds[0] ?? "intake");
    }
  });
});

describe("presets", () => {
  test("agent: the application scopes without requeueing", () => {
    const expected = APPLICATION.filter((scope) => scope !== "inbox:requeue").sort();
    expect([...presetScopes("agent", "application")].sort() as string[]).toEqual(expected);
    expect([...presetScopes("agent", "management")].sort() as string[]).toEqual(expected);
  });

  test("operator: all that the kind may hold", () => {
    for (const kind of KEY_KINDS) expect(presetScopes("operator", kind)).toEqual(scopesOfKind(kind));
  });

  test("reporter: reporting signals", () => {
    for (const kind of KEY_KINDS) expect(presetScopes("reporter", kind)).toEqual(["signals:write"]);
  });
});
