import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { whenTestsEnd } from "./cleanup.ts";
import { binaryPath } from "./paths.ts";
import { tempDir } from "./tmp.ts";

const START_LIMIT_MS = 20_000;
const LISTENING = /\bhttps?:\/\/(?:127\.0\.0\.1|localhost|\[::1\]):([1-9]\d*)/;

type Environment = Record<string, string | undefined>;

export interface DaemonOptions {
  /** The data folder; a new one by default. */
  dataDir?: string;
  /** Settings and other variables beside those that every test needs. */
  env?: Environment;
  /** Arguments after `serve`. */
  args?: string[];
  /** The program; the built binary by default. */
  command?: string[];
  /** True where its settings name a certificate; whose it is, is not checked. */
  secure?: boolean;
}

export interface RequestOptions {
  /** GET without a body, POST with one. */
  method?: string;
  /** Bytes or text go as they are, anything else as JSON. */
  body?: unknown;
  /** The token of an API key. */
  key?: string | undefined;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  readonly text: string;
  /** The body as JSON, of the type that the test expects; throws where it is none. */
  json<T = Record<string, unknown>>(): T;
}

/** What a command of the binary came back with. */
export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const started = new Set<Daemon>();

/** A running `postern serve`, driven from outside only. It is killed when the test run ends, if the test did not stop it. */
export class Daemon {
  readonly dataDir: string;
  readonly #options: DaemonOptions;
  #child: Bun.Subprocess<"ignore", "pipe", "pipe"> | undefined;
  #reading: Promise<unknown> = Promise.resolve();
  #port = 0;
  #output = "";

  constructor(options: DaemonOptions) {
    this.#options = options;
    this.dataDir = options.dataDir ?? tempDir("data");
  }

  /** Where it listens, without a slash at the end. */
  get url(): string {
    return `${this.#options.secure ? "https" : "http"}://127.0.0.1:${this.#port}`;
  }

  get port(): number {
    return this.#port;
  }

