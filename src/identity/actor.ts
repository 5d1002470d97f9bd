import type { Id } from "../kernel/ids.ts";
import type { Scope } from "../kernel/scopes.ts";
import type { KeyRecord } from "../store/types.ts";

/** Who is calling: an API key, or the operator at the local socket (a person with the owner's rights). */
export type Actor = { kind: "key"; key: KeyRecord } | { kind: "operator" };

/** How leases, history and creators name the actor: the key's id, or `operator`. */
export function holderOf(actor: Actor): string {
  return actor.kind === "key" ? actor.key.id : "operator";
}

/** True where the actor has the scope; the operator has all. */
export function hasScope(actor: Actor, scope: Scope): boolean {
  return actor.kind === "operator" || actor.key.scopes.includes(scope);
}

/** True for a person or the operator. */
export function isPerson(actor: Actor): boolean {
  return actor.kind === "operator";
}

/** The project a key belongs to; undefined where the actor may name any. */
export function projectOf(actor: Actor): Id<"prj"> | undefined {
  return actor.kind === "key" ? actor.key.project : undefined;
}
