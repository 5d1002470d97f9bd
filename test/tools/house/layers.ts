import type { Source, Violation } from "./source.ts";

const FEATURES = ["inbox", "webhook", "mail", "subjects", "requests", "delivery", "identity"];
const DOORS = ["http", "mcp", "cli", "console"];

const FEATURE_USES = ["kernel", "store", "config", ...FEATURES];
const DOOR_USES = ["kernel", "config", "operations", ...FEATURES];

/** What each folder of src may use beside itself. Dependencies point one way: doors, features, store, kernel. */
const USES: Readonly<Record<string, readonly string[]>> = {
  kernel: [],
  store: ["kernel"],
  config: ["kernel", ...FEATURES],
  operations: FEATURE_USES,
  ...Object.fromEntries(FEATURES.map((feature) => [feature, FEATURE_USES])),
  ...Object.fromEntries(DOORS.map((door) => [door, DOOR_USES])),
};

/** What may be imported in one place only, and where. */
const CONFINED: Readonly<Record<string, readonly string[]>> = {
  "bun:sqlite": ["store"],
  elysia: ["http", "mcp", "console"],
};

/** The files that put everything together; they may use all, and of them only main.ts uses the other. */
const TOP = ["src/main.ts", "src/daemon.ts"];

/** Imports that go against the layers, into another folder's inside, or to a package that the product does not have. */
export function checkLayers(sources: Source[], dependencies: readonly string[]): Violation[] {
  return sources.flatMap((source) => [
    ...(layerOf(source.path) in USES || TOP.includes(source.path)
      ? []
      : [at(source, 1, `src/${layerOf(source.path)} is no known layer: add it to test/tools/house/layers.ts`)]),
    ...source.imports.flatMap(({ line, specifier, target }) => {
      const wrong = target === undefined ? wrongPackage(source, specifier, dependencies) : wrongTarget(source, target);
      return wrong === undefined ? [] : [at(source, line, wrong)];
    }),
  ]);
}

function wrongTarget(source: Source, target: string): string | undefined {
  if (!target.startsWith("src/")) {
    return /\.[cm]?[jt]sx?$/.test(target) ? `src may not use ${target}, which is no part of the product` : undefined;
  }
  const [from, to] = [layerOf(source.path), layerOf(target)];
  if (TOP.includes(target)) return source.path === "src/main.ts" ? undefined : `only src/main.ts may use ${target}`;
  if (from === to) return undefined;
  if (!TOP.includes(source.path) && !USES[from]?.includes(to)) return `${from} may not use ${to}`;
  const entry = `src/${to}/index.ts`;
  return FEATURES.includes(to) && target !== entry ? `${target} is the inside of ${to}: use ${entry}` : undefined;
}

function wrongPackage(source: Source, specifier: string, dependencies: readonly string[]): string | undefined {
  const name = /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier;
  const places = CONFINED[name];
  if (places && !places.includes(layerOf(source.path))) return `${name} is for ${places.join(", ")} only`;
  if (/^(?:node|bun):|^bun$/.test(name) || dependencies.includes(name)) return undefined;
  return `${name} is not among the dependencies of package.json`;
}

/** Circles of imports, between files and between folders. Types count: they too tie two files together. */
export function checkCycles(sources: Source[]): Violation[] {
  const files = new Map<string, Set<string>>();
  const folders = new Map<string, Set<string>>();
  for (const { path, imports } of sources) {
    const targets = imports.flatMap(({ target }) => (target?.startsWith("src/") ? [target] : []));
    files.set(path, new Set(targets));
    const folder = folders.get(layerOf(path)) ?? new Set();
    for (const target of targets) if (layerOf(target) !== layerOf(path)) folder.add(layerOf(target));
    folders.set(layerOf(path), folder);
  }
  const report = (kind: string, prefix: string) => (circle: string[]) => ({
    file: `${prefix}${circle[0]}`,
    line: 1,
    message: `a circle of ${kind}: ${circle.join(" → ")}`,
  });
  return [...circles(files).map(report("files", "")), ...circles(folders).map(report("folders", "src/"))];
}

/** One shortest circle for each node that lies on one, without those already named by another of its nodes. */
function circles(graph: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const named = new Set<string>();
  const found: string[][] = [];
  for (const start of [...graph.keys()].sort()) {
    if (named.has(start)) continue;
    const circle = shortestCircle(graph, start);
    if (!circle) continue;
    for (const node of circle) named.add(node);
    found.push(circle);
  }
  return found;
}

function shortestCircle(graph: ReadonlyMap<string, ReadonlySet<string>>, start: string): string[] | undefined {
  const cameFrom = new Map<string, string>();
  const queue = [start];
  for (let node = queue.shift(); node !== undefined; node = queue.shift()) {
    for (const next of graph.get(node) ?? []) {
      if (next === start) return pathBack(cameFrom, start, node);
      if (cameFrom.has(next)) continue;
      cameFrom.set(next, node);
      queue.push(next);
    }
  }
  return undefined;
}

function pathBack(cameFrom: ReadonlyMap<string, string>, start: string, end: string): string[] {
  const path = [start];
  for (let node: string | undefined = end; node !== undefined && node !== start; node = cameFrom.get(node)) {
    path.unshift(node);
  }
  return [start, ...path];
}

/** The folder of src that a path lies in; for the files on top, the file itself. */
function layerOf(path: string): string {
  return path.split("/")[1] ?? "";
}

function at(source: Source, line: number, message: string): Violation {
  return { file: source.path, line, message };
}
