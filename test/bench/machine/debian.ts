import { Glob } from "bun";

/** A program of a Debian package, wherever the package puts it; undefined where it is not installed. */
export function program(name: string, pattern?: string): string | undefined {
  if (pattern === undefined) return Bun.which(name) ?? undefined;
  return (
    [...new Glob(pattern).scanSync({ absolute: true, onlyFiles: false })].sort().at(-1) ?? Bun.which(name) ?? undefined
  );
}

/** What to say where programs are missing; undefined where all are there. */
export function missingPackage(debianPackage: string, programs: readonly (string | undefined)[]): string | undefined {
  return programs.includes(undefined) ? `\`apt-get install -y ${debianPackage}\` brings it` : undefined;
}

/** A program that must be there, because `missing` said so. */
export function present(path: string | undefined): string {
  if (path === undefined) throw new Error("a program is missing that was said to be there");
  return path;
}
