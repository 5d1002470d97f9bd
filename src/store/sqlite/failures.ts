import { Problem } from "../../kernel/problems.ts";

/** An error that SQLite raised, with its extended code name such as `SQLITE_FULL`. */
export function isSqliteError(error: unknown): error is Error & { code: string } {
  return (
    error instanceof Error && "code" in error && typeof error.code === "string" && error.code.startsWith("SQLITE_")
  );
}

const STORAGE_FAILURES = [
  "SQLITE_FULL",
  "SQLITE_IOERR",
  "SQLITE_READONLY",
  "SQLITE_BUSY",
  "SQLITE_CANTOPEN",
  "SQLITE_CORRUPT",
  "SQLITE_NOTADB",
  "SQLITE_NOMEM",
  "SQLITE_LOCKED",
  "SQLITE_PROTOCOL",
];

/** True for what the disk or the file did, not the code: it may pass, and is answered with `STORAGE_UNAVAILABLE`. */
export function isStorageFailure(error: unknown): error is Error & { code: string } {
  return isSqliteError(error) && STORAGE_FAILURES.some((code) => error.code.startsWith(code));
}

export function isDiskFull(error: unknown): boolean {
  return isSqliteError(error) && error.code.startsWith("SQLITE_FULL");
}

/** The answer to work that could not be stored. `why` names the cause, such as `SQLITE_IOERR_FSYNC`. */
export function unavailable(why: string): Problem {
  return new Problem("STORAGE_UNAVAILABLE", `nothing was stored (${why}); send it again`, {
    headers: { "retry-after": "5" },
  });
}

export function diskFull(): Problem {
  return new Problem("STORAGE_UNAVAILABLE", "the disk is full, nothing was stored; free space, then send it again", {
    headers: { "retry-after": "30" },
  });
}