  get pid(): number {
    if (!this.#child) throw new Error("the daemon is not running");
    return this.#child.pid;
  }

  /** All that it has printed so far, over its restarts: both streams as they came. */
  get output(): string {
    return this.#output;
  }

  /** Starts it and waits until `/readyz` says 200. Once it had a port it takes the same again. */
  async start(): Promise<void> {
    const before = this.#output.length;
    const child = Bun.spawn([...(this.#options.command ?? [binaryPath]), "serve", ...(this.#options.args ?? [])], {
      env: daemonEnvironment(this.dataDir, { POSTERN_HTTP__LISTEN: `127.0.0.1:${this.#port}`, ...this.#options.env }),
      cwd: existsSync(this.dataDir) ? this.dataDir : dirname(this.dataDir),
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    this.#child = child;
    started.add(this);
    this.#reading = Promise.all([this.#read(child.stdout), this.#read(child.stderr)]);
    const deadline = performance.now() + START_LIMIT_MS;
    while (!(await this.#isReady(before))) {
      if (child.exitCode !== null || child.signalCode !== null || performance.now() > deadline) {
        child.kill("SIGKILL");
        await this.#ended();
        throw new Error(`the daemon did not start; it said:\n${this.#output.slice(before)}`);
      }
      await Bun.sleep(5);
    }
  }

  /** Sends a signal and waits for the end: the exit code, or 128 and the signal's number, as a shell says it. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<number> {
    this.signal(signal);
    return await this.#ended();
  }

  /** Sends a signal and does not wait. */
  signal(signal: NodeJS.Signals): void {
    if (!this.#child) throw new Error("the daemon is not running");
    this.#child.kill(signal);
  }

  /** Ends it as a power cut would, with no chance to tidy up. */
  async kill9(): Promise<void> {
    await this.stop("SIGKILL");
  }

  /** Starts it again on the same folder and port; one that still runs is stopped first. */
  async restart(): Promise<void> {
    if (this.#child) await this.stop();
    await this.start();
  }

  /** A request over TCP, as any client makes it. */
  async api(path: string, options: RequestOptions = {}): Promise<Answer> {
    return await request(`${this.url}${path}`, options);
  }

  /** A request over the operator's socket. */
  async operator(path: string, options: RequestOptions = {}): Promise<Answer> {
    return await request(`http://localhost${path}`, options, join(this.dataDir, "postern.sock"));
  }

  /** A command of the binary with this daemon's data folder. */
  async run(args: string[], options: { env?: Environment; stdin?: string } = {}): Promise<CommandResult> {
    const command = this.#options.command ? { command: this.#options.command } : {};
    return await postern(args, { ...options, ...command, dataDir: this.dataDir });
  }

  async #read(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of stream) this.#output += decoder.decode(chunk, { stream: true });
  }

  async #isReady(from: number): Promise<boolean> {
    if (this.#port === 0) this.#port = Number(LISTENING.exec(this.#output.slice(from))?.[1] ?? 0);
    if (this.#port === 0) return false;
    try {
      const signal = AbortSignal.timeout(1000);
      return (await fetch(`${this.url}/readyz`, { signal, tls: { rejectUnauthorized: false } })).ok;
    } catch {
      return false; // Nothing listens there yet.
    }
  }

  async #ended(): Promise<number> {
    const child = this.#child;
    if (!child) throw new Error("the daemon is not running");
    const code = await child.exited;
    await this.#reading;
    this.#child = undefined;
    started.delete(this);
    return code;
  }
}

/** Starts a daemon on a free port, with mail off, and waits until it is ready. */
export async function startDaemon(options: DaemonOptions = {}): Promise<Daemon> {
  const daemon = new Daemon(options);
  await daemon.start();
  return daemon;
}

/** Runs a command of the binary to its end. */
export async function postern(
  args: string[],
  options: { dataDir?: string; env?: Environment; stdin?: string; cwd?: string; command?: string[] } = {},
): Promise<CommandResult> {
  const dataDir = options.dataDir ?? tempDir("data");
  const child = Bun.spawn([...(options.command ?? [binaryPath]), ...args], {
    env: daemonEnvironment(dataDir, options.env),
    cwd: options.cwd ?? dataDir,
    stdin: options.stdin === undefined ? "ignore" : new Blob([options.stdin]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { code, stdout, stderr };
}

/** The variables of a daemon under test: nothing of Postern's or the service manager's is taken from the outside. */
function daemonEnvironment(dataDir: string, env: Environment = {}): Environment {
  const outside = Object.entries(process.env).filter(
    ([name]) => !/^(POSTERN_|NOTIFY_SOCKET$|WATCHDOG_|LISTEN_|STATE_DIRECTORY$|CREDENTIALS_DIRECTORY$)/.test(name),
  );
  return { ...Object.fromEntries(outside), POSTERN_DATA_DIR: dataDir, POSTERN_SMTP__ENABLED: "false", ...env };
}

async function request(url: string, options: RequestOptions, unix?: string): Promise<Answer> {
  const headers = new Headers(options.headers);
  if (options.key !== undefined) headers.set("authorization", `Bearer ${options.key}`);
  const { body } = options;
  const raw = body === undefined || typeof body === "string" || body instanceof Uint8Array || body instanceof Blob;
  if (!raw && !headers.has("content-type")) headers.set("content-type", "application/json");
  const response = await fetch(url, {
    method: options.method ?? (body === undefined ? "GET" : "POST"),
    headers,
    redirect: "manual",
    ...(body === undefined ? {} : { body: raw ? (body as Bun.BodyInit) : JSON.stringify(body) }),
    ...(options.signal ? { signal: options.signal } : {}),
    ...(unix === undefined ? { tls: { rejectUnauthorized: false } } : { unix }),
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  const text = new TextDecoder().decode(bytes);
  return {
    status: response.status,
    headers: response.headers,
    bytes,
    text,
    json: <T>() => JSON.parse(text) as T,
  };
}

whenTestsEnd(async () => {
  for (const daemon of [...started]) await daemon.kill9();
});
