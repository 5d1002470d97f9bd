import { COMMIT, VERSION } from "../kernel/version.ts";
import { type Call, isOn } from "./command.ts";

/** `postern version`: the version, and the commit it was built from. */
export async function runVersion(call: Call): Promise<number> {
  if (isOn(call, "json") || isOn(call, "jsonl")) {
    call.io.out(`${JSON.stringify({ version: VERSION, commit: COMMIT === "" ? null : COMMIT, bun: Bun.version })}\n`);
  } else call.io.out(`postern ${VERSION}${COMMIT === "" ? "" : ` (${COMMIT})`}\n`);
  return 0;
}
