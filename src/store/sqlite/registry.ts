import type { Id } from "../../kernel/ids.ts";
import { Problem } from "../../kernel/problems.ts";
import type { Scope } from "../../kernel/scopes.ts";
import type { KeyStore, SourceStore, Stored } from "../store.ts";
import type { KeyRecord, Rejection, Remember, SourceRecord } from "../types.ts";
import type { Core } from "./core.ts";
import { isSqliteError } from "./failures.ts";
import { rememberAnswer } from "./remember.ts";

type KeyRow = Omit<KeyRecord, "scopes" | "hidden" | "expiresAt" | "createdAt"> & {
  scopes: string;
  hidden: number;
  expires_at: number | null;
  created_at: number;
};

/** The table of API keys. They are few: all are read at the start and kept in memory by `identity`. */
export function keyStore(core: Core): KeyStore {
  const { db } = core;
  const get = (id: string) => db.query<KeyRow, [string]>("SELECT * FROM keys WHERE id = ?").get(id);
  return {
    list: async () => db.query<KeyRow, []>("SELECT * FROM keys ORDER BY id").all().map(keyRecord),
    create: (key, remember) =>
      core.writer.run((tx) => {
        db.query(
          `INSERT INTO keys (id, project, name, kind, scopes, hash, state, expires_at, created_at, creator, hidden)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        ).run(
          ...[key.id, key.project, key.name, key.kind, JSON.stringify(key.scopes), key.hash, key.state],
          ...[key.expiresAt, key.createdAt, key.creator, Number(key.hidden)],
        );
        return rememberAnswer(db, tx, key, remember);
      }, true),
    update: (id, change) =>
      core.writer.run(() => {
        const row = get(id);
        if (!row) return new Problem("NOT_FOUND", `there is no key ${id}`);
        const next = { ...keyRecord(row), ...change };
        db.query("UPDATE keys SET name = ?, scopes = ?, state = ?, expires_at = ?, hidden = ? WHERE id = ?").run(
          ...[next.name, JSON.stringify(next.scopes), next.state, next.expiresAt, Number(next.hidden), id],
        );
        return next;
      }),
  };
}

function keyRecord({ expires_at, created_at, hidden, scopes, ...row }: KeyRow): KeyRecord {
  return {
    ...row,
    scopes: JSON.parse(scopes) as Scope[],
    expiresAt: expires_at,
    createdAt: created_at,
    hidden: hidden === 1,
  };
}

type SourceRow = {
  num: number;
  id: Id<"src">;
  project: Id<"prj">;
  name: string;
  channel: "webhook" | "email";
  kind: string;
  settings: string;
  token_hash: Uint8Array;
  token_sealed: Uint8Array;
  secrets_sealed: Uint8Array;
  paused: number;
  managed: number;
  created_at: number;
};

type RejectionRow = {
  num: number;
  at: number;
  code: string;
  reason: string;
  size: number;
  remote_address: string;
};

const REJECTIONS_KEPT = 100;

/** The tables of sources and of the transmissions they refused. */
export function sourceStore(core: Core): SourceStore {
  const { db } = core;
  const get = (id: string) => db.query<SourceRow, [string]>("SELECT * FROM sources WHERE id = ?").get(id);
  return {
    list: async () => db.query<SourceRow, []>("SELECT * FROM sources ORDER BY id").all().map(sourceRecord),
    create: (source, remember) => createSource(core, source, remember),
    update: (id, change) =>
      core.writer.run(() => {
        const row = get(id);
        if (!row) return new Problem("NOT_FOUND", `there is no source ${id}`);
        const next = { ...sourceRecord(row), ...change };
        const taken = ifTaken(next.name, () =>
          db
            .query(
              `UPDATE sources SET name = ?, channel = ?, kind = ?, settings = ?, token_hash = ?, token_sealed = ?, secrets_sealed = ?,
               paused = ?, managed = ? WHERE id = ?`,
            )
            .run(
              ...[next.name, next.channel, next.kind, next.settings, next.tokenHash, next.tokenSealed],
              ...[next.secretsSealed, Number(next.paused), Number(next.managed), id],
            ),
        );
        return taken ?? next;
      }),
    delete: (id) =>
      core.writer.run(() => {
        const row = get(id);
        if (!row) return new Problem("NOT_FOUND", `there is no source ${id}`);
        db.query("DELETE FROM rejections WHERE source = ?").run(row.num);
        db.query("DELETE FROM sources WHERE id = ?").run(id);
        return null;
      }),
    reject: (entries) => core.writer.run(() => reject(core, entries)),
    rejections: async (sourceNum, { limit, before = Number.MAX_SAFE_INTEGER }) => {
      const rows = db
        .query<RejectionRow, [number, number, number]>(
          "SELECT * FROM rejections WHERE source = ? AND num < ? ORDER BY num DESC LIMIT ?",
        )
        .all(sourceNum, before, limit + 1);
      const page = rows.slice(0, limit);
      const next = rows.length > limit ? page.at(-1)?.num : undefined;
      return { rows: page.map(rejectionRecord), ...(next === undefined ? {} : { next }) };
    },
  };
}

function createSource(
  core: Core,
  source: Omit<SourceRecord, "num">,
  remember: Remember<SourceRecord> | undefined,
): Stored<SourceRecord> {
  const { db } = core;
  return core.writer.run((tx) => {
    const taken = ifTaken(source.name, () =>
      db
        .query(
          `INSERT INTO sources (id, project, name, channel, kind, settings, token_hash, token_sealed, secrets_sealed, paused, managed, created_at)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        )
        .run(
          ...[source.id, source.project, source.name, source.channel, source.kind, source.settings, source.tokenHash],
          ...[
            source.tokenSealed,
            source.secretsSealed,
            Number(source.paused),
            Number(source.managed),
            source.createdAt,
          ],
        ),
    );
    if (taken) return taken;
    const row = db.query<SourceRow, [string]>("SELECT * FROM sources WHERE id = ?").get(source.id);
    if (!row) throw new Error("a source that was just made is missing");
    return rememberAnswer(db, tx, sourceRecord(row), remember);
  }, true);
}

