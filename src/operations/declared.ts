import type { ProjectConfig } from "../config/sections/projects.ts";
import type { Id } from "../kernel/ids.ts";
import { isProblem, Problem } from "../kernel/problems.ts";
import { SourceFields } from "../webhook/index.ts";
import type { Services } from "./services.ts";

/** What is wrong with a declaration, and at which key. */
export type DeclarationError = { path: (string | number)[]; message: string };

type SourceConfig = NonNullable<ProjectConfig["sources"]>[number];

/**
 * Brings projects and sources to what the configuration file declares: created or updated, and marked so that nothing
 * else changes them. What it no longer declares stays, and may be changed elsewhere again. `secrets` holds each
 * declared secret by its place, such as `projects.0.sources.1`.
 */
export async function applyDeclared(
  services: Services,
  projects: readonly ProjectConfig[],
  secrets: ReadonlyMap<string, string>,
): Promise<DeclarationError[]> {
  const errors: DeclarationError[] = [];
  const kept = new Set<string>();
  for (const [index, declared] of projects.entries()) {
    const project = await applyProject(services, declared);
    if (isProblem(project)) {
      errors.push({ path: ["projects", index, "name"], message: project.detail });
      continue;
    }
    kept.add(project);
    // To take them and push nothing would be worse than to say so.
    if (declared.routes.length > 0) {
      errors.push({
        path: ["projects", index, "routes", 0, "name"],
        message: "routes are not part of this version: take them out",
      });
    }
    for (const [at, source] of (declared.sources ?? []).entries()) {
      const id = await applySource(services, project, source, secrets.get(`projects.${index}.sources.${at}`));
      if (isProblem(id)) errors.push(...placed(id, ["projects", index, "sources", at]));
      else kept.add(id);
    }
  }
  await releaseOthers(services, kept);
  return errors;
}

async function applyProject(services: Services, { name, title }: ProjectConfig): Promise<Id<"prj"> | Problem> {
  const known = services.projects.find(name);
  const wanted = { title: title ?? known?.title ?? name, managed: true };
  const project = known
    ? await services.projects.update(known.id, wanted)
    : await services.projects.create({ slug: name, ...wanted });
  return isProblem(project) ? project : project.id;
}

async function applySource(
  services: Services,
  project: Id<"prj">,
  declared: SourceConfig,
  secret: string | undefined,
): Promise<Id<"src"> | Problem> {
  const { name, channel, kind } = declared;
  const fields = SourceFields.parse(
    Object.fromEntries(
      Object.entries(declared).filter(([key, value]) => key in SourceFields.shape && value !== undefined),
    ),
  );
  const known = services.sources.byName(project, name);
  if (known && known.record.kind !== kind) {
    return new Problem(
      "STATE_CONFLICT",
      `source \`${name}\` is of kind ${known.record.kind}: delete it, or declare another name`,
    );
  }
  if (!known) {
    const made = await services.sources.create({ project, name, channel, kind, secret, fields, managed: true });
    return isProblem(made) ? made : made.source.record.id;
  }
  const updated = await services.sources.update(known, { fields });
  if (isProblem(updated)) return updated;
  const managed = await services.sources.setManaged(updated, true);
  if (isProblem(managed)) return managed;
  if (secret === undefined || managed.secrets[0]?.secret === secret) return managed.record.id;
  const rotated = await services.sources.rotateSecret(managed, { secret });
  return isProblem(rotated) ? rotated : rotated.source.record.id;
}

async function releaseOthers(services: Services, kept: ReadonlySet<string>): Promise<void> {
  for (const project of services.projects.list()) {
    if (project.managed && !kept.has(project.id)) await services.projects.update(project.id, { managed: false });
    for (const source of services.sources.list(project.id)) {
      if (!kept.has(source.record.id)) await services.sources.setManaged(source, false);
    }
  }
}

function placed(problem: Problem, path: (string | number)[]): DeclarationError[] {
  const errors = problem.errors ?? [{ path: "name", message: problem.detail }];
  return errors.map((error) => ({ path: [...path, error.path], message: error.message }));
}
