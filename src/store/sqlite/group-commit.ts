import type { Database, Statement } from "bun:sqlite";
import type { Clock } from "../../kernel/clock.ts";
import type { Problem } from "../../kernel/problems.ts";
import type { Change } from "../types.ts";
import type { DiskReserve } from "./disk-reserve.ts";
import { diskFull, isDiskFull, isStorageFailure, unavailable } from "./failures.ts";

/** What one piece of work sees: the two times of its transaction, and where it says what it changed. */
export type Tx = { gate: number; wall: number; changes: Change[] };

/** What goes along with every transaction. */
export type TxHooks = {
  /** At its head. */
  before(tx: Tx): void;
  /** At its end, before the commit. */
  last(tx: Tx): void;
  /** Once it is durable. */
  after(tx: Tx): void;
  /** How far what is kept in memory beside the database has come. */
  mark(): number;
  /** What came after this mark was rolled back. */
  failed(mark: number): void;
};

type Job = {
  work: (tx: Tx) => unknown;
  intake: boolean;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
};

/** More than this many pieces of work make two transactions, so that reads get their turn between. */
const MAX_BATCH = 512;

/** While the disk is full, room is looked for at most this often. */
const ROOM_MS = 1000;

/**
 * The one writer. Work handed in during a turn of the event loop is committed together in one transaction with
 * `synchronous = FULL`, then all of it is answered: the fsync is shared, not skipped. Measured at 64 connections this
 * commits several times more events a second than a transaction each.
 *
 * Work is synchronous and may be run twice: if any piece throws, the shared transaction is rolled back and each piece is
 * run again in a savepoint of its own, so that one fails alone. The common way costs no savepoints.
 */
export class GroupCommit {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #reserve: DiskReserve;
  readonly #hooks: TxHooks;
  readonly #begin: Statement;
  readonly #commit: Statement;
  readonly #rollback: Statement;
  #queue: Job[] = [];
  #scheduled = false;
  #madeRoomAt = Number.NEGATIVE_INFINITY;
  #closed = false;

  constructor(db: Database, clock: Clock, reserve: DiskReserve, hooks: TxHooks) {
    this.#db = db;
    this.#clock = clock;
    this.#reserve = reserve;
    this.#hooks = hooks;
    this.#begin = db.prepare("BEGIN IMMEDIATE");
    this.#commit = db.prepare("COMMIT");
    this.#rollback = db.prepare("ROLLBACK");
  }

  /**
   * Runs the work in the next shared transaction and answers what it returned once that is on disk.
   * `intake` marks work that brings in something new: it is refused while the disk is full, so that settling and retention go on.
   */
  run<T>(work: (tx: Tx) => T, intake = false): Promise<T | Problem> {
    if (this.#closed) return Promise.resolve(unavailable("the store is closed"));
    if (intake && this.#reserve.spent) return Promise.resolve(diskFull());
    return new Promise<T | Problem>((resolve, reject) => {
      this.#queue.push({ work, intake, resolve: resolve as (value: unknown) => void, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      try {
        this.#commitBatch();
      } finally {
        if (this.#queue.length > 0) this.#schedule();
      }
    });
  }

  #commitBatch(): void {
    const jobs = this.#queue.length <= MAX_BATCH ? this.#queue : this.#queue.slice(0, MAX_BATCH);
    this.#queue = this.#queue.length <= MAX_BATCH ? [] : this.#queue.slice(MAX_BATCH);
    if (jobs.length > 0) this.#commitJobs(jobs);
  }

  /** Commits all that has gathered, now. */
  flush(): void {
    while (this.#queue.length > 0) this.#commitBatch();
  }

  /** Commits what has gathered and takes no more. */
  close(): void {
    this.#closed = true;
    this.flush();
  }

  #commitJobs(jobs: readonly Job[]): void {
    const tx: Tx = { gate: this.#clock.gate(), wall: this.#clock.wall(), changes: [] };
    let answers: unknown[];
    try {
      answers = this.#transaction(tx, () => jobs.map((job) => job.work(tx)));
    } catch (error) {
      if (isStorageFailure(error)) this.#storageFailed(jobs, error);
      else this.#commitApart(jobs);
      return;
    }
    this.#tell(tx, () => {
      for (let i = 0; i < jobs.length; i++) jobs[i]?.resolve(answers[i]);
    });
  }

  /** After a commit: what is durable is answered, whatever becomes of those who listen. */
  #tell(tx: Tx, answer: () => void): void {
    try {
      this.#hooks.after(tx);
    } finally {
      answer();
    }
  }

  /** After a piece of work threw: each runs in its own savepoint, still sharing the commit. */
  #commitApart(jobs: readonly Job[]): void {
    const tx: Tx = { gate: this.#clock.gate(), wall: this.#clock.wall(), changes: [] };
    let outcomes: (() => void)[];
    try {
      outcomes = this.#transaction(tx, () => jobs.map((job) => this.#inSavepoint(tx, job)));
    } catch (error) {
      this.#storageFailed(jobs, error);
      return;
    }
    this.#tell(tx, () => {
      for (const answer of outcomes) answer();
    });
  }

  #inSavepoint(tx: Tx, job: Job): () => void {
    const changed = tx.changes.length;
    const mark = this.#hooks.mark();
    this.#db.run("SAVEPOINT piece");
    try {
      const value = job.work(tx);
      this.#db.run("RELEASE piece");
      return () => job.resolve(value);
    } catch (error) {
      if (isStorageFailure(error)) throw error;
      this.#db.run("ROLLBACK TO piece");
      this.#db.run("RELEASE piece");
      tx.changes.length = changed;
      this.#hooks.failed(mark);
      return () => job.reject(error);
    }
  }

  #transaction<T>(tx: Tx, body: () => T): T {
    const mark = this.#hooks.mark();
    this.#begin.run();
    try {
      this.#hooks.before(tx);
      const result = body();
      this.#hooks.last(tx);
      this.#commit.run();
      return result;
    } catch (error) {
      // SQLite itself rolls back on some errors (a full disk among them); a second rollback would throw.
      if (this.#db.inTransaction) this.#rollback.run();
      this.#hooks.failed(mark);
      throw error;
    }
  }

  /** On a full disk room is made, so that what is not intake can be tried again at once; all else is refused. */
  #storageFailed(jobs: readonly Job[], error: unknown): void {
    if (isDiskFull(error) && this.#makeRoom()) {
      for (const job of jobs) if (job.intake) job.resolve(diskFull());
      const rest = jobs.filter((job) => !job.intake);
      if (rest.length > 0) this.#commitJobs(rest);
      return;
    }
    for (const job of jobs) {
      if (isStorageFailure(error)) job.resolve(isDiskFull(error) ? diskFull() : unavailable(error.code));
      else job.reject(error);
    }
  }

  /**
   * Spends the reserve, and moves the log's content into the database with it: the log's own space can then be written
   * anew, which nobody else on the disk can take. Where that was just done, there is no more to gain: false.
   */
  #makeRoom(): boolean {
    const now = this.#clock.gate();
    if (!this.#reserve.spend() && now - this.#madeRoomAt < ROOM_MS) return false;
    this.#madeRoomAt = now;
    try {
      this.#db.run("PRAGMA wal_checkpoint(PASSIVE)");
    } catch (error) {
      // Not even the reserve was enough for the log; it was given up all the same.
      if (!isStorageFailure(error)) throw error;
    }
    return true;
  }
}