/** Runs a write whose unique name may be taken; SQLite undoes the one statement, so the transaction stays whole. */
export function ifTaken(name: string, write: () => unknown): Problem | undefined {
  try {
    write();
    return undefined;
  } catch (error) {
    if (!isSqliteError(error) || error.code !== "SQLITE_CONSTRAINT_UNIQUE") throw error;
    return new Problem("NAME_TAKEN", `\`${name}\` is in use here: choose another name`);
  }
}

/** Those of a source that is gone by now are dropped. */
function reject(core: Core, entries: readonly { sourceNum: number; rejection: Rejection }[]): null {
  const insert = core.db.query<null, [number, number, string, string, number, string]>(
    `INSERT INTO rejections (source, at, code, reason, size, remote_address)
     SELECT num, ?2, ?3, ?4, ?5, ?6 FROM sources WHERE num = ?1`,
  );
  for (const { sourceNum, rejection: r } of entries) {
    insert.run(sourceNum, r.at, r.code, r.reason, r.size, r.remoteAddress);
  }
  for (const source of new Set(entries.map((entry) => entry.sourceNum))) {
    core.db
      .query<null, [number, number]>(
        `DELETE FROM rejections WHERE source = ?1 AND num <=
         (SELECT num FROM rejections WHERE source = ?1 ORDER BY num DESC LIMIT 1 OFFSET ?2)`,
      )
      .run(source, REJECTIONS_KEPT);
  }
  return null;
}

function rejectionRecord({ at, code, reason, size, remote_address }: RejectionRow): Rejection {
  return { at, code, reason, size, remoteAddress: remote_address };
}

function sourceRecord(row: SourceRow): SourceRecord {
  return {
    num: row.num,
    id: row.id,
    project: row.project,
    name: row.name,
    channel: row.channel,
    kind: row.kind,
    settings: row.settings,
    tokenHash: row.token_hash,
    tokenSealed: row.token_sealed,
    secretsSealed: row.secrets_sealed,
    paused: row.paused === 1,
    managed: row.managed === 1,
    createdAt: row.created_at,
  };
}
