import {
  inboxAck,
  inboxClaim,
  inboxClaimNext,
  inboxExtend,
  inboxNack,
  inboxRelease,
  inboxSettle,
} from "./inbox-claim.ts";
import { inboxPurge, inboxRequeue, inboxRequeueMany } from "./inbox-mend.ts";
import { inboxGet, inboxHistory, inboxList, inboxWait } from "./inbox-read.ts";
import * as keys from "./keys.ts";
import type { Operation } from "./operation.ts";
import * as projects from "./projects.ts";
import * as sources from "./sources.ts";

/** All that Postern can do, in the order in which help and reference show it. */
export const OPERATIONS: readonly Operation[] = [
  inboxList,
  inboxWait,
  inboxClaimNext,
  inboxClaim,
  inboxAck,
  inboxNack,
  inboxExtend,
  inboxRelease,
  inboxSettle,
  inboxRequeue,
  inboxRequeueMany,
  inboxGet,
  inboxHistory,
  inboxPurge,
  ...Object.values(sources),
  ...Object.values(keys),
  ...Object.values(projects),
];

export { checkInput } from "./check-input.ts";
export { payloadPath } from "./event-answers.ts";
export { fieldType, fromStrings } from "./from-strings.ts";
export type { Access, CliFace, CliTable, Context, Operation } from "./operation.ts";
export { routeOf } from "./operation.ts";
export type { Services } from "./services.ts";
