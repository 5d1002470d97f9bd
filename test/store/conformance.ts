import { describe } from "bun:test";
import { arrivalRules } from "./conformance/arrival.ts";
import type { Implementation } from "./conformance/bed.ts";
import { changeRules } from "./conformance/changes.ts";
import { claimingRules } from "./conformance/claiming.ts";
import { dueRules } from "./conformance/due.ts";
import { listingRules } from "./conformance/listing.ts";
import { mendingRules } from "./conformance/mending.ts";
import { queueRules } from "./conformance/queue.ts";
import { registryRules } from "./conformance/registries.ts";
import { ruleOf } from "./conformance/rule.ts";
import { settlingRules } from "./conformance/settling.ts";

/** The rules that every implementation of `Store` holds (src/store/store.ts; contract, sections 4 and 5). */
export function storeConformance(name: string, implementation: Implementation): void {
  const rule = ruleOf(implementation);
  describe(`${name}: what arrives`, () => arrivalRules(rule));
  describe(`${name}: lists`, () => listingRules(rule));
  describe(`${name}: claims`, () => claimingRules(rule));
  describe(`${name}: the queue`, () => queueRules(rule));
  describe(`${name}: settling`, () => settlingRules(rule));
  describe(`${name}: what falls due`, () => dueRules(rule));
  describe(`${name}: mending and retention`, () => mendingRules(rule));
  describe(`${name}: changes`, () => changeRules(rule));
  describe(`${name}: registries`, () => registryRules(rule));
}
