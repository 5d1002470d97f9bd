import { readFileSync } from "node:fs";

/** Reads a file's text; throws what `readFileSync` throws, and a TypeError where the file is not UTF-8. */
export type ReadFile = (path: string) => string;

/** Reads a UTF-8 file. */
export const readTextFile: ReadFile = (path) => new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(path));

/** Why a file could not be read, to put after its name; `absent` where there is none. */
export type Unreadable = { absent: boolean; why: string };

/** A file's text, or why it cannot be read. */
export function tryRead(path: string, readFile: ReadFile): string | Unreadable {
  try {
    return readFile(path);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : undefined;
    if (code === "ENOENT" || code === "ENOTDIR") return { absent: true, why: "does not exist" };
    if (error instanceof TypeError) return { absent: false, why: "is not UTF-8 text" };
    if (code === undefined) throw error;
    return { absent: false, why: `cannot be read (${code})` };
  }
}
