import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { needsCommand, testWith } from "../support/needs.ts";
import { projectRoot } from "../support/paths.ts";
import { tempDir } from "../support/tmp.ts";

const testWithGit = testWith(needsCommand("git"));

const CLEAN = {
  "package.json": JSON.stringify({ dependencies: { zod: "4.6.7", elysia: "1.4.30" }, devDependencies: { biome: "2" } }),
  "tsconfig.json": JSON.stringify({
    compilerOptions: { noEmit: true, allowImportingTsExtensions: true, module: "ESNext", moduleResolution: "bundler" },
    include: ["src"],
  }),
  "bun.lock": `{ "packages": { "zod": ["zod@4.6.7", "", {}, "sha512-x"] } }`,
  "src/main.ts": `import { serve } from "./daemon.ts";\nserve();`,
  "src/daemon.ts": `import { app } from "./http/app.ts";\nimport { claim } from "./inbox/index.ts";\nexport const serve = () => app(claim);`,
  "src/http/app.ts": `import { Elysia } from "elysia";\nimport { operations } from "../operations/list.ts";\nexport const app = (x: unknown) => [Elysia, operations, x];`,
  "src/operations/list.ts": `import { claim } from "../inbox/index.ts";\nexport const operations = [claim];`,
  "src/inbox/index.ts": `export { claim } from "./claim.ts";`,
  "src/inbox/claim.ts": `import { z } from "zod";\nimport type { Store } from "../store/store.ts";\nexport const claim = (s: Store) => [s, z];`,
  "src/store/store.ts": `import { Database } from "bun:sqlite";\nimport { now } from "../kernel/clock.ts";\nexport type Store = Database;\nexport const q = "SELECT 1" + now;`,
  "src/kernel/clock.ts": `import { hrtime } from "node:process";\nexport const now = hrtime;`,
};

