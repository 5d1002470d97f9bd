import type { Clock } from "../../src/kernel/clock.ts";

/** Where the wall clock of a fake stands first: an arbitrary moment, with milliseconds. */
export const FAKE_START = Date.UTC(2026, 9, 7, 9, 12, 44, 120);

type Timer = { at: number; order: number; fn: () => void };

/**
 * A clock that stands still until a test moves it. Elapsed time moves gate and wall together; a step moves the wall
 * alone, as NTP or an operator does. Timers fire in the order in which they are due, each at its own time.
 */
export class FakeClock implements Clock {
  readonly #timers = new Map<number, Timer>();
  #wall: number;
  #gate: number;
  #made = 0;

  /** `lastGate`: the highest gate time an earlier run recorded; as with the real clock, this one starts no earlier. */
  constructor(lastGate = 0, wall = FAKE_START) {
    this.#wall = wall;
    this.#gate = Math.max(wall, lastGate);
  }

  wall(): number {
    return this.#wall;
  }

  gate(): number {
    return this.#gate;
  }

  after(ms: number, fn: () => void): () => void {
    const order = this.#made++;
    this.#timers.set(order, { at: this.#gate + Math.max(0, ms), order, fn });
    return () => this.#timers.delete(order);
  }

  /** How many timers are set now. */
  get timers(): number {
    return this.#timers.size;
  }

  /** Lets `ms` pass: fires what falls due and gives what it started its turns of the event loop before going on. */
  async advance(ms: number): Promise<void> {
    const target = this.#gate + ms;
    for (let timer = this.#due(target); timer; timer = this.#due(target)) {
      this.#moveTo(Math.max(timer.at, this.#gate));
      this.#timers.delete(timer.order);
      timer.fn();
      await turns();
    }
    this.#moveTo(target);
    await turns();
  }

  /** Sets the wall clock ahead, or back with a negative number; elapsed time does not move. */
  stepWall(ms: number): void {
    this.#wall += ms;
  }

  /**
   * The clock of the next run of the process, after `downMs` of being down. Timers are gone, and so is the elapsed time:
   * the new run knows the wall clock and `lastGate`, which the store recorded.
   */
  restarted(lastGate: number, downMs = 0): FakeClock {
    return new FakeClock(lastGate, this.#wall + downMs);
  }

  #due(target: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers.values()) {
      if (timer.at <= target && (!first || timer.at < first.at)) first = timer;
    }
    return first;
  }

  #moveTo(gate: number): void {
    this.#wall += gate - this.#gate;
    this.#gate = gate;
  }
}

/** A few turns of the event loop: a commit, and what waited for it. */
export async function turns(count = 4): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise<void>((resolve) => setImmediate(resolve));
}
