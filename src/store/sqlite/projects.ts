import type { Id } from "../../kernel/ids.ts";
import { isProblem, Problem } from "../../kernel/problems.ts";
import type { ProjectStore, Stored } from "../store.ts";
import type { ProjectRecord, StoredBlob } from "../types.ts";
import type { Core } from "./core.ts";
import { ifTaken } from "./registry.ts";
import { rememberAnswer } from "./remember.ts";

type ProjectRow = { num: number; id: Id<"prj">; slug: string; title: string; created_at: number; managed: number };

/** So many events go in one transaction when a project is deleted; others get their turn between. */
const STEP = 1000;

/** The table of projects. */
export function projectStore(core: Core): ProjectStore {
  const { db } = core;
  const get = (id: string) => db.query<ProjectRow, [string]>("SELECT * FROM projects WHERE id = ?").get(id);
  return {
    list: async () => db.query<ProjectRow, []>("SELECT * FROM projects ORDER BY num").all().map(projectRecord),
    create: (project, remember) =>
      core.writer.run((tx) => {
        const { id, slug, title, createdAt, managed } = project;
        const taken = ifTaken(slug, () =>
          db
            .query("INSERT INTO projects (id, slug, title, created_at, managed) VALUES (?, ?, ?, ?, ?)")
            .run(id, slug, title, createdAt, Number(managed)),
        );
        return taken ?? rememberAnswer(db, tx, project, remember);
      }, true),
    update: (id, change) =>
      core.writer.run(() => {
        const row = get(id);
        if (!row) return new Problem("NOT_FOUND", `there is no project ${id}`);
        const next = { ...projectRecord(row), ...change };
        const taken = ifTaken(next.slug, () =>
          db
            .query("UPDATE projects SET slug = ?, title = ?, managed = ? WHERE id = ?")
            .run(next.slug, next.title, Number(next.managed), id),
        );
        return taken ?? next;
      }),
    delete: (id) => deleteProject(core, id),
  };
}

/** Deletes in steps; cut short by a crash it leaves a smaller project, which can be deleted again. */
async function deleteProject(core: Core, id: Id<"prj">): Stored<string[]> {
  const num = core.names.projectNum(id);
  if (num === undefined) return new Problem("NOT_FOUND", `there is no project ${id}`);
  const blobs: string[] = [];
  for (;;) {
    const step = await core.writer.run(() => deleteSome(core, num, id));
    if (isProblem(step)) return step;
    blobs.push(...step.blobs);
    if (step.last) return blobs;
  }
}

/** The last step deletes the project itself in the same transaction, so that no event comes in between. */
function deleteSome(core: Core, num: number, id: Id<"prj">): { last: boolean; blobs: string[] } {
  const seqs = core.db
    .query<{ seq: number }, [number, number]>("SELECT seq FROM events WHERE project = ? LIMIT ?")
    .all(num, STEP)
    .map((row) => row.seq);
  const last = seqs.length < STEP;
  const blobs = deleteEventRows(core, seqs);
  if (last) deleteRest(core, num, id);
  return { last, blobs };
}

/** Deletes events with all that hangs on them. Answers the keys of blobs that nothing holds any more. */
export function deleteEventRows(core: Core, seqs: readonly number[]): string[] {
  const blobs: string[] = [];
  for (const seq of seqs) {
    const blob = core.content(seq)?.blob;
    if (blob) blobs.push((JSON.parse(blob) as StoredBlob).key);
    for (const table of ["contents", "leases", "history", "events"]) {
      core.db.query<null, [number]>(`DELETE FROM ${table} WHERE seq = ?`).run(seq);
    }
  }
  return blobs;
}

/** The memory of duplicates is not among it: it may be long, and retention forgets what belongs to no source. */
function deleteRest(core: Core, num: number, id: Id<"prj">): void {
  const { db } = core;
  db.query("DELETE FROM rejections WHERE source IN (SELECT num FROM sources WHERE project = ?)").run(id);
  for (const table of ["sources", "keys"]) db.query(`DELETE FROM ${table} WHERE project = ?`).run(id);
  db.query("DELETE FROM streams WHERE project = ?").run(num);
  db.query("DELETE FROM projects WHERE num = ?").run(num);
  core.names.forget();
  core.readyStreams.forget();
}

function projectRecord(row: ProjectRow): ProjectRecord {
  return { id: row.id, slug: row.slug, title: row.title, createdAt: row.created_at, managed: row.managed === 1 };
}
