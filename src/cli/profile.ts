import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { z } from "zod";
import { CliError, EXIT } from "./exit.ts";

const ProfileFile = z.object({
  current: z.string().nullable(),
  profiles: z.record(z.string(), z.object({ url: z.string(), key: z.string(), project: z.string().optional() })),
  /** The project for the operator's socket, where no profile is in use. */
  project: z.string().optional(),
});

/** The daemons that `postern login` saved. A key belongs to one project; `project` is only for people. */
export type ProfileFile = z.infer<typeof ProfileFile>;
export type Profile = ProfileFile["profiles"][string];

type Env = Readonly<Record<string, string | undefined>>;

/** `$XDG_CONFIG_HOME/postern/profile.json`, or below `~/.config` (XDG Base Directory Specification). */
export function profilePath(env: Env): string {
  const base = env.XDG_CONFIG_HOME?.startsWith("/") ? env.XDG_CONFIG_HOME : join(env.HOME ?? homedir(), ".config");
  return join(base, "postern", "profile.json");
}

/** What is saved; nothing where there is no file. */
export function readProfiles(env: Env): ProfileFile {
  const path = profilePath(env);
  if (!existsSync(path)) return { current: null, profiles: {} };
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new CliError(
      EXIT.failed,
      `${path} cannot be read (${error instanceof Error ? error.message : "unknown"}): repair or remove it`,
    );
  }
  const parsed = ProfileFile.safeParse(content);
  if (!parsed.success) throw new CliError(EXIT.failed, `${path} is no profile of postern: repair or remove it`);
  return parsed.data;
}

/** Saves, for the owner's eyes only, whole or not at all. */
export function writeProfiles(env: Env, file: ProfileFile): string {
  const path = profilePath(env);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(`${path}.new`, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
  chmodSync(`${path}.new`, 0o600);
  renameSync(`${path}.new`, path);
  return path;
}
