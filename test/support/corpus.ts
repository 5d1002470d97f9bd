import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { projectRoot } from "./paths.ts";

/** The collection of real inputs that lies beside the checkout. Nothing of it is copied into the project. */
export const corpusRoot = join(projectRoot, "../shared/corpus");

/** Why the corpus' tests cannot run, or undefined where it is there. */
export const corpusMissing = existsSync(join(corpusRoot, "README.md"))
  ? undefined
  : "the corpus is not at ../shared/corpus";

/** The path of a file or folder of the corpus. */
export function corpusPath(...parts: string[]): string {
  return join(corpusRoot, ...parts);
}

/** The bytes of a file of the corpus. */
export function readCorpus(...parts: string[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(readFileSync(corpusPath(...parts)));
}

/** A JSON file of the corpus, as the type that the test knows it to have. */
export function readCorpusJson<T>(...parts: string[]): T {
  return JSON.parse(readFileSync(corpusPath(...parts), "utf8")) as T;
}
