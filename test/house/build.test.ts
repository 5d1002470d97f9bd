import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { version } from "../../package.json" with { type: "json" };
import { projectRoot } from "../support/paths.ts";
import { tempDir } from "../support/tmp.ts";

const BUILD_LIMIT_MS = 60_000;

const MAIN = `
import { COMMIT, VERSION } from ${JSON.stringify(join(projectRoot, "src/kernel/version.ts"))};
const worker = new Worker(new URL("./inside/answer.worker.ts", import.meta.url).href);
worker.onmessage = ({ data }) => {
  console.log(JSON.stringify({ data, VERSION, COMMIT, mode: process.env.NODE_ENV, secret: process.env.FROM_DOTENV }));
  process.exit();
};
worker.postMessage(20);
`;

async function run(command: string[], cwd: string) {
  const child = Bun.spawn(command, { cwd, stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { stdout, stderr, code };
}

const build = (entry: string, outfile: string) =>
  run([process.execPath, "run", "test/tools/build.ts", entry, outfile], projectRoot);

describe("the build", () => {
  test(
    "makes one file that knows its version, finds its workers, runs for production and reads nothing where it stands",
    async () => {
      const folder = tempDir("build");
      mkdirSync(join(folder, "src/inside"), { recursive: true });
      writeFileSync(join(folder, "src/main.ts"), MAIN);
      writeFileSync(join(folder, "src/inside/answer.worker.ts"), "self.onmessage = (e) => postMessage(e.data + 1);");
      const made = await build(join(folder, "src/main.ts"), join(folder, "out/postern"));
      expect(made.code, made.stderr).toBe(0);
      expect(readdirSync(join(folder, "out"))).toEqual(["postern"]);

      const elsewhere = tempDir("elsewhere");
      writeFileSync(join(elsewhere, ".env"), "FROM_DOTENV=read\n");
      writeFileSync(join(elsewhere, "bunfig.toml"), 'preload = ["./preload.ts"]\n');
      writeFileSync(join(elsewhere, "preload.ts"), 'console.log("preloaded");\n');
      const { stdout } = await run([join(folder, "out/postern")], elsewhere);
      const said = JSON.parse(stdout) as Record<string, unknown>;
      expect(said).toEqual({ data: 21, VERSION: version, COMMIT: said.COMMIT, mode: "production" });
      expect(said.COMMIT).toMatch(/^([0-9a-f]{12}(-dirty)?)?$/);
    },
    BUILD_LIMIT_MS,
  );

  test(
    "leaves the file in place as it was when it fails, and says so",
    async () => {
      const folder = tempDir("build");
      mkdirSync(join(folder, "src"));
      writeFileSync(join(folder, "src/main.ts"), 'import "./nowhere.ts";');
      writeFileSync(join(folder, "postern"), "the one before");
      const { code, stderr } = await build(join(folder, "src/main.ts"), join(folder, "postern"));
      expect(code).toBe(1);
      expect(stderr).toContain("The build failed");
      expect(readFileSync(join(folder, "postern"), "utf8")).toBe("the one before");
      expect(readdirSync(folder).sort()).toEqual(["postern", "src"]);
    },
    BUILD_LIMIT_MS,
  );
});
