import { z } from "zod";
import { rfc3339 } from "../kernel/clock.ts";
import { invalid, isProblem, Problem } from "../kernel/problems.ts";
import type { ProjectRecord } from "../store/types.ts";
import { Cursor, NameField, PageFields, pageById, TitleField } from "./fields.ts";
import { type Context, operation, rememberAs } from "./operation.ts";

const ProjectView = z
  .object({
    id: z.string(),
    slug: z.string().describe("Names the project in `?project=` and `--project`"),
    name: z.string(),
    managed: z.enum(["api", "config"]),
    created_at: z.string(),
  })
  .meta({ id: "Project" });

const COLUMNS = ["id", "slug", "name", "managed", "created_at"];
const ProjectRef = z.string().min(1).max(64).describe("The project's id or slug");

function view(project: ProjectRecord): z.input<typeof ProjectView> {
  return {
    id: project.id,
    slug: project.slug,
    name: project.title,
    managed: project.managed ? "config" : "api",
    created_at: rfc3339(project.createdAt),
  };
}

function find(ctx: Context, ref: string): ProjectRecord | Problem {
  return ctx.services.projects.find(ref) ?? new Problem("NOT_FOUND", `there is no project ${ref}`);
}

function changeable(ctx: Context, ref: string): ProjectRecord | Problem {
  const project = find(ctx, ref);
  if (isProblem(project) || !project.managed) return project;
  return new Problem(
    "MANAGED_BY_CONFIG",
    `the configuration file declares project \`${project.slug}\`: change it there and reload`,
  );
}

/** `My Shop` → `my-shop`. */
function slugOf(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 63);
}

export const projectsCreate = operation({
  name: "projects_create",
  http: "POST /v1/projects",
  access: { person: true },
  summary: "Create a project: a separate inbox",
  input: z.strictObject({
    name: TitleField.optional().describe("What people call it; the slug by default"),
    slug: NameField.optional().describe("Made from the name by default"),
  }),
  output: ProjectView,
  creates: {},
  cli: { command: "projects create", args: ["name"], table: { columns: COLUMNS } },
  async run(ctx, { name, slug }) {
    const chosen = slug ?? slugOf(name ?? "");
    if (chosen === "") return invalid("slug", "give a `slug`, or a `name` with letters or digits to make one from");
    const made = await ctx.services.projects.create(
      { slug: chosen, title: name ?? chosen, managed: false },
      rememberAs(ctx, (project) => JSON.stringify(view(project))),
    );
    return isProblem(made) ? made : view(made);
  },
});

export const projectsList = operation({
  name: "projects_list",
  http: "GET /v1/projects",
  access: { person: true },
  summary: "List the projects",
  input: z.strictObject(PageFields),
  output: z.object({ projects: z.array(ProjectView), next_cursor: Cursor }),
  cli: { command: "projects list", table: { rows: "projects", columns: COLUMNS } },
  async run(ctx, page) {
    const shown = pageById(ctx.services.projects.list().map(view), page);
    return isProblem(shown) ? shown : { projects: shown.items, next_cursor: shown.next };
  },
});

export const projectsGet = operation({
  name: "projects_get",
  http: "GET /v1/projects/:id",
  access: { person: true },
  summary: "Get one project",
  input: z.strictObject({ id: ProjectRef }),
  output: ProjectView,
  cli: { command: "projects get", args: ["id"], table: { columns: COLUMNS } },
  async run(ctx, { id }) {
    const project = find(ctx, id);
    return isProblem(project) ? project : view(project);
  },
});

export const projectsUpdate = operation({
  name: "projects_update",
  http: "PATCH /v1/projects/:id",
  access: { person: true },
  summary: "Change a project's name or slug",
  input: z.strictObject({ id: ProjectRef, name: TitleField.optional(), slug: NameField.optional() }),
  output: ProjectView,
  cli: { command: "projects update", args: ["id"], table: { columns: COLUMNS } },
  async run(ctx, { id, name, slug }) {
    const project = changeable(ctx, id);
    if (isProblem(project)) return project;
    const next = await ctx.services.projects.update(project.id, {
      ...(name === undefined ? {} : { title: name }),
      ...(slug === undefined ? {} : { slug }),
    });
    return isProblem(next) ? next : view(next);
  },
});

export const projectsDelete = operation({
  name: "projects_delete",
  http: "DELETE /v1/projects/:id",
  access: { person: true },
  summary: "Delete a project with all that is its",
  input: z.strictObject({ id: ProjectRef }),
  output: z.null(),
  cli: { command: "projects delete", args: ["id"] },
  async run(ctx, { id }) {
    const project = changeable(ctx, id);
    if (isProblem(project)) return project;
    return (await ctx.services.projects.delete(project.id)) ?? null;
  },
});
