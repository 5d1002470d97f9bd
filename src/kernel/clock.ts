/**
 * The only source of time. Two times are told apart:
 * `wall` is what the machine's clock says (Unix milliseconds): for what people read and for signature windows;
 * `gate` is Postern's own time (also milliseconds): it follows elapsed time whatever the wall clock does and never
 * goes back, not even from one run to the next. Leases, delays and windows are kept in it.
 */
export interface Clock {
  wall(): number;
  gate(): number;
  /** Calls `fn` after `ms` of elapsed time; the answer cancels it. A timer alone keeps no process alive. */
  after(ms: number, fn: () => void): () => void;
}

/** setTimeout takes at most a signed 32-bit number of milliseconds; longer waits are cut and asked again by their owner. */
const MAX_TIMER_MS = 2_147_483_647;

/** The real clock. `lastGate` is the highest gate time an earlier run recorded; this run starts no earlier. */
export function systemClock(lastGate = 0): Clock {
  const start = Math.max(Date.now(), lastGate);
  const origin = performance.now();
  return {
    wall: () => Date.now(),
    gate: () => start + Math.floor(performance.now() - origin),
    after(ms, fn) {
      const timer = setTimeout(fn, Math.min(Math.max(0, Math.ceil(ms)), MAX_TIMER_MS));
      timer.unref();
      return () => clearTimeout(timer);
    },
  };
}

/** RFC 3339 UTC with milliseconds. */
export function rfc3339(ms: number): string {
  return new Date(ms).toISOString();
}

/** Two readings never fall in the same instant: a smaller difference between the two times than this is no step. */
const STEP_MS = 50;

const offsets = new WeakMap<Clock, number>();

/**
 * The wall time (Unix milliseconds) at which a moment of gate time falls, judged from now: the same each time it is
 * asked, until the wall clock is stepped.
 */
export function wallOf(clock: Clock, gate: number): number {
  const now = clock.wall() - clock.gate();
  const kept = offsets.get(clock);
  if (kept !== undefined && Math.abs(now - kept) < STEP_MS) return gate + kept;
  offsets.set(clock, now);
  return gate + now;
}