/** What the check says of a small house with these files put in or in the place of others. */
async function houseWith(files: Record<string, string>): Promise<{ code: number; said: string }> {
  const root = tempDir("house");
  for (const [path, text] of Object.entries({ ...CLEAN, ...files })) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  expect(Bun.spawnSync(["git", "init", "-q"], { cwd: root }).exitCode).toBe(0);
  const check = Bun.spawn([process.execPath, join(projectRoot, "test/tools/house.ts"), root], {
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err, code] = await Promise.all([check.stdout.text(), check.stderr.text(), check.exited]);
  return { code, said: out + err };
}

/** The file and line that must be named, and a part of what is said there. */
type Broken = [rule: string, files: Record<string, string>, place: string, message: string];

const upper = (word: string) => word.toUpperCase();

const BROKEN: Broken[] = [
  [
    "the kernel uses nothing",
    { "src/kernel/clock.ts": `import type { Store } from "../store/store.ts";\nexport const now = (s: Store) => s;` },
    "src/kernel/clock.ts:1",
    "kernel may not use store",
  ],
  [
    "the store uses no feature, not even a type of it",
    { "src/store/x.ts": `\nexport type { claim } from "../inbox/index.ts";` },
    "src/store/x.ts:2",
    "store may not use inbox",
  ],
  [
    "a feature does not know the operations",
    { "src/inbox/x.ts": `export type X = import("../operations/list.ts").operations;` },
    "src/inbox/x.ts:1",
    "inbox may not use operations",
  ],
  [
    "a feature does not know the doors",
    { "src/inbox/x.ts": `export const x = () => import("../http/app.ts");` },
    "src/inbox/x.ts:1",
    "inbox may not use http",
  ],
  [
    "a feature is used through its index only",
    { "src/webhook/x.ts": `export { claim } from "../inbox/claim.ts";` },
    "src/webhook/x.ts:1",
    "src/inbox/claim.ts is the inside of inbox: use src/inbox/index.ts",
  ],
  [
    "a door does not reach the store past the features",
    { "src/cli/x.ts": `import { q } from "../store/store.ts";\nexport const x = q;` },
    "src/cli/x.ts:1",
    "cli may not use store",
  ],
  [
    "a door does not use another door",
    { "src/mcp/x.ts": `export * from "../http/app.ts";` },
    "src/mcp/x.ts:1",
    "mcp may not use http",
  ],
  [
    "a worker's file counts as used by who starts it",
    { "src/store/x.ts": `export const w = new Worker(new URL("../cli/x.worker.ts", import.meta.url).href);` },
    "src/store/x.ts:1",
    "store may not use cli",
  ],
  [
    "nothing but main.ts uses the composition root",
    { "src/cli/x.ts": `export { serve } from "../daemon.ts";` },
    "src/cli/x.ts:1",
    "only src/main.ts may use src/daemon.ts",
  ],
  ["a folder of src is a known layer", { "src/util/x.ts": "export const x = 1;" }, "src/util/x.ts:1", "no known layer"],
  [
    "the product does not use the tests",
    { "src/inbox/x.ts": `export * from "../../test/x.ts";`, "test/x.ts": "export const x = 1;" },
    "src/inbox/x.ts:1",
    "src may not use test/x.ts",
  ],
  [
    "SQLite is opened by the store only",
    { "src/inbox/x.ts": `import { Database } from "bun:sqlite";\nexport const x = Database;` },
    "src/inbox/x.ts:1",
    "bun:sqlite is for store only",
  ],
  [
    "the HTTP framework stays in the doors",
    { "src/inbox/x.ts": `import { Elysia } from "elysia";\nexport const x = Elysia;` },
    "src/inbox/x.ts:1",
    "elysia is for http, mcp, console only",
  ],
  [
    "a package for development is no part of the product",
    { "src/inbox/x.ts": `import * as b from "biome";\nexport const x = b;` },
    "src/inbox/x.ts:1",
    "biome is not among the dependencies",
  ],
  [
    "files do not import each other in a circle",
    {
      "src/kernel/a.ts": `import type { b } from "./b.ts";\nexport type A = typeof b;`,
      "src/kernel/b.ts": `import { c } from "./c.ts";\nexport const b = c;`,
      "src/kernel/c.ts": `import type { A } from "./a.ts";\nexport const c: A = 1;`,
    },
    "src/kernel/a.ts:1",
    "a circle of files: src/kernel/a.ts → src/kernel/b.ts → src/kernel/c.ts → src/kernel/a.ts",
  ],
  [
    "features do not use each other in a circle",
    {
      "src/webhook/index.ts": `export { claim } from "../inbox/index.ts";`,
      "src/inbox/x.ts": `export { y } from "../webhook/y.ts";`,
      "src/webhook/y.ts": "export const y = 1;",
    },
    "src/inbox:1",
    "a circle of folders: inbox → webhook → inbox",
  ],
  [
    "SQL is in the store only",
    { "src/inbox/x.ts": `\n\nexport const x = "DELETE FROM events";` },
    "src/inbox/x.ts:3",
    "SQL lives in src/store only",
  ],
  [
    "the type check is not switched off",
    { "src/inbox/x.ts": "// @ts-expect-error\nexport const x: string = 1;" },
    "src/inbox/x.ts:1",
    "switched off",
  ],
  [
    "the rules of style are not switched off",
    { "src/inbox/x.ts": "// biome-ignore lint/suspicious/noExplicitAny: why\nexport const x = 1 as any;" },
    "src/inbox/x.ts:1",
    "switched off",
  ],
  ["a file has at most 400 lines", { "src/inbox/x.ts": "//\n".repeat(401) }, "src/inbox/x.ts:1", "401 lines"],
  ["no work is left unfinished", { "docs/x.md": `a\n${upper("todo")} b` }, "docs/x.md:2", "unfinished work"],
  ["no file names a path of one machine", { "docs/x.md": `cd /${"root"}/x` }, "docs/x.md:1", "a path of one machine"],
  ["no file names a home folder", { ".ci/run": `ls /${"home"}/someone/x` }, ".ci/run:1", "a path of one machine"],
  [
    "no file names a registry's host",
    { "README.md": `from registry.${"npmjs"}.org` },
    "README.md:1",
    "a registry's host",
  ],
  [
    "the lock file names no host",
    { "bun.lock": `["zod@4.6.7", "https://example.org/zod.tgz", {}]` },
    "bun.lock:1",
    "a host in the lock file",
  ],
];

testWithGit("a house in order passes", async () => {
  expect(await houseWith({})).toEqual({ code: 0, said: "" });
});

testWithGit("a file over 250 lines is named, but passes", async () => {
  const { code, said } = await houseWith({ "src/inbox/x.ts": "//\n".repeat(251) });
  expect(said).toContain("src/inbox/x.ts has 251 lines");
  expect(code).toBe(0);
});

testWithGit("a home folder of an example passes", async () => {
  expect(await houseWith({ "docs/x.md": "cd /home/me/postern" })).toEqual({ code: 0, said: "" });
});

testWithGit("what git ignores is not looked at", async () => {
  const ignored = { ".gitignore": "dist/\n", "dist/x.txt": `/${"root"}/x` };
  expect(await houseWith(ignored)).toEqual({ code: 0, said: "" });
});

for (const [rule, files, place, message] of BROKEN) {
  testWithGit(rule, async () => {
    const { code, said } = await houseWith(files);
    const line = said.split("\n").find((each) => each.startsWith(`${place}  `));
    expect(line, said).toContain(message);
    expect(code).toBe(1);
  });
}

test("Biome refuses default exports, `any`, non-null assertions and what is unused", async () => {
  const root = tempDir("biome");
  const planted = {
    noDefaultExport: "export default 1;\n",
    noExplicitAny: "export const x = (y: any) => y;\n",
    noNonNullAssertion: "export const x = (y: string | undefined) => y!.length;\n",
    useImportType: 'import { Database } from "bun:sqlite";\nexport const x = (y: Database): Database => y;\n',
    noUnusedImports: 'import { join } from "node:path";\nexport const x = 1;\n',
    noUnusedVariables: "const x = 1;\nexport const y = 1;\n",
    noTsIgnore: "// @ts-ignore\nexport const x: string = 1;\n",
  };
  for (const [name, text] of Object.entries(planted)) writeFileSync(join(root, `${name}.ts`), text);
  const config = `--config-path=${join(projectRoot, "biome.json")}`;
  const biome = join(projectRoot, "node_modules/@biomejs/biome/bin/biome");
  const command = [process.execPath, biome, "lint", config, "--vcs-enabled=false", "--reporter=json", root];
  const lint = Bun.spawn(command, { stdout: "pipe", stderr: "pipe" });
  const report = await lint.stdout.text();
  expect(await lint.exited).not.toBe(0);
  for (const name of Object.keys(planted)) expect(report).toContain(`/${name}"`);
});
