import { type BackupReport, makeBackup } from "../store/backup/make.ts";
import { type RestoreReport, restoreBackup } from "../store/backup/restore.ts";
import { StoreRefusal } from "../store/sqlite/database.ts";

/** A refusal's text is for the operator; anything else is a bug, or an error of the file system with its code. */
export type Refused = { refused: string };

/** Writes a data folder into one archive, as another process than the daemon. */
export function backUp(dataDir: string, file: string): BackupReport | Refused {
  return refusable(() => makeBackup(dataDir, file));
}

/** Puts an archive in place of a data folder, as another process than the daemon. */
export function restore(file: string, dataDir: string, force: boolean): RestoreReport | Refused {
  return refusable(() => restoreBackup(file, dataDir, { force, now: Date.now() }));
}

function refusable<T>(act: () => T): T | Refused {
  try {
    return act();
  } catch (error) {
    if (error instanceof StoreRefusal) return { refused: error.message };
    if (error instanceof Error && "code" in error && "path" in error) {
      return { refused: `${String(error.path)} cannot be used (${String(error.code)})` };
    }
    throw error;
  }
}
