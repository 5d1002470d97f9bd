import { z } from "zod";
import { rfc3339 } from "../kernel/clock.ts";
import { isProblem, Problem } from "../kernel/problems.ts";
import { SOURCE_KINDS, type Source, SourceFields } from "../webhook/index.ts";
import { Cursor, cursorOf, idField, NameField, numberOf, PageFields, pageById, SecretShown } from "./fields.ts";
import { type Context, operation, rememberAs } from "./operation.ts";

const SourceView = z
  .object({
    id: z.string(),
    project: z.string(),
    name: z.string(),
    channel: z.enum(["webhook", "email"]),
    kind: z.string(),
    ingest_url: z.string().describe("Where the provider sends to; whoever knows it can reach the source"),
    status: z.enum(["active", "paused"]),
    verifies: z.boolean().describe("A signature is checked on each transmission"),
    secret_set: z.boolean().describe("False: it answers 401 until a secret is set"),
    secrets_valid: z.int().describe("How many secrets count now; more than one while a rotation lasts"),
    settings: z.record(z.string(), z.unknown()),
    managed: z.enum(["api", "config"]),
    created_at: z.string(),
  })
  .meta({ id: "Source" });

const SecretField = z.string().max(1024).describe("The signing secret, as the provider shows it");
const WithSecret = SourceView.extend({
  secret: z.string().optional().describe("The secret that Postern made; shown this once"),
});
const COLUMNS = ["id", "name", "kind", "status", "secret_set", "ingest_url"];

function view(ctx: Context, source: Source): z.input<typeof SourceView> {
  const { record } = source;
  const now = ctx.services.clock.wall();
  const valid = source.secrets.filter(({ until }) => until === null || until > now).length;
  const { hmac, ...settings } = source.settings;
  return {
    id: record.id,
    project: record.project,
    name: record.name,
    channel: record.channel,
    kind: record.kind,
    ingest_url: `${ctx.baseUrl}/in/${source.token}`,
    status: record.paused ? "paused" : "active",
    verifies: source.provider.verifies,
    secret_set: valid > 0,
    secrets_valid: valid,
    settings: { ...settings, ...hmac },
    managed: record.managed ? "config" : "api",
    created_at: rfc3339(record.createdAt),
  };
}

function find(ctx: Context, id: `src_${string}`): Source | Problem {
  return (
    ctx.services.sources.get(ctx.project, id) ?? new Problem("NOT_FOUND", `there is no source ${id} in this project`)
  );
}

/** A source that this interface may change: one that the configuration file declares is read-only here. */
function changeable(ctx: Context, id: `src_${string}`): Source | Problem {
  const source = find(ctx, id);
  if (isProblem(source) || !source.record.managed) return source;
  return new Problem(
    "MANAGED_BY_CONFIG",
    `the configuration file declares source \`${source.record.name}\`: change it there and reload`,
  );
}

export const sourcesCreate = operation({
  name: "sources_create",
  http: "POST /v1/sources",
  access: { scope: "sources:write" },
  summary: "Create a source: a way in for events",
  description:
    "Without `secret` one is made and shown once, unless only the provider makes it: then set it with rotate-secret.",
  input: z.strictObject({
    name: NameField,
    channel: z.enum(["webhook", "email"]).default("webhook"),
    kind: z
      .string()
      .min(1)
      .max(64)
      .describe(`One of ${SOURCE_KINDS.join(", ")}`),
    secret: SecretField.optional(),
    ...SourceFields.shape,
  }),
  output: WithSecret.extend({ secret_shown: SecretShown }),
  creates: { secret: "secret" },
  cli: { command: "sources create", table: { columns: COLUMNS } },
  async run(ctx, { name, channel, kind, secret, ...fields }) {
    const made = await ctx.services.sources.create(
      { project: ctx.project, name, channel, kind, secret, fields, managed: false },
      (open) => rememberAs(ctx, (record) => JSON.stringify(view(ctx, open(record)))),
    );
    if (isProblem(made)) return made;
    return { ...view(ctx, made.source), ...(made.secret === null ? {} : { secret: made.secret }) };
  },
});

export const sourcesList = operation({
  name: "sources_list",
  http: "GET /v1/sources",
  access: { scope: "sources:read" },
  summary: "List the sources",
  input: z.strictObject(PageFields),
  output: z.object({ sources: z.array(SourceView), next_cursor: Cursor }),
  cli: { command: "sources list", table: { rows: "sources", columns: COLUMNS } },
  async run(ctx, page) {
    const all = ctx.services.sources.list(ctx.project).map((source) => view(ctx, source));
    const shown = pageById(all, page);
    return isProblem(shown) ? shown : { sources: shown.items, next_cursor: shown.next };
  },
});

export const sourcesGet = operation({
  name: "sources_get",
  http: "GET /v1/sources/:id",
  access: { scope: "sources:read" },
  summary: "Get one source",
  input: z.strictObject({ id: idField("src") }),
  output: SourceView,
  cli: { command: "sources get", args: ["id"], table: { columns: COLUMNS } },
  async run(ctx, { id }) {
    const source = find(ctx, id);
    return isProblem(source) ? source : view(ctx, source);
  },
});

