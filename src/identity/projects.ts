import type { Clock } from "../kernel/clock.ts";
import { type Id, newId, parseId } from "../kernel/ids.ts";
import { isProblem, Problem } from "../kernel/problems.ts";
import type { ProjectStore } from "../store/store.ts";
import type { ProjectRecord, Remember } from "../store/types.ts";

/** The slug of the project that is there from the first start, and meant where none is named. */
export const DEFAULT_PROJECT = "default";

/** The projects, held in memory and written through the store. */
export class Projects {
  readonly #store: ProjectStore;
  readonly #clock: Clock;
  readonly #byId = new Map<string, ProjectRecord>();
  readonly #gone: ((id: Id<"prj">, blobs: readonly string[]) => void)[] = [];

  constructor(store: ProjectStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Reads them, and makes the default one on the first start. */
  async load(): Promise<Problem | undefined> {
    for (const project of await this.#store.list()) this.#byId.set(project.id, project);
    if (this.#byId.size > 0) return undefined;
    const made = await this.create({ slug: DEFAULT_PROJECT, title: "Default", managed: false });
    return isProblem(made) ? made : undefined;
  }

  /** Called when a project is gone, with the blobs its events held. */
  onGone(listener: (id: Id<"prj">, blobs: readonly string[]) => void): void {
    this.#gone.push(listener);
  }

  list(): ProjectRecord[] {
    return [...this.#byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** By id, UUID or slug; a slug may look like a UUID. */
  find(name: string): ProjectRecord | undefined {
    const id = parseId("prj", name);
    return (id && this.#byId.get(id)) ?? this.list().find((project) => project.slug === name);
  }

  async create(
    wanted: { slug: string; title: string; managed: boolean },
    remember?: Remember<ProjectRecord>,
  ): Promise<ProjectRecord | Problem> {
    const now = this.#clock.wall();
    const made = await this.#store.create({ id: newId("prj", now), createdAt: now, ...wanted }, remember);
    if (!isProblem(made)) this.#byId.set(made.id, made);
    return made;
  }

  async update(
    id: Id<"prj">,
    change: Partial<Pick<ProjectRecord, "title" | "slug" | "managed">>,
  ): Promise<ProjectRecord | Problem> {
    const next = await this.#store.update(id, change);
    // It may be on its way out: then it does not come back.
    if (!isProblem(next) && this.#byId.has(id)) this.#byId.set(id, next);
    return next;
  }

  /**
   * Deletes a project with all that is its. The last one stays: something must take what comes in. Who listens is told
   * once it is gone: if the store fails half-way, its sources and keys go on with what is left.
   */
  async delete(id: Id<"prj">): Promise<Problem | undefined> {
    const project = this.#byId.get(id);
    if (!project) return new Problem("NOT_FOUND", `there is no project ${id}`);
    if (this.#byId.size === 1)
      return new Problem("STATE_CONFLICT", "the last project cannot be deleted; make another first");
    this.#byId.delete(id);
    const blobs = await this.#store.delete(id);
    if (isProblem(blobs)) {
      this.#byId.set(id, project);
      return blobs;
    }
    for (const listener of this.#gone) listener(id, blobs);
    return undefined;
  }
}
