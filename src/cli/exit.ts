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

/** The codes of errors that the command line itself makes, beside the API's. */
export const OWN_CODES = {
  USAGE: "The command line is not right",
  FAILED: "The command failed on this machine",
  DAEMON_UNREACHABLE: "No daemon answers there",
  SOCKET_CLOSED: "The operator's socket belongs to another user",
  NOT_POSTERN: "What answers there is no Postern",
  CONFIG_INVALID: "The configuration is not valid",
} as const;

/** Ends a command early: `message` goes to standard error, `code` is the exit code. */
export class CliError extends Error {
  readonly exit: number;
  /** A code of the API or of `OWN_CODES`; it stands before the message, but for the two plainest. */
  readonly code: string;
  /** The daemon's own answer, for `--json`. */
  readonly body: string | undefined;

  constructor(exit: number, message: string, more: { code?: string; body?: string } = {}) {
    super(message);
    this.exit = exit;
    this.code = more.code ?? (exit === EXIT.usage ? "USAGE" : "FAILED");
    this.body = more.body;
  }
}

/** The command line itself is wrong; `hint` names the help that would tell. */
export function usageError(message: string, hint?: string): CliError {
  return new CliError(EXIT.usage, hint === undefined ? message : `${message}\nSee \`${hint}\`.`);
}
