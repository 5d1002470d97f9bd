import { run } from "./cli/index.ts";

// The daemon's parts are loaded by `serve` alone: every other command starts faster without them.
process.exitCode = await run(process.argv.slice(2), {
  serve: async (load) => (await import("./daemon.ts")).serve(load),
});
