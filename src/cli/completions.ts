import { didYouMean } from "../kernel/suggest.ts";
import type { Call } from "./command.ts";
import { bashScript } from "./completions-bash.ts";
import { fishScript, zshScript } from "./completions-others.ts";
import { usageError } from "./exit.ts";

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript };

/** `postern completions bash|zsh|fish`: a script made from the commands as they are. */
export async function runCompletions(call: Call): Promise<number> {
  const shell = call.args[0] ?? "";
  const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell as keyof typeof SCRIPTS] : undefined;
  if (!script)
    throw usageError(`\`${shell}\`: must be one of bash, zsh, fish.${didYouMean(shell, Object.keys(SCRIPTS))}`);
  call.io.out(script(await call.tree()));
  return 0;
}