export const sourcesUpdate = operation({
  name: "sources_update",
  http: "PATCH /v1/sources/:id",
  access: { scope: "sources:write" },
  summary: "Change a source's name or settings",
  input: z.strictObject({ id: idField("src"), name: NameField.optional(), ...SourceFields.shape }),
  output: SourceView,
  cli: { command: "sources update", args: ["id"], table: { columns: COLUMNS } },
  async run(ctx, { id, name, ...fields }) {
    const source = changeable(ctx, id);
    if (isProblem(source)) return source;
    const next = await ctx.services.sources.update(source, { name, fields });
    return isProblem(next) ? next : view(ctx, next);
  },
});

export const sourcesDelete = operation({
  name: "sources_delete",
  http: "DELETE /v1/sources/:id",
  access: { scope: "sources:write" },
  summary: "Delete a source; its events stay",
  input: z.strictObject({ id: idField("src") }),
  output: z.null(),
  cli: { command: "sources delete", args: ["id"] },
  async run(ctx, { id }) {
    const source = changeable(ctx, id);
    if (isProblem(source)) return source;
    return (await ctx.services.sources.delete(source)) ?? null;
  },
});

export const sourcesRotateSecret = operation({
  name: "sources_rotate_secret",
  http: "POST /v1/sources/:id/rotate-secret",
  access: { scope: "sources:write" },
  summary: "Set a new secret; the old one stays valid for the grace time",
  input: z.strictObject({
    id: idField("src"),
    secret: SecretField.optional(),
    grace_seconds: z
      .int()
      .min(0)
      .max(2_592_000)
      .optional()
      .describe("24 hours by default; 0: the old one ends at once"),
  }),
  output: WithSecret,
  cli: { command: "sources rotate-secret", args: ["id"], table: { columns: COLUMNS } },
  async run(ctx, { id, secret, grace_seconds }) {
    const source = changeable(ctx, id);
    if (isProblem(source)) return source;
    const next = await ctx.services.sources.rotateSecret(source, { secret, graceSeconds: grace_seconds });
    if (isProblem(next)) return next;
    return { ...view(ctx, next.source), ...(next.secret === null ? {} : { secret: next.secret }) };
  },
});

export const sourcesRotateUrl = operation({
  name: "sources_rotate_url",
  http: "POST /v1/sources/:id/rotate-url",
  access: { scope: "sources:write" },
  summary: "Give a source a new ingest URL; the old one ends at once",
  input: z.strictObject({ id: idField("src") }),
  output: SourceView,
  cli: { command: "sources rotate-url", args: ["id"], table: { columns: COLUMNS } },
  async run(ctx, { id }) {
    const source = changeable(ctx, id);
    if (isProblem(source)) return source;
    const next = await ctx.services.sources.rotateUrl(source);
    return isProblem(next) ? next : view(ctx, next);
  },
});

function pausing(verb: "pause" | "resume") {
  const paused = verb === "pause";
  return operation({
    name: `sources_${verb}`,
    http: `POST /v1/sources/:id/${verb}`,
    access: { scope: "sources:write" },
    summary: paused ? "Pause a source: it answers 503 and providers come again" : "Resume a paused source",
    input: z.strictObject({ id: idField("src") }),
    output: SourceView,
    cli: { command: `sources ${verb}`, args: ["id"], table: { columns: COLUMNS } },
    async run(ctx, { id }) {
      const source = changeable(ctx, id);
      if (isProblem(source)) return source;
      const next = await ctx.services.sources.setPaused(source, paused);
      return isProblem(next) ? next : view(ctx, next);
    },
  });
}

export const sourcesPause = pausing("pause");
export const sourcesResume = pausing("resume");

export const sourcesRejections = operation({
  name: "sources_rejections",
  http: "GET /v1/sources/:id/rejections",
  access: { scope: "sources:read" },
  summary: "The last 100 transmissions that a source refused, newest first",
  input: z.strictObject({ id: idField("src"), ...PageFields }),
  output: z.object({
    rejections: z.array(
      z.object({ time: z.string(), code: z.string(), reason: z.string(), size: z.int(), remote_address: z.string() }),
    ),
    next_cursor: Cursor,
  }),
  cli: {
    command: "sources rejections",
    args: ["id"],
    table: { rows: "rejections", columns: ["time", "code", "reason", "size", "remote_address"] },
  },
  async run(ctx, { id, limit, cursor }) {
    const source = find(ctx, id);
    if (isProblem(source)) return source;
    const before = numberOf(cursor);
    if (isProblem(before)) return before;
    const page = { limit, ...(before === undefined ? {} : { before }) };
    const { rows, next } = await ctx.services.rejections.list(source, page);
    const rejections = rows.map(({ at, code, reason, size, remoteAddress }) => ({
      time: rfc3339(at),
      code,
      reason,
      size,
      remote_address: remoteAddress,
    }));
    return { rejections, next_cursor: cursorOf(next) };
  },
});
