/**
 * The schema, as steps that are never changed once released: step N leads from `user_version` N to N + 1.
 * To change the schema, append a step.
 *
 * `events` is the hot table: narrow rows, whose content lies in `contents`. `stream` stands for (source, channel, type,
 * verified), so that one small number finds them and each has a queue of its own. Statuses here are finer than the envelope's: 0 ready, 1 delayed (both `pending`),
 * 2 claimed, 3 failed, 4 done,
 * 5 dead, 6 routed (`pending` too). `flags`: 1 routed, 2 purged. `due_at`, `expires` and what is named `…gate` are gate
 * time, all else wall time. A line of `history` says how many leases (`lease`) there had been before it.
 */
export const MIGRATIONS: readonly string[] = [
  `
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE projects (
  num INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  slug TEXT NOT NULL UNIQUE,
  title TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  managed INTEGER NOT NULL
) STRICT;

CREATE TABLE keys (
  id TEXT PRIMARY KEY,
  project TEXT NOT NULL,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  scopes TEXT NOT NULL,
  hash BLOB NOT NULL UNIQUE,
  state TEXT NOT NULL,
  expires_at INTEGER,
  created_at INTEGER NOT NULL,
  creator TEXT NOT NULL,
  hidden INTEGER NOT NULL
) STRICT;

CREATE TABLE sources (
  num INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  project TEXT NOT NULL,
  name TEXT NOT NULL,
  channel TEXT NOT NULL,
  kind TEXT NOT NULL,
  settings TEXT NOT NULL,
  token_hash BLOB NOT NULL UNIQUE,
  token_sealed BLOB NOT NULL,
  secrets_sealed BLOB NOT NULL,
  paused INTEGER NOT NULL,
  managed INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (project, name)
) STRICT;

CREATE TABLE rejections (
  num INTEGER PRIMARY KEY AUTOINCREMENT,
  source INTEGER NOT NULL,
  at INTEGER NOT NULL,
  code TEXT NOT NULL,
  reason TEXT NOT NULL,
  size INTEGER NOT NULL,
  remote_address TEXT NOT NULL
) STRICT;
CREATE INDEX rejections_of_source ON rejections (source, num);

CREATE TABLE streams (
  num INTEGER PRIMARY KEY,
  project INTEGER NOT NULL,
  source TEXT NOT NULL,
  channel INTEGER NOT NULL,
  type TEXT NOT NULL,
  verified INTEGER NOT NULL,
  UNIQUE (project, source, type, channel, verified)
) STRICT;

CREATE TABLE events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id BLOB NOT NULL UNIQUE,
  project INTEGER NOT NULL,
  stream INTEGER NOT NULL,
  status INTEGER NOT NULL,
  flags INTEGER NOT NULL,
  received_at INTEGER NOT NULL,
  due_at INTEGER,
  attempts INTEGER NOT NULL,
  releases INTEGER NOT NULL,
  leases INTEGER NOT NULL
) STRICT;
CREATE INDEX events_by_status ON events (project, status);
CREATE INDEX events_ready ON events (stream) WHERE status = 0;
CREATE INDEX events_due ON events (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE contents (
  seq INTEGER PRIMARY KEY,
  headers TEXT NOT NULL,
  payload TEXT,
  blob TEXT
) STRICT;
CREATE INDEX contents_apart ON contents (seq) WHERE blob IS NOT NULL;

CREATE TABLE duplicates (
  key BLOB NOT NULL,
  source INTEGER NOT NULL,
  event BLOB NOT NULL,
  body BLOB NOT NULL,
  expires INTEGER NOT NULL,
  PRIMARY KEY (key, source)
) STRICT, WITHOUT ROWID;

CREATE TABLE duplicates_log (num INTEGER PRIMARY KEY, entries BLOB NOT NULL) STRICT;

CREATE TABLE leases (
  seq INTEGER NOT NULL,
  num INTEGER NOT NULL,
  id TEXT NOT NULL,
  holder TEXT NOT NULL,
  claimed_at INTEGER NOT NULL,
  claimed_gate INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  ended_at INTEGER,
  ended_gate INTEGER,
  outcome TEXT,
  settle TEXT,
  status INTEGER,
  attempts INTEGER,
  due_at INTEGER,
  PRIMARY KEY (seq, num)
) STRICT, WITHOUT ROWID;

CREATE TABLE history (
  num INTEGER PRIMARY KEY,
  seq INTEGER NOT NULL,
  lease INTEGER NOT NULL,
  at INTEGER NOT NULL,
  gate INTEGER NOT NULL,
  kind TEXT NOT NULL,
  detail TEXT NOT NULL
) STRICT;
CREATE INDEX history_of_event ON history (seq);

CREATE TABLE changes (
  cursor INTEGER PRIMARY KEY AUTOINCREMENT,
  project INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  status INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  at INTEGER NOT NULL
) STRICT;

CREATE TABLE idempotency (
  slot BLOB PRIMARY KEY,
  body BLOB NOT NULL,
  answer TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_by_age ON idempotency (at);
`,
];
