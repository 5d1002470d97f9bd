import { type Call, flag } from "./command.ts";
import { CliError, EXIT } from "./exit.ts";

/** `postern serve`: the daemon, until it is told to stop. */
export async function runServe(call: Call): Promise<number> {
  try {
    await call.commands.serve({ argvPath: flag(call, "config"), env: call.io.env, cwd: call.io.cwd });
    return EXIT.done;
  } catch (error) {
    throw new CliError(EXIT.failed, error instanceof Error ? error.message : String(error));
  }
}
