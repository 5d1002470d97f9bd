import { z } from "zod";
import type { KeyMove } from "../identity/index.ts";
import { rfc3339 } from "../kernel/clock.ts";
import { isProblem, Problem } from "../kernel/problems.ts";
import { KEY_KINDS, PRESETS, SCOPE_NAMES } from "../kernel/scopes.ts";
import type { KeyRecord } from "../store/types.ts";
import { Cursor, idField, PageFields, pageById, SecretShown, TimeField, TitleField } from "./fields.ts";
import { type Context, operation, rememberAs } from "./operation.ts";

const KeyView = z
  .object({
    id: z.string(),
    project: z.string(),
    name: z.string(),
    kind: z.enum(KEY_KINDS),
    scopes: z.array(z.enum(SCOPE_NAMES)),
    state: z.enum(["active", "frozen", "contained", "revoked", "expired", "suspended"]),
    expires_at: z.string().nullable(),
    created_at: z.string(),
    created_by: z.string().describe("The key that made it, or `operator`"),
  })
  .meta({ id: "Key" });

const COLUMNS = ["id", "name", "kind", "state", "expires_at", "created_by"];

function view(ctx: Context, key: KeyRecord): z.input<typeof KeyView> {
  return {
    id: key.id,
    project: key.project,
    name: key.name,
    kind: key.kind,
    scopes: [...key.scopes],
    state: ctx.services.keys.stateOf(key),
    expires_at: key.expiresAt === null ? null : rfc3339(key.expiresAt),
    created_at: rfc3339(key.createdAt),
    created_by: key.creator,
  };
}

function find(ctx: Context, id: `key_${string}`): KeyRecord | Problem {
  return ctx.services.keys.get(ctx.project, id) ?? new Problem("NOT_FOUND", `there is no key ${id} in this project`);
}

export const keysCreate = operation({
  name: "keys_create",
  http: "POST /v1/keys",
  access: { scope: "keys:write" },
  summary: "Create an API key; its token is shown once",
  description: "Exactly one of `scopes` and `preset`. Only a person or the operator makes management keys.",
  input: z.strictObject({
    name: TitleField,
    kind: z.enum(KEY_KINDS),
    scopes: z.array(z.enum(SCOPE_NAMES)).min(1).max(SCOPE_NAMES.length).optional(),
    preset: z
      .enum(PRESETS)
      .optional()
      .describe("agent: to work an inbox; operator: all that the kind may hold; reporter: to report signals"),
    expires_at: TimeField.optional(),
  }),
  output: KeyView.extend({
    key: z.string().optional().describe("The token; shown this once"),
    secret_shown: SecretShown,
  }),
  creates: { secret: "key" },
  cli: { command: "keys create", table: { columns: [...COLUMNS, "key"] } },
  async run(ctx, { name, kind, scopes, preset, expires_at }) {
    const wanted = { project: ctx.project, name, kind, scopes, preset, expiresAt: expires_at };
    const made = await ctx.services.keys.create(ctx.actor, wanted, () =>
      // The answer is made before the key is known to `stateOf`; a new key is active.
      rememberAs(ctx, (key) => JSON.stringify({ ...view(ctx, key), state: "active" })),
    );
    return isProblem(made) ? made : { ...view(ctx, made.key), key: made.token };
  },
});

export const keysList = operation({
  name: "keys_list",
  http: "GET /v1/keys",
  access: { scope: "keys:read" },
  summary: "List the keys",
  input: z.strictObject(PageFields),
  output: z.object({ keys: z.array(KeyView), next_cursor: Cursor }),
  cli: { command: "keys list", table: { rows: "keys", columns: COLUMNS } },
  async run(ctx, page) {
    const all = ctx.services.keys.list(ctx.project).map((key) => view(ctx, key));
    const shown = pageById(all, page);
    return isProblem(shown) ? shown : { keys: shown.items, next_cursor: shown.next };
  },
});

