import type { Daemon } from "../../support/daemon.ts";
import type { Random } from "./random.ts";

/** Starts the daemon and kills it so many milliseconds later, ready or not. */
export async function killDuringStart(daemon: Daemon, afterMs: number): Promise<void> {
  const starting = daemon.start().then(
    () => true,
    () => false,
  );
  await Bun.sleep(afterMs);
  daemon.signal("SIGKILL");
  if (await starting) await daemon.kill9();
}

/** SIGTERM, and SIGKILL before it has finished or soon after. */
export async function killDuringStop(daemon: Daemon, random: Random): Promise<void> {
  daemon.signal("SIGTERM");
  await Bun.sleep(random.between(0, 25));
  await daemon.kill9();
}
