import type { Command } from "./command.ts";
import { OWN_COMMANDS } from "./own-commands.ts";

/** Every command: the operations', then the others. Loads the operations, which takes its time. */
export async function allCommands(): Promise<readonly Command[]> {
  const [{ OPERATIONS }, { operationCommands }] = await Promise.all([
    import("../operations/index.ts"),
    import("./op-command.ts"),
  ]);
  return [...operationCommands(OPERATIONS), ...OWN_COMMANDS];
}

/** The own command that these words begin with, if any: it runs without loading the operations. */
export function ownCommand(words: readonly string[]): Command | undefined {
  return OWN_COMMANDS.find((command) => command.words.every((word, at) => words[at] === word));
}

/** True where some command begins with these words. */
export function isPrefix(commands: readonly Command[], words: readonly string[]): boolean {
  return commands.some((command) => words.every((word, at) => command.words[at] === word));
}

/** The command of exactly these words. */
export function commandOf(commands: readonly Command[], words: readonly string[]): Command | undefined {
  return commands.find((command) => command.words.join(" ") === words.join(" "));
}

/** The words that may follow, with what they are. */
export function nextWords(commands: readonly Command[], words: readonly string[]): Map<string, string> {
  const next = new Map<string, string>();
  for (const command of commands) {
    const word = command.words[words.length];
    if (word === undefined || !words.every((one, at) => command.words[at] === one)) continue;
    const isWhole = command.words.length === words.length + 1;
    if (isWhole || !next.has(word)) next.set(word, isWhole ? command.summary : groupSummary(word));
  }
  return next;
}

const GROUPS: Readonly<Record<string, string>> = {
  inbox: "Events: list, wait, claim, settle, watch",
  sources: "The ways in for events",
  keys: "API keys",
  projects: "Separate inboxes",
  config: "The configuration",
};

function groupSummary(word: string): string {
  return GROUPS[word] ?? word;
}
