/** What a command reads from and writes to; a test hands in its own. */
export type Io = {
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  out: (text: string) => void;
  err: (text: string) => void;
  /** Standard input as text, to its end. */
  input: () => Promise<string>;
  /** A line that the person types without seeing it; standard input's first line where that is no terminal. */
  ask: (question: string) => Promise<string>;
  /** The terminal's width where standard output is one, else undefined: then nothing is cut and nothing coloured. */
  columns: number | undefined;
  colour: boolean;
};

/** The process's own. */
export function processIo(): Io {
  const { env, stdout } = process;
  const terminal = stdout.isTTY === true;
  stdout.on("error", endOnClosedPipe);
  return {
    env,
    cwd: process.cwd(),
    out: writeOut,
    err: (text) => void process.stderr.write(text),
    input: () => Bun.stdin.text(),
    ask: askHidden,
    columns: terminal ? Math.max(40, stdout.columns ?? 80) : undefined,
    colour: terminal && !env.NO_COLOR && env.TERM !== "dumb",
  };
}

function writeOut(text: string): void {
  try {
    process.stdout.write(text);
  } catch (error) {
    endOnClosedPipe(error);
  }
}

/** Who reads our output has gone, as `head` does: that is no error, and the end is the one SIGPIPE would have made. */
function endOnClosedPipe(error: unknown): void {
  if (error instanceof Error && "code" in error && error.code === "EPIPE") process.exit(141);
  throw error;
}

/** Reads one line; on a terminal without showing it. */
async function askHidden(question: string): Promise<string> {
  const { stdin, stderr } = process;
  if (stdin.isTTY !== true) return (await Bun.stdin.text()).split("\n", 1)[0]?.trim() ?? "";
  stderr.write(question);
  stdin.setRawMode(true);
  let typed = "";
  try {
    for await (const chunk of stdin) {
      for (const char of String(chunk)) {
        if (char === "\r" || char === "\n") return typed.trim();
        if (char === "\u0003" || char === "\u0004") return "";
        typed = char === "\u007f" || char === "\b" ? typed.slice(0, -1) : typed + char;
      }
    }
    return typed.trim();
  } finally {
    stdin.setRawMode(false);
    stderr.write("\n");
  }
}
