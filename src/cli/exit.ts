/** The exit codes of every command. */
export const EXIT = { done: 0, failed: 1, usage: 2, empty: 3, refused: 4 } as const;

/** What they mean, as help shows it. */
export const EXIT_CODES: readonly (readonly [code: number, meaning: string])[] = [
  [EXIT.done, "done"],
  [EXIT.failed, "failed"],
  [EXIT.usage, "the command, a flag or a value is not right"],
  [EXIT.empty, "there was nothing: a wait timed out, or nothing could be claimed"],
  [EXIT.refused, "the daemon refused the credential (401, 403)"],
];

/** Ends a command early: `message` goes to standard error, `code` is the exit code. */
export class CliError extends Error {
  readonly exit: number;
  /** The stable code that stands before the message, where there is one. */
  readonly code: string | undefined;
  /** The daemon's own answer, for `--json`. */
  readonly body: string | undefined;

  constructor(exit: number, message: string, more: { code?: string; body?: string } = {}) {
    super(message);
    this.exit = exit;
    this.code = more.code;
    this.body = more.body;
  }
}

/** The command line itself is wrong; `hint` names the help that would tell. */
export function usageError(message: string, hint?: string): CliError {
  return new CliError(EXIT.usage, hint === undefined ? message : `${message}\nSee \`${hint}\`.`);
}
