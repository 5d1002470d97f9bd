import { closeSync, openSync, writeSync } from "node:fs";
import { resolve } from "node:path";
import { type Call, flag, isOn } from "./command.ts";
import { configuration } from "./connection.ts";
import { CliError, EXIT } from "./exit.ts";

/** `postern init [FILE]`: the commented example as a file of one's own; an existing one stays. */
export async function runInit(call: Call): Promise<number> {
  const { exampleConfig } = await import("../config/example.ts");
  const name = call.args[0] ?? flag(call, "config") ?? "postern.toml";
  try {
    const file = openSync(resolve(call.io.cwd, name), "wx", 0o600);
    writeSync(file, exampleConfig());
    closeSync(file);
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
    const why =
      error.code === "EEXIST" ? "is there already: it stays as it is" : `cannot be written (${String(error.code)})`;
    throw new CliError(EXIT.failed, `${name} ${why}`);
  }
  call.io.out(`${name} written: every line is a comment until you change it. Next: postern check\n`);
  return EXIT.done;
}

/** `postern check`: all that is wrong, one a line with file and line; exit 1 where there is something. */
export async function runCheck(call: Call): Promise<number> {
  const { isConfigErrors, loadConfig } = await import("../config/load.ts");
  const { resolveSecrets } = await import("../config/secrets.ts");
  const { formatConfigError } = await import("../config/errors.ts");
  const { env, cwd } = call.io;
  const loaded = loadConfig({ argvPath: flag(call, "config"), env, cwd });
  const secrets = isConfigErrors(loaded) ? loaded : resolveSecrets(loaded, { env });
  const errors = isConfigErrors(loaded)
    ? loaded
    : Array.isArray(secrets)
      ? secrets
      : (await import("./check-declared.ts")).checkDeclared(loaded, secrets.secrets);
  if (isOn(call, "json")) call.io.out(`${JSON.stringify({ ok: errors.length === 0, errors })}\n`);
  else if (errors.length > 0) call.io.err(`${errors.map(formatConfigError).join("\n")}\n`);
  if (errors.length > 0 || isConfigErrors(loaded) || Array.isArray(secrets)) return EXIT.failed;
  for (const warning of secrets.warnings) call.io.err(`warning: ${warning}\n`);
  if (!isOn(call, "json")) call.io.out(`${loaded.file ?? "No file, so the defaults"}: ok\n`);
  return EXIT.done;
}

/** `postern config dump [--origins]`: what applies, as TOML. */
export async function runDump(call: Call): Promise<number> {
  const { dumpConfig } = await import("../config/dump.ts");
  call.io.out(dumpConfig(await configuration(call), { showOrigins: isOn(call, "origins") }));
  return EXIT.done;
}
