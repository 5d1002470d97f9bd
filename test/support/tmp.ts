import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { whenTestsEnd } from "./cleanup.ts";

let root: string | undefined;

/** A new, empty folder (mode 0700) that is removed when the test run ends. */
export function tempDir(prefix = "dir"): string {
  root ??= makeRoot();
  return mkdtempSync(join(root, `${prefix}-`));
}

function makeRoot(): string {
  const made = mkdtempSync(join(tmpdir(), "postern-test-"));
  whenTestsEnd(() => rmSync(made, { recursive: true, force: true }));
  return made;
}
