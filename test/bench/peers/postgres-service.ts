import { chownSync } from "node:fs";
import { join } from "node:path";
import { missingPackage, present, program } from "../machine/debian.ts";
import { spawnServer, stopServer } from "../machine/pinned.ts";
import type { Scratch } from "../machine/scratch.ts";
import { until } from "../machine/until.ts";

const USER = "postgres";
const bin = (name: string) => program(name, `/usr/lib/postgresql/*/bin/${name}`);

export type Postgres = {
  /** The folder of its Unix socket. */
  socketDir: string;
  /** One number that a query answers. */
  number(sql: string): Promise<number>;
  stop(): Promise<void>;
};

export function postgresMissing(): string | undefined {
  return missingPackage("postgresql", [bin("initdb"), bin("postgres"), bin("psql")]);
}

/** A new PostgreSQL with Debian's defaults: fsync and synchronous_commit on. It takes connections on its socket alone. */
export async function startPostgres(scratch: Scratch): Promise<Postgres> {
  const socketDir = scratch.dir("postgres");
  const root = process.getuid?.() === 0;
  if (root) chownSync(socketDir, idOf("-u"), idOf("-g"));
  // The server refuses to run as root.
  const as = root ? ["setpriv", "--reuid", USER, "--regid", USER, "--init-groups", "--"] : [];
  const data = join(socketDir, "data");
  const initdb = [...as, present(bin("initdb")), "-D", data, "-U", USER, "--auth=trust", "--no-locale", "-E", "UTF8"];
  const made = Bun.spawnSync(initdb, { cwd: socketDir });
  if (made.exitCode !== 0) throw new Error(`initdb failed:\n${made.stderr}`);
  const settings = [
    "listen_addresses=",
    `unix_socket_directories=${socketDir}`,
    "logging_collector=off",
    "log_min_messages=panic",
  ];
  const options = [...settings, "fsync=on", "synchronous_commit=on"].flatMap((setting) => ["-c", setting]);
  const server = spawnServer([...as, present(bin("postgres")), "-D", data, ...options], { cwd: socketDir });
  const psql = async (sql: string) => {
    const command = [present(bin("psql")), "-h", socketDir, "-U", USER, "-qAt", "-c", sql, "postgres"];
    const asked = Bun.spawn(command, { stdout: "pipe", stderr: "ignore" });
    const text = await asked.stdout.text();
    return (await asked.exited) === 0 ? text.trim() : undefined;
  };
  await until("the start of PostgreSQL", async () => (await psql("SELECT 1")) === "1", 100);
  return {
    socketDir,
    async number(sql) {
      const text = await psql(sql);
      if (text === undefined || text === "") throw new Error(`PostgreSQL did not answer: ${sql}`);
      return Number(text);
    },
    // SIGINT: the fast shutdown.
    stop: () => stopServer(server, "SIGINT"),
  };
}

function idOf(option: "-u" | "-g"): number {
  return Number(Bun.spawnSync(["id", option, USER]).stdout.toString());
}
