import { type Actor, DEFAULT_PROJECT, hasScope, isPerson, type Keys, type Projects } from "../identity/index.ts";
import type { Id } from "../kernel/ids.ts";
import { Problem } from "../kernel/problems.ts";
import type { Access } from "../operations/index.ts";
import type { Door } from "./exchange.ts";

type Identities = { keys: Keys; projects: Projects };

/**
 * Who calls: 401 without a valid token, 403 where its key is not active. The socket is the operator's. A token that is
 * sent there counts all the same, so that a key's rights can be tried out on the spot.
 */
export function authenticate(
  { keys }: Identities,
  request: { door: Door; authorization: string | null },
): Actor | Problem {
  if (request.authorization === null) {
    return request.door === "socket" ? { kind: "operator" } : unauthenticated("no key was sent");
  }
  const token = /^bearer +([^\s]+)\s*$/i.exec(request.authorization)?.[1];
  if (token === undefined) return unauthenticated("the Authorization header is not `Bearer <key>`");
  const key = keys.byToken(token);
  if (!key) return unauthenticated("the key is unknown");
  return keys.refusal(key) ?? { kind: "key", key };
}

/** For which project an actor calls, `named` by `?project=` or not: a key for its own only. 404 comes after 403 and 422. */
export function projectFor({ projects }: Identities, actor: Actor, named: string | null): Id<"prj"> | Problem {
  if (actor.kind === "key") {
    const own = actor.key.project;
    return named === null || projects.find(named)?.id === own ? own : noProject(named);
  }
  const known = projects.find(named ?? DEFAULT_PROJECT);
  if (known) return known.id;
  const all = projects.list();
  const only = named === null && all.length === 1 ? all[0] : undefined;
  return only ? only.id : noProject(named ?? DEFAULT_PROJECT);
}

function unauthenticated(why: string): Problem {
  return new Problem(
    "UNAUTHENTICATED",
    `${why}: send \`Authorization: Bearer pst_…\`; \`postern keys create\` makes a key`,
    {
      headers: { "www-authenticate": "Bearer" },
    },
  );
}

function noProject(name: string): Problem {
  return new Problem(
    "NOT_FOUND",
    `there is no project ${name.slice(0, 64)} for this credential; \`postern projects list\` shows them`,
  );
}

/** 403 where the actor may not use the operation at all, or lacks its scope. */
export function refusedAccess(actor: Actor, access: Access): Problem | undefined {
  if ("anyone" in access) return undefined;
  if ("person" in access) {
    if (isPerson(actor)) return undefined;
    return new Problem(
      "NOT_ALLOWED",
      "only a person or the operator may do this: run the command on the daemon's machine, without --url and --key",
    );
  }
  if (hasScope(actor, access.scope)) return undefined;
  return new Problem("SCOPE_MISSING", `the key lacks the scope ${access.scope}`, { extra: { scope: access.scope } });
}
