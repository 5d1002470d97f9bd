export { type Actor, hasScope, holderOf, isPerson, projectOf } from "./actor.ts";
export type { LiveState } from "./key-ring.ts";
export type { KeyMove } from "./key-rules.ts";
export { Keys, type NewKey } from "./keys.ts";
export { DEFAULT_PROJECT, Projects } from "./projects.ts";
