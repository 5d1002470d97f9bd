import { readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { type Node, type SourceFile, SyntaxKind } from "typescript/unstable/ast";
import { API } from "typescript/unstable/async";

/** Something that breaks a rule of the house. */
export type Violation = { file: string; line: number; message: string };

/** One place where a file names another module: import, re-export, import(), an imported type, or a worker's URL. */
export type Import = {
  line: number;
  /** As written. */
  specifier: string;
  /** For a relative one: the path from the project's root. */
  target: string | undefined;
};

export type Source = { path: string; text: string; imports: Import[] };

/** Reads every source file under src with its imports, as TypeScript's own parser sees them. */
export async function readSources(root: string): Promise<Source[]> {
  const api = new API({ cwd: root });
  try {
    const snapshot = await api.updateSnapshot({ openProject: join(root, "tsconfig.json") });
    const [project] = snapshot.getProjects();
    if (!project) throw new Error(`${root}/tsconfig.json opens no project`);
    const sources: Source[] = [];
    for (const file of project.rootFiles) {
      const path = relative(root, file);
      if (!path.startsWith("src/")) continue;
      const parsed = await project.program.getSourceFile(file);
      if (!parsed) throw new Error(`${path} cannot be parsed`);
      sources.push({ path, text: readFileSync(file, "utf8"), imports: importsOf(root, file, parsed) });
    }
    return sources.sort((a, b) => (a.path < b.path ? -1 : 1));
  } finally {
    await api.close();
  }
}

function importsOf(root: string, file: string, parsed: SourceFile): Import[] {
  const found: Import[] = [];
  const add = (node: Node, specifier: string) => {
    const target = specifier.startsWith(".") ? relative(root, resolve(dirname(file), specifier)) : undefined;
    found.push({ line: parsed.getLineAndCharacterOfPosition(node.getStart(parsed)).line + 1, specifier, target });
  };
  for (const node of parsed.imports) if ("text" in node) add(node, String(node.text));
  visit(parsed, (node) => {
    const specifier = urlOfModule(node);
    if (specifier !== undefined) add(node, specifier);
  });
  return found;
}

/** `new URL("./x.worker.ts", import.meta.url)` starts a module as an import does. */
function urlOfModule(node: Node): string | undefined {
  if (node.kind !== SyntaxKind.NewExpression) return undefined;
  return /^new\s+URL\(\s*["'](\.[^"']+\.ts)["']\s*,\s*import\.meta\.url/.exec(node.getText())?.[1];
}

function visit(node: Node, see: (node: Node) => void): void {
  see(node);
  node.forEachChild((child) => {
    visit(child, see);
    return undefined;
  });
}
