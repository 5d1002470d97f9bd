import type { Database } from "bun:sqlite";
import type { Remember, Remembered } from "../types.ts";
import type { Tx } from "./group-commit.ts";

/** An idempotency key holds for 24 hours (contract, section 1). */
const REMEMBERED_MS = 24 * 60 * 60 * 1000;

/** Notes the answer of a creation in its own transaction, so that neither is ever there without the other. */
export function rememberAnswer<T>(db: Database, tx: Tx, created: T, remember: Remember<T> | undefined): T {
  if (remember) {
    db.query<null, [Uint8Array, Uint8Array, string, number]>(
      "INSERT OR REPLACE INTO idempotency (slot, body, answer, at) VALUES (?, ?, ?, ?)",
    ).run(remember.slot, remember.bodyHash, remember.answer(created), tx.gate);
  }
  return created;
}

/** The answer noted for a slot, while it holds. */
export function rememberedAnswer(db: Database, gate: number, slot: Uint8Array): Remembered | undefined {
  const row = db
    .query<{ body: Uint8Array; answer: string; at: number }, [Uint8Array]>(
      "SELECT body, answer, at FROM idempotency WHERE slot = ?",
    )
    .get(slot);
  return row && row.at + REMEMBERED_MS > gate ? { bodyHash: row.body, answer: row.answer } : undefined;
}

/** Deletes answers that hold no longer. */
export function forgetAnswers(db: Database, gate: number): void {
  db.query<null, [number]>("DELETE FROM idempotency WHERE at <= ?").run(gate - REMEMBERED_MS);
}
