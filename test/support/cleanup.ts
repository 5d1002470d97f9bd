const actions: (() => void | Promise<void>)[] = [];

/** Has `action` run when the whole test run is over, latest first. */
export function whenTestsEnd(action: () => void | Promise<void>): void {
  actions.push(action);
}

/** Runs what was left for the end. Bun calls it once for a run: see test/support/preload.ts. */
export async function runCleanups(): Promise<void> {
  for (let action = actions.pop(); action; action = actions.pop()) await action();
}
