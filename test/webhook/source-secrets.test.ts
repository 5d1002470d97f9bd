import { describe, expect, test } from "bun:test";
import { liveSecrets, rotated } from "../../src/webhook/source-secrets.ts";

describe("the secrets of a source", () => {
  const now = 1_000_000;

  test("the one before counts for 24 hours, or as long as it is told", () => {
    const day = rotated([{ secret: "old", until: null }], "new", now);
    expect(day).toEqual([
      { secret: "new", until: null },
      { secret: "old", until: now + 86_400_000 },
    ]);
    expect(liveSecrets({ secrets: day }, now + 86_399_999)).toEqual(["new", "old"]);
    expect(liveSecrets({ secrets: day }, now + 86_400_000)).toEqual(["new"]);
    expect(rotated([{ secret: "old", until: null }], "new", now, 0)).toEqual([{ secret: "new", until: null }]);
  });

  test("a later rotation shortens what is left of an earlier one, and never prolongs it", () => {
    const before = [
      { secret: "b", until: null },
      { secret: "a", until: now + 10_000 },
    ];
    expect(rotated(before, "c", now, 60)).toEqual([
      { secret: "c", until: null },
      { secret: "b", until: now + 60_000 },
      { secret: "a", until: now + 10_000 },
    ]);
    expect(rotated(before, "c", now, 1).map(({ until }) => until)).toEqual([null, now + 1000, now + 1000]);
  });

  test("one that is set again counts without an end, and once", () => {
    expect(rotated([{ secret: "a", until: now + 5 }], "a", now)).toEqual([{ secret: "a", until: null }]);
  });

  test("at most eight count", () => {
    let secrets = rotated([], "0", now);
    for (let n = 1; n < 20; n++) secrets = rotated(secrets, String(n), now);
    expect(secrets.map(({ secret }) => secret)).toEqual(["19", "18", "17", "16", "15", "14", "13", "12"]);
  });
});
