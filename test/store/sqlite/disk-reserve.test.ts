import { expect, test } from "bun:test";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { DiskReserve } from "../../../src/store/sqlite/disk-reserve.ts";
import { tempDir } from "../../support/tmp.ts";

const SIZE = 3_000_000;

test("the reserve is written out, so that its space is truly taken", () => {
  const path = join(tempDir("reserve"), "reserve");
  const reserve = new DiskReserve(path, SIZE);
  expect(reserve.spent).toBe(false);
  expect(statSync(path).size).toBe(SIZE);
  expect(statSync(path).blocks * 512).toBeGreaterThanOrEqual(SIZE);
  expect(readFileSync(path).every((byte) => byte === 0)).toBe(true);
});

test("it is given up once, and laid anew when there is room", () => {
  const path = join(tempDir("reserve"), "reserve");
  const reserve = new DiskReserve(path, SIZE);
  expect([reserve.spend(), reserve.spent, existsSync(path)]).toEqual([true, true, false]);
  expect(reserve.spend()).toBe(false);
  expect([reserve.restore(), reserve.spent, statSync(path).size]).toEqual([true, false, SIZE]);
  expect(reserve.spend()).toBe(true);
});

test("the next run finds it laid, and one of another size is laid anew", () => {
  const path = join(tempDir("reserve"), "reserve");
  new DiskReserve(path, SIZE);
  const { mtimeMs } = statSync(path);
  new DiskReserve(path, SIZE);
  expect(statSync(path).mtimeMs).toBe(mtimeMs);
  new DiskReserve(path, 1000);
  expect(statSync(path).size).toBe(1000);
});

test("a reserve of nothing is none: it can be given up and is back at once", () => {
  const path = join(tempDir("reserve"), "reserve");
  const reserve = new DiskReserve(path, 0);
  expect(existsSync(path)).toBe(false);
  expect([reserve.spend(), reserve.restore(), reserve.spent]).toEqual([true, true, false]);
});