export const keysGet = operation({
  name: "keys_get",
  http: "GET /v1/keys/:id",
  access: { scope: "keys:read" },
  summary: "Get one key",
  input: z.strictObject({ id: idField("key") }),
  output: KeyView,
  cli: { command: "keys get", args: ["id"], table: { columns: [...COLUMNS, "scopes"] } },
  async run(ctx, { id }) {
    const key = find(ctx, id);
    return isProblem(key) ? key : view(ctx, key);
  },
});

export const keysUpdate = operation({
  name: "keys_update",
  http: "PATCH /v1/keys/:id",
  access: { scope: "keys:write" },
  summary: "Change a key's name, scopes or expiry",
  input: z.strictObject({
    id: idField("key"),
    name: TitleField.optional(),
    scopes: z.array(z.enum(SCOPE_NAMES)).min(1).max(SCOPE_NAMES.length).optional(),
    expires_at: TimeField.nullable().optional().describe("null: never"),
  }),
  output: KeyView,
  cli: { command: "keys update", args: ["id"], table: { columns: COLUMNS } },
  async run(ctx, { id, name, scopes, expires_at }) {
    const key = find(ctx, id);
    if (isProblem(key)) return key;
    const next = await ctx.services.keys.update(ctx.actor, key, { name, scopes, expiresAt: expires_at });
    return isProblem(next) ? next : view(ctx, next);
  },
});

export const keysDelete = operation({
  name: "keys_delete",
  http: "DELETE /v1/keys/:id",
  access: { scope: "keys:write" },
  summary: "Revoke a key and hide it",
  input: z.strictObject({ id: idField("key") }),
  output: z.null(),
  cli: { command: "keys delete", args: ["id"] },
  async run(ctx, { id }) {
    const key = find(ctx, id);
    if (isProblem(key)) return key;
    const hidden = await ctx.services.keys.hide(ctx.actor, key);
    return isProblem(hidden) ? hidden : null;
  },
});

const SUMMARIES: Readonly<Record<KeyMove, string>> = {
  freeze: "Freeze a key: it does nothing until thawed",
  thaw: "Thaw a frozen key",
  contain: "Lock a key down; only a person lifts that",
  lift: "Lift a key's containment",
  revoke: "Revoke a key for good",
};

function moving(move: KeyMove) {
  return operation({
    name: `keys_${move}`,
    http: `POST /v1/keys/:id/${move}`,
    access: { scope: "keys:write" },
    summary: SUMMARIES[move],
    input: z.strictObject({ id: idField("key") }),
    output: KeyView,
    cli: { command: `keys ${move}`, args: ["id"], table: { columns: COLUMNS } },
    async run(ctx, { id }) {
      const key = find(ctx, id);
      if (isProblem(key)) return key;
      const next = await ctx.services.keys.move(ctx.actor, key, move);
      return isProblem(next) ? next : view(ctx, next);
    },
  });
}

export const keysFreeze = moving("freeze");
export const keysThaw = moving("thaw");
export const keysContain = moving("contain");
export const keysLift = moving("lift");
export const keysRevoke = moving("revoke");

export const whoami = operation({
  name: "whoami",
  http: "GET /v1/whoami",
  access: { anyone: true },
  summary: "Who this credential is, and its project",
  input: z.strictObject({}),
  output: z.object({
    kind: z.enum(["key", "operator"]),
    project: z.object({ id: z.string(), slug: z.string() }),
    workspace_id: z.string(),
    key: KeyView.nullable(),
  }),
  cli: { command: "whoami", table: { columns: ["kind", "project.slug", "key.name", "key.kind"] } },
  async run(ctx) {
    const project = ctx.services.projects.find(ctx.project);
    return {
      kind: ctx.actor.kind,
      project: { id: ctx.project, slug: project?.slug ?? "" },
      workspace_id: ctx.services.store.workspaceId,
      key: ctx.actor.kind === "key" ? view(ctx, ctx.actor.key) : null,
    };
  },
});
