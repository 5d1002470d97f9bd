import { describe, expect, test } from "bun:test";
import { Problem } from "../../src/kernel/problems.ts";
import type { SourceStore } from "../../src/store/store.ts";
import type { Rejection } from "../../src/store/types.ts";
import { Rejections } from "../../src/webhook/rejections.ts";
import type { Source } from "../../src/webhook/sources.ts";
import { FakeClock } from "../support/fake-clock.ts";

/** A store that takes rejections, or does not; the real one is tested in test/store. */
class Keeper {
  readonly written: { sourceNum: number; rejection: Rejection }[][] = [];
  full = false;
  readonly store = {
    reject: async (batch: { sourceNum: number; rejection: Rejection }[]) => {
      if (this.full) return new Problem("STORAGE_UNAVAILABLE", "full");
      this.written.push(batch);
      return undefined;
    },
    rejections: async () => ({ rows: [] }),
  } as unknown as SourceStore;
}

const source = { record: { num: 7 } } as unknown as Source;
const problem = (detail: string) => new Problem("SIGNATURE_INVALID", detail);

describe("what a source refused", () => {
  test("reaches the store together, a second after the first", async () => {
    const [clock, keeper] = [new FakeClock(), new Keeper()];
    const rejections = new Rejections(keeper.store, clock);
    for (let n = 0; n < 5; n++) rejections.note(source, problem(String(n)), n, "::1");
    await clock.advance(999);
    expect(keeper.written).toHaveLength(0);
    await clock.advance(1);
    expect(keeper.written.map((batch) => batch.map(({ rejection }) => rejection.reason))).toEqual([
      ["0", "1", "2", "3", "4"],
    ]);
  });

  test("of a flood the last 100 are written, whatever its size", async () => {
    const [clock, keeper] = [new FakeClock(), new Keeper()];
    const rejections = new Rejections(keeper.store, clock);
    for (let n = 0; n < 5000; n++) rejections.note(source, problem(String(n)), n, "::1");
    await rejections.flush();
    const [batch = []] = keeper.written;
    expect([batch.length, batch[0]?.rejection.reason, batch.at(-1)?.rejection.reason]).toEqual([100, "4900", "4999"]);
  });

  test("where the store cannot take it, it waits within its bound and goes in its order", async () => {
    const [clock, keeper] = [new FakeClock(), new Keeper()];
    const rejections = new Rejections(keeper.store, clock);
    keeper.full = true;
    for (let n = 0; n < 80; n++) rejections.note(source, problem(String(n)), n, "::1");
    const flushing = rejections.flush();
    for (let n = 80; n < 120; n++) rejections.note(source, problem(String(n)), n, "::1");
    await flushing;
    keeper.full = false;
    await rejections.flush();
    const reasons = keeper.written.flat().map(({ rejection }) => Number(rejection.reason));
    expect(reasons).toEqual(Array.from({ length: 100 }, (_, n) => n + 20));
  });
});
