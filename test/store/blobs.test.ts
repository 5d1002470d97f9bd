import { expect, test } from "bun:test";
import { readdirSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Problem } from "../../src/kernel/problems.ts";
import { fileBlobs } from "../../src/store/blobs.ts";
import { tempDir } from "../support/tmp.ts";
import { ok, refused } from "./conformance/bed.ts";

const text = (value: string) => new TextEncoder().encode(value);
const DAY = 86_400_000;

test("a blob comes back byte for byte, and in ranges, from this run and the next", async () => {
  const dir = tempDir("blobs");
  const bytes = new Uint8Array(300_000).map((_, i) => i * 7);
  const key = await ok(fileBlobs(dir).put(bytes));
  expect(key).toMatch(/^[0-9a-f]{32}$/);
  const blob = await fileBlobs(dir).open(key);
  expect(blob?.size).toBe(300_000);
  expect(await blob?.bytes()).toEqual(bytes);
  expect(await blob?.slice(1000, 1010).bytes()).toEqual(bytes.slice(1000, 1010));
});

test("each has a key of its own, though the bytes are the same", async () => {
  const blobs = fileBlobs(tempDir("blobs"));
  const keys = await Promise.all(Array.from({ length: 40 }, () => ok(blobs.put(text("same")))));
  expect(new Set(keys).size).toBe(40);
  expect((await blobs.keys(Number.POSITIVE_INFINITY)).sort()).toEqual(keys.sort());
});

test("files and folders are for their owner only", async () => {
  const dir = tempDir("blobs");
  const key = await ok(fileBlobs(dir).put(text("secret")));
  expect(statSync(join(dir, key.slice(0, 2))).mode & 0o777).toBe(0o700);
  expect(statSync(join(dir, key.slice(0, 2), key)).mode & 0o777).toBe(0o600);
});

test("deleting takes what is there, and leaves alone what is no key", async () => {
  const dir = tempDir("blobs");
  const blobs = fileBlobs(dir);
  const [gone, kept] = [await ok(blobs.put(text("a"))), await ok(blobs.put(text("b")))];
  writeFileSync(join(dir, "beside"), "not a blob");
  await blobs.delete([gone, gone, "f".repeat(32), "../beside", "beside", ""]);
  expect(await blobs.open(gone)).toBeUndefined();
  expect(await (await blobs.open(kept))?.text()).toBe("b");
  expect(readdirSync(dir)).toContain("beside");
});

test("nothing but a key opens anything", async () => {
  const dir = tempDir("blobs");
  writeFileSync(join(dir, "beside"), "not a blob");
  const blobs = fileBlobs(dir);
  for (const key of ["", "..", "beside", "../beside", `..${"/".repeat(30)}`, "A".repeat(32), "0".repeat(32)]) {
    expect(await blobs.open(key)).toBeUndefined();
  }
});

test("what was written before a time is known by its file's time, and what goes meanwhile is no error", async () => {
  const dir = tempDir("blobs");
  const blobs = fileBlobs(dir);
  const [old, young] = [await ok(blobs.put(text("a"))), await ok(blobs.put(text("b")))];
  const now = Date.now();
  utimesSync(join(dir, old.slice(0, 2), old), new Date(now - DAY), new Date(now - DAY));
  const missing = old.slice(0, 2) + "0".repeat(30);
  symlinkSync("nowhere", join(dir, old.slice(0, 2), missing));
  writeFileSync(join(dir, "beside"), "not a blob");
  expect(await blobs.keys(now - DAY / 2)).toEqual([old]);
  expect((await blobs.keys(now + DAY)).sort()).toEqual([old, young].sort());
});

test("where the store refuses, nothing is written", async () => {
  const dir = tempDir("blobs");
  const refusal = new Problem("STORAGE_UNAVAILABLE", "the disk is full");
  expect(await fileBlobs(dir, () => refusal).put(text("a"))).toBe(refusal);
  expect(readdirSync(dir)).toEqual([]);
});

test("a disk that takes nothing is a refusal to send again, and leaves nothing behind", async () => {
  const dir = tempDir("blobs");
  writeFileSync(join(dir, "file"), "");
  // A file where the folder should be: no user may write there, not even root.
  const problem = await refused(fileBlobs(join(dir, "file")).put(text("a")), "STORAGE_UNAVAILABLE");
  expect(problem.headers["retry-after"]).toBe("30");
  expect(problem.detail).toContain("ENOTDIR");
  expect(readdirSync(dir)).toEqual(["file"]);
});
