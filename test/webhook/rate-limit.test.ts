import { describe, expect, test } from "bun:test";
import { RateLimiter } from "../../src/webhook/rate-limit.ts";
import { FakeClock } from "../support/fake-clock.ts";

describe("a source's rate limit", () => {
  const limit = { requests: 3, per_seconds: 60 };

  test("takes so many at once, then says after how many seconds the next one is taken", async () => {
    const clock = new FakeClock();
    const limiter = new RateLimiter(limit, clock);
    expect([1, 2, 3].map(() => limiter.take())).toEqual([0, 0, 0]);
    expect(limiter.take()).toBe(20);
    await clock.advance(19_000);
    expect(limiter.take()).toBe(1);
    await clock.advance(1000);
    expect([limiter.take(), limiter.take()]).toEqual([0, 20]);
  });

  test("saves up no more than so many", async () => {
    const clock = new FakeClock();
    const limiter = new RateLimiter(limit, clock);
    await clock.advance(3_600_000);
    expect([1, 2, 3, 4].map(() => limiter.take())).toEqual([0, 0, 0, 20]);
  });

  test("follows elapsed time, whatever the wall clock does", () => {
    const clock = new FakeClock();
    const limiter = new RateLimiter({ requests: 1, per_seconds: 60 }, clock);
    expect(limiter.take()).toBe(0);
    clock.stepWall(86_400_000);
    expect(limiter.take()).toBe(60);
    clock.stepWall(-2 * 86_400_000);
    expect(limiter.take()).toBe(60);
  });

  test("is kept through a change of something else, and begins anew where the limit itself changes", () => {
    const clock = new FakeClock();
    const limiter = new RateLimiter(limit, clock);
    limiter.take();
    expect(RateLimiter.carry({ ...limit }, limiter, clock)).toBe(limiter);
    expect(RateLimiter.carry({ ...limit, requests: 4 }, limiter, clock)).not.toBe(limiter);
    expect(RateLimiter.carry(null, limiter, clock)).toBeNull();
    expect(RateLimiter.carry(limit, null, clock)?.take()).toBe(0);
  });
});
