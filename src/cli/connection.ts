import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Call, flag } from "./command.ts";
import { CliError, EXIT, usageError } from "./exit.ts";
import type { Profile } from "./profile.ts";

/** Where requests go and as whom: over TCP with a key, or over the operator's socket. */
export type Connection = {
  base: string;
  socket: string | undefined;
  key: string | undefined;
  project: string | undefined;
};

/**
 * From flags, then the environment, then the saved profile; without a URL and a key, the operator's socket.
 * A saved key goes to the URL it was saved with and to no other.
 */
export async function connectionOf(call: Call): Promise<Connection> {
  const { env } = call.io;
  const given = flag(call, "url") ?? nonEmpty(env.POSTERN_URL);
  const key = await keyOf(call);
  const saved = await savedProfile(call);
  const project = flag(call, "project") ?? nonEmpty(env.POSTERN_PROJECT);
  if (given === undefined && key === undefined && saved.profile) {
    return tcp(saved.profile.url, saved.profile.key, project ?? saved.profile.project);
  }
  if (given !== undefined) {
    const base = baseOf(given);
    const own = saved.profile && baseOf(saved.profile.url) === base ? saved.profile : undefined;
    const used = key ?? own?.key;
    if (used === undefined) {
      throw usageError(
        `${base} needs a key: give --key or $POSTERN_KEY, or save one with \`postern login --url ${base}\``,
      );
    }
    return tcp(base, used, project ?? own?.project);
  }
  const { config } = await configuration(call);
  const socket = join(config.data_dir, "postern.sock");
  if (key !== undefined && !existsSync(socket)) return tcp(await localUrl(config.http), key, project);
  return { base: "http://localhost", socket, key, project: project ?? (key === undefined ? saved.project : undefined) };
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}

async function keyOf(call: Call): Promise<string | undefined> {
  const key = flag(call, "key") ?? nonEmpty(call.io.env.POSTERN_KEY);
  if (key !== "-") return key;
  const read = (await call.io.input()).trim();
  if (read === "") throw usageError("--key -: standard input is empty");
  return read;
}

async function savedProfile(call: Call): Promise<{ profile?: Profile; project?: string | undefined }> {
  const name = flag(call, "profile");
  const { profilePath, readProfiles } = await import("./profile.ts");
  if (name === undefined && !existsSync(profilePath(call.io.env))) return {};
  const file = readProfiles(call.io.env);
  const chosen = name ?? file.current;
  const profile = chosen === null || !Object.hasOwn(file.profiles, chosen) ? undefined : file.profiles[chosen];
  if (name !== undefined && !profile) {
    const { didYouMean } = await import("../kernel/suggest.ts");
    throw usageError(`there is no profile \`${name}\`.${didYouMean(name, Object.keys(file.profiles))}`, "postern use");
  }
  return { ...(profile ? { profile } : {}), project: file.project };
}

function tcp(url: string, key: string, project: string | undefined): Connection {
  if (!/^[\x21-\x7e]+$/.test(key)) throw usageError("the key holds a space or a character that no key has");
  return { base: baseOf(url), socket: undefined, key, project };
}

/** Scheme, host and port, with the path under which a reverse proxy has it, without a slash at the end. */
export function baseOf(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.username !== "" || parsed.password !== "") {
    throw usageError("--url must be like https://postern.example.org or http://127.0.0.1:8484");
  }
  return `${parsed.origin}${parsed.pathname.replace(/\/+$/, "")}`;
}

/** The configuration of this machine's daemon; its errors end the command. */
export async function configuration(call: Call) {
  const { isConfigErrors, loadConfig } = await import("../config/load.ts");
  const { formatConfigError } = await import("../config/errors.ts");
  const loaded = loadConfig({ argvPath: flag(call, "config"), env: call.io.env, cwd: call.io.cwd });
  if (!isConfigErrors(loaded)) return loaded;
  throw new CliError(EXIT.failed, loaded.map(formatConfigError).join("\n"), { code: "CONFIG_INVALID" });
}

async function localUrl(http: { listen: string; tls_cert?: string | undefined }): Promise<string> {
  const { parseListen } = await import("../config/listen.ts");
  const address = parseListen(http.listen);
  if ("wrong" in address || address.port === 0)
    throw usageError("give --url: the configuration does not tell the port");
  const host = { "0.0.0.0": "127.0.0.1", "::": "[::1]" }[address.host] ?? address.host;
  return `${http.tls_cert === undefined ? "http" : "https"}://${host}:${address.port}`;
}
