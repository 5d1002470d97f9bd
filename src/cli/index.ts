import type { LoadOptions } from "../config/load.ts";

/** What the command line starts that is not part of it. */
export type Commands = {
  /** Runs the daemon until it is told to stop; throws an Error whose message is for the operator where it may not start. */
  serve: (load: LoadOptions) => Promise<void>;
};

/** Runs a command line and answers the exit code. */
export async function run(argv: readonly string[], commands: Commands): Promise<number> {
  if (argv[0] === "serve") {
    try {
      await commands.serve({ env: process.env, cwd: process.cwd() });
      return 0;
    } catch (error) {
      process.stderr.write(`postern: ${error instanceof Error ? error.message : String(error)}\n`);
      return 1;
    }
  }
  return 2;
}
