import { existsSync } from "node:fs";
import type { Connection } from "./connection.ts";
import { CliError, EXIT } from "./exit.ts";
import { printable } from "./printable.ts";
import { membersOf } from "./raw-json.ts";

export type Send = {
  query?: URLSearchParams;
  body?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
};

/** Makes a request of the API and answers the response where it is a success; every other one ends the command. */
export async function send(
  connection: Connection,
  method: string,
  path: string,
  options: Send = {},
): Promise<Response> {
  const response = await reach(connection, method, path, options);
  if (response.ok) return response;
  throw refusal(response.status, await textOf(connection, response));
}

/** The answer's text, every token as it came. */
export async function sendText(c: Connection, method: string, path: string, options: Send = {}): Promise<string> {
  return await textOf(c, await send(c, method, path, options));
}

/** The whole body; a connection that breaks before its end ends the command. */
async function textOf(c: Connection, response: Response): Promise<string> {
  try {
    return await response.text();
  } catch (error) {
    throw unreachable(c, error);
  }
}

/** True for an error of the connection: those have a code, and bugs have none. */
export function isConnectionError(error: unknown): boolean {
  return error instanceof Error && "code" in error && typeof error.code === "string";
}

/** Makes a request and answers whatever came; only an unreachable daemon ends the command. */
export async function reach(c: Connection, method: string, path: string, options: Send = {}): Promise<Response> {
  const query = new URLSearchParams(options.query);
  if (c.project !== undefined) query.set("project", c.project);
  const url = `${c.base}${path}${query.size === 0 ? "" : `?${query}`}`;
  const headers = {
    ...options.headers,
    ...(c.key === undefined ? {} : { authorization: `Bearer ${c.key}` }),
    ...(options.body === undefined ? {} : { "content-type": "application/json" }),
  };
  const init = {
    method,
    headers,
    // A redirect would carry the key to another place.
    redirect: "manual" as const,
    // Bun ends a request after five minutes; a wait may take as long, and a stream lasts.
    timeout: false as const,
    ...(options.body === undefined ? {} : { body: options.body }),
    ...(options.signal ? { signal: options.signal } : {}),
    ...(c.socket === undefined ? {} : { unix: c.socket }),
  };
  withoutProxyForLoopback(url);
  try {
    return await fetch(url, init);
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw unreachable(c, error);
  }
}

/** A proxy of the environment stands between this machine and others, not between its own processes. */
function withoutProxyForLoopback(url: string): void {
  if (!/^https?:\/\/(?:127\.|localhost[:/]|\[::1\])/.test(url)) return;
  for (const name of ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"]) delete process.env[name];
}

function unreachable(c: Connection, error: unknown): CliError {
  if (!isConnectionError(error)) throw error;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (c.socket !== undefined) {
    if (code === "EACCES" || code === "EPERM") {
      return new CliError(
        EXIT.refused,
        `${c.socket} belongs to another user: run the command as the user that runs the daemon, or use --url and --key`,
        { code: "SOCKET_CLOSED" },
      );
    }
    const left = existsSync(c.socket) ? " (the socket was left by one that ended)" : "";
    return new CliError(
      EXIT.failed,
      `no daemon runs on ${c.socket.replace(/\/postern\.sock$/, "")}${left}: start it with \`postern serve\`, ` +
        "name its configuration with --config, or reach one elsewhere with --url and --key",
      { code: "DAEMON_UNREACHABLE" },
    );
  }
  const why = error instanceof Error ? error.message : "unknown";
  return new CliError(
    EXIT.failed,
    `${c.base} cannot be reached (${code === "" ? why : code}): is the daemon running there?`,
    {
      code: "DAEMON_UNREACHABLE",
    },
  );
}

/** An answer that is no success, as the error that ends the command. */
export function refusal(status: number, body: string): CliError {
  const problem = problemOf(body);
  const exit = status === 401 || status === 403 ? EXIT.refused : status === 422 ? EXIT.usage : EXIT.failed;
  if (!problem) {
    const hint = status >= 300 && status < 400 ? " (a redirect, which is not followed: give the URL it leads to)" : "";
    return new CliError(EXIT.failed, `the answer was ${status} and none of Postern's${hint}: is --url right?`, {
      code: "NOT_POSTERN",
    });
  }
  return new CliError(exit, problem.detail, { code: problem.code, body });
}

function problemOf(body: string): { code: string; detail: string } | undefined {
  const members = body.trimStart().startsWith("{") ? membersOf(body) : undefined;
  const text = (name: string) => {
    const slice = members?.get(name);
    return slice?.startsWith('"') ? (JSON.parse(slice) as string) : undefined;
  };
  const [code, detail] = [text("code"), text("detail")];
  return code === undefined || detail === undefined ? undefined : { code: printable(code), detail: printable(detail) };
}
