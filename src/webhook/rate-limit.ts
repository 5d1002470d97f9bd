import type { Clock } from "../kernel/clock.ts";
import type { RateLimit } from "./source-settings.ts";

/** A token bucket: `requests` at once, refilled evenly over `per_seconds`. It follows elapsed time. */
export class RateLimiter {
  readonly limit: RateLimit;
  readonly #clock: Clock;
  #tokens: number;
  #at: number;

  constructor(limit: RateLimit, clock: Clock) {
    this.limit = limit;
    this.#clock = clock;
    this.#tokens = limit.requests;
    this.#at = clock.gate();
  }

  /** The limiter for a limit, keeping what `before` had left where the limit is the same; null for no limit. */
  static carry(limit: RateLimit | null, before: RateLimiter | null, clock: Clock): RateLimiter | null {
    if (limit === null) return null;
    const same = before?.limit.requests === limit.requests && before.limit.per_seconds === limit.per_seconds;
    return same ? before : new RateLimiter(limit, clock);
  }

  /** Takes one; 0 where it may go on, otherwise the whole seconds to wait, at least 1. */
  take(): number {
    const now = this.#clock.gate();
    const perMs = this.limit.requests / (this.limit.per_seconds * 1000);
    this.#tokens = Math.min(this.limit.requests, this.#tokens + (now - this.#at) * perMs);
    this.#at = now;
    if (this.#tokens < 1) return Math.max(1, Math.ceil((1 - this.#tokens) / perMs / 1000));
    this.#tokens -= 1;
    return 0;
  }
}
