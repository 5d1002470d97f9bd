/**
 * The rules of the house that neither TypeScript nor Biome holds, a part of `bun run check`:
 * `bun run test/tools/house.ts [root]`. Ends with 1, and a line for each place, where one is broken.
 */
import { readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { checkCycles, checkLayers } from "./house/layers.ts";
import { readSources, type Violation } from "./house/source.ts";
import { checkRepositoryText, checkSourceText, LONG_FILE } from "./house/text.ts";

/** The files that the repository holds or is about to: all that git does not ignore. */
async function repositoryFiles(root: string): Promise<string[]> {
  const git = Bun.spawn(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    stdout: "pipe",
    stderr: "inherit",
  });
  const list = await git.stdout.text();
  if ((await git.exited) !== 0) throw new Error(`${root} is no checkout: git does not list its files`);
  const isFile = (path: string) => statSync(join(root, path), { throwIfNoEntry: false })?.isFile();
  return [...new Set(list.split("\0"))].filter((path) => path !== "" && isFile(path));
}

async function check(root: string): Promise<{ violations: Violation[]; long: string[] }> {
  const { dependencies = {} } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    dependencies?: Record<string, string>;
  };
  const sources = await readSources(root);
  const inSources = checkSourceText(sources);
  const files = await repositoryFiles(root);
  const inAll = files.flatMap((path) => {
    const text = readFileSync(join(root, path), "utf8");
    return text.includes("\0") ? [] : checkRepositoryText(path, text);
  });
  return {
    violations: [
      ...checkLayers(sources, Object.keys(dependencies)),
      ...checkCycles(sources),
      ...inSources.violations,
      ...inAll,
    ],
    long: inSources.long,
  };
}

const { violations, long } = await check(resolve(process.argv[2] ?? join(import.meta.dir, "../..")));
for (const file of long) console.log(`${file}: over ${LONG_FILE}, is it still one concept?`);
for (const { file, line, message } of violations) console.error(`${file}:${line}  ${message}`);
if (violations.length > 0) {
  console.error(
    `${violations.length} ${violations.length === 1 ? "place breaks" : "places break"} a rule of the house`,
  );
  process.exit(1);
}
