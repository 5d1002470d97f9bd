import type { Log } from "./log.ts";

/** How the process was asked to go. */
export type Lifetime = {
  /** Resolves with the first SIGTERM or SIGINT; a second one ends the process at once. */
  stopped: Promise<NodeJS.Signals>;
  /** Calls the function for each SIGHUP from now on, and once for those that came before, one call after the other. */
  onReload: (reload: () => Promise<void>) => void;
};

const SIGNAL_NUMBERS = { SIGINT: 2, SIGTERM: 15 } as const;

/**
 * Takes over the process's signals, from its very start: a SIGHUP that comes while the daemon starts or stops must not
 * end it, which is what it does to a process that does not ask for it.
 */
export function takeSignals(): Lifetime {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let stopping = false;
  const stop = (signal: "SIGINT" | "SIGTERM") => {
    if (stopping) process.exit(128 + SIGNAL_NUMBERS[signal]);
    stopping = true;
    resolve(signal);
  };
  process.on("SIGTERM", () => stop("SIGTERM"));
  process.on("SIGINT", () => stop("SIGINT"));
  let reload: (() => Promise<void>) | undefined;
  let asked = false;
  let running = false;
  const run = async () => {
    asked = true;
    if (!reload || running) return;
    running = true;
    while (asked && !stopping) {
      asked = false;
      await reload();
    }
    running = false;
  };
  process.on("SIGHUP", () => void run());
  return {
    stopped: promise,
    onReload(act) {
      reload = act;
      if (asked) void run();
    },
  };
}

/**
 * An error that nothing caught is a bug: the state of memory is unknown then, that of the disk is not. It is logged, and
 * the process ends with 1, for the service manager to start it afresh.
 */
export function endOnBugs(log: Log): void {
  const end = (what: string) => (error: unknown) => {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    log.error(`${what}; the daemon ends, and loses nothing that it answered`, { error: text });
    process.exit(1);
  };
  process.on("uncaughtException", end("an error was not caught"));
  process.on("unhandledRejection", end("a promise was rejected, and no one looked"));
}

/**
 * Whoever reads the log may go away, and the disk it is written to may be full: the daemon does not end of it, and there
 * is nowhere to say so.
 */
export function outliveTheLog(): void {
  process.stdout.on("error", () => {});
  process.stderr.on("error", () => {});
}
