/**
 * Makes the single binary: `bun run test/tools/build.ts [entry] [outfile]`, from src/main.ts to dist/postern by default.
 * The file in place is only ever replaced by a whole new one: a failed bytecode build of Bun leaves the old file where
 * it was, which would pass for the new one.
 */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

const root = join(import.meta.dir, "../..");

/**
 * `--production`, or NODE_ENV would be inlined as development (and with another NODE_ENV in the environment, as that).
 * `--no-compile-autoload-…`, or the binary would run code from a bunfig.toml and take settings from a .env of whatever
 * folder it is started in.
 */
const FLAGS = [
  "--compile",
  "--production",
  "--minify",
  "--bytecode",
  "--format=esm",
  "--sourcemap",
  "--no-compile-autoload-dotenv",
  "--no-compile-autoload-bunfig",
];

/** The commit that is built, with `-dirty` where the tree differs from it; nothing outside a checkout of its own. */
async function commit(): Promise<string> {
  if (Bun.which("git") === null || !existsSync(join(root, ".git"))) return "";
  const git = Bun.spawn(["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"], {
    cwd: root,
    stdout: "pipe",
    stderr: "ignore",
  });
  const text = await git.stdout.text();
  return (await git.exited) === 0 ? text.trim() : "";
}

/** Builds `entry`, with every worker beside or below it, into `outfile`; throws where that fails. */
async function build(entry: string, outfile: string): Promise<void> {
  const folder = dirname(entry);
  const workers = [...new Bun.Glob("**/*.worker.ts").scanSync({ cwd: folder, absolute: true })].sort();
  mkdirSync(dirname(outfile), { recursive: true });
  const scratch = mkdtempSync(join(dirname(outfile), ".build-"));
  // The name of the outfile goes into the binary: it is kept, so that builds of one commit are the same byte for byte.
  const made = join(scratch, basename(outfile));
  try {
    const define = `--define=POSTERN_COMMIT=${JSON.stringify(await commit())}`;
    const command = [process.execPath, "build", ...FLAGS, define, `--outfile=${made}`, entry, ...workers];
    const env = { ...process.env, NODE_ENV: "production" };
    const code = await Bun.spawn(command, { cwd: root, env, stdio: ["ignore", "inherit", "inherit"] }).exited;
    if (code !== 0) throw new Error(`bun build ended with ${code}`);
    if (!existsSync(made)) throw new Error("bun build ended well, but made no file");
    chmodSync(made, 0o755);
    renameSync(made, outfile);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

const [entry = "src/main.ts", outfile = "dist/postern"] = process.argv.slice(2);
const [from, to] = [resolve(root, entry), resolve(root, outfile)];
try {
  await build(from, to);
  console.log(`${to}: ${(statSync(to).size / 1e6).toFixed(0)} MB`);
} catch (error) {
  console.error(`The build failed, and ${to} was not touched: ${error instanceof Error ? error.message : error}`);
  process.exit(1);
}
