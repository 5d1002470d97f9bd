import { resolve } from "node:path";
import { backUp, restore } from "../operations/backup.ts";
import { type Call, flag, isOn } from "./command.ts";
import { configuration } from "./connection.ts";
import { CliError, EXIT } from "./exit.ts";

/** `postern backup FILE`: the data folder in one archive, while the daemon runs. */
export async function runBackup(call: Call): Promise<number> {
  const { io } = call;
  const { config } = await configuration(call);
  const report = backUp(config.data_dir, resolve(io.cwd, call.args[0] ?? ""));
  if ("refused" in report) throw new CliError(EXIT.failed, report.refused);
  if (isOn(call, "json") || isOn(call, "jsonl")) io.out(`${JSON.stringify(report)}\n`);
  else {
    io.out(`${report.file}: ${(report.bytes / 1e6).toFixed(1)} MB, ${report.blobs} large bodies\n`);
    io.err("It holds the master key: whoever has this file can read every secret. Store it like a password.\n");
  }
  return EXIT.done;
}

/** `postern restore FILE`: a backup in place of the data folder, which no daemon may be using. */
export async function runRestore(call: Call): Promise<number> {
  const { io } = call;
  const named = flag(call, "data-dir");
  const dataDir = named === undefined ? (await configuration(call)).config.data_dir : resolve(io.cwd, named);
  const report = restore(resolve(io.cwd, call.args[0] ?? ""), dataDir, isOn(call, "force"));
  if ("refused" in report) throw new CliError(EXIT.failed, report.refused);
  if (isOn(call, "json") || isOn(call, "jsonl")) io.out(`${JSON.stringify(report)}\n`);
  else {
    io.out(`Restored to ${report.dataDir}, checked and sound.\n`);
    if (report.movedTo !== null) io.out(`What was there before is in ${report.movedTo}.\n`);
    if (report.missing > 0) io.err(`${report.missing} large bodies were gone when the backup was made.\n`);
    io.err("Next: postern serve\n");
  }
  return EXIT.done;
}
