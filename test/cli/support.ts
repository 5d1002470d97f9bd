import { run } from "../../src/cli/index.ts";
import type { Io } from "../../src/cli/io.ts";
import { tempDir } from "../support/tmp.ts";

export type Ran = { code: number; out: string; err: string };

/** Runs a command line in this process, with nothing of this machine's settings. */
export async function runCli(argv: string[], options: Partial<Io> & { stdin?: string } = {}): Promise<Ran> {
  const { stdin = "", ...over } = options;
  const dir = tempDir("cli");
  const ran = { code: 0, out: "", err: "" };
  const io: Io = {
    env: { HOME: dir, POSTERN_DATA_DIR: dir },
    cwd: dir,
    out: (text) => {
      ran.out += text;
    },
    err: (text) => {
      ran.err += text;
    },
    input: async () => stdin,
    ask: async () => stdin.trim(),
    columns: undefined,
    colour: false,
    ...over,
  };
  ran.code = await run(argv, { serve: () => Promise.reject(new Error("no daemon is started by this test")) }, io);
  return ran;
}
