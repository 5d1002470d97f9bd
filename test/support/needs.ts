import { describe, test } from "bun:test";
import { existsSync } from "node:fs";
import { corpusMissing } from "./corpus.ts";
import { binaryPath } from "./paths.ts";

/** What a test needs beside the checkout, and what to say where it is missing. */
export type Need = { readonly skip: boolean; readonly reason: string };

/** A program of a Debian package. */
export function needsCommand(command: string, debianPackage = command): Need {
  return { skip: Bun.which(command) === null, reason: `needs the command ${command}, Debian package ${debianPackage}` };
}

/** The collection of real inputs in ../shared/corpus. */
export function needsCorpus(): Need {
  return { skip: corpusMissing !== undefined, reason: corpusMissing ?? "the corpus is there" };
}

/** The built binary. */
export function needsBinary(): Need {
  return { skip: !existsSync(binaryPath), reason: "needs dist/postern: run `bun run build`" };
}

/** A test's or group's name with the reason for which it is skipped: `bun run test` fails for a skip without one. */
export function withReason(name: string, ...needs: Need[]): string {
  const missing = needs.filter((need) => need.skip);
  return missing.length === 0 ? name : `${name} (skipped: ${missing.map((need) => need.reason).join("; ")})`;
}

/** `test`, for a test that is skipped, saying why, where one of `needs` is missing. */
export function testWith(...needs: Need[]) {
  return (name: string, run: () => void | Promise<void>, timeoutMs?: number): void => {
    test.skipIf(needs.some((need) => need.skip))(withReason(name, ...needs), run, timeoutMs);
  };
}

/** `describe`, for a group that is skipped, saying why, where one of `needs` is missing. */
export function describeWith(...needs: Need[]) {
  return (name: string, define: () => void): void => {
    describe.skipIf(needs.some((need) => need.skip))(withReason(name, ...needs), define);
  };
}
