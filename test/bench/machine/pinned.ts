import { cpus } from "node:os";

/** The servers' core: all processes of a side share it, its database's included. */
export const SERVER_CORE = 0;

/** The client's core. */
export const CLIENT_CORE = 1;

export type Child = Bun.Subprocess<"ignore", "pipe", "inherit">;

/** Moves this process, the client, to its core, with all threads it has and will have. */
export function pinClient(): void {
  if (cpus().length < 2) throw new Error("the bench needs two cores: one for the servers and one for the client");
  const { exitCode } = Bun.spawnSync(["taskset", "-a", "-cp", String(CLIENT_CORE), String(process.pid)]);
  if (exitCode !== 0) throw new Error("taskset cannot pin the client: Debian package util-linux has it");
}

/** What runs now: it ends with the bench, however that ends. */
const running = new Set<Child>();

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** Starts a program on the servers' core; its errors go to the terminal. */
export function spawnServer(
  command: readonly string[],
  options: { cwd?: string; env?: Record<string, string | undefined> } = {},
): Child {
  const child: Child = Bun.spawn(["taskset", "-c", String(SERVER_CORE), ...command], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
    env: { ...process.env, NODE_ENV: "production", ...options.env },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  running.add(child);
  void child.exited.then(() => running.delete(child));
  return child;
}

/** Ends a program and waits for it; SIGKILL where it does not end by itself. */
export async function stopServer(child: Child, signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
  child.kill(signal);
  const late = setTimeout(() => child.kill("SIGKILL"), 15_000);
  await child.exited;
  clearTimeout(late);
}
