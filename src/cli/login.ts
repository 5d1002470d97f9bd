import { didYouMean } from "../kernel/suggest.ts";
import { reach, refusal } from "./client.ts";
import { type Call, flag } from "./command.ts";
import { baseOf } from "./connection.ts";
import { CliError, EXIT, usageError } from "./exit.ts";
import { type ProfileFile, readProfiles, writeProfiles } from "./profile.ts";
import { membersOf, sliceAt } from "./raw-json.ts";
import { cellOf, tableOf } from "./table.ts";

const NAME = /^[a-z0-9][a-z0-9_.-]{0,62}$/i;

/** `postern login --url U [NAME]`: checks the key with the daemon and saves both. */
export async function runLogin(call: Call): Promise<number> {
  const { io } = call;
  const name = call.args[0] ?? flag(call, "profile") ?? "default";
  if (!NAME.test(name)) throw usageError("a profile's name is made of letters, digits, `_`, `.` and `-`");
  const url = flag(call, "url") ?? io.env.POSTERN_URL;
  if (!url) throw usageError("--url is missing", "postern login --help");
  const base = baseOf(url);
  const given = flag(call, "key") ?? (io.env.POSTERN_KEY || undefined);
  const key = given === undefined || given === "-" ? await io.ask(`Key for ${base}: `) : given;
  if (!/^[\x21-\x7e]+$/.test(key))
    throw usageError("give a key: `postern keys create` on the daemon's machine makes one");
  warnPlain(call, base);
  const response = await reach({ base, socket: undefined, key, project: undefined }, "GET", "/v1/whoami");
  const text = await response.text();
  if (!response.ok) throw refusal(response.status, text);
  const slug = sliceAt(text, "project.slug");
  if (slug === undefined)
    throw new CliError(EXIT.failed, `${base} answers, but not as Postern does`, { code: "NOT_POSTERN" });
  const file = readProfiles(io.env);
  const project = flag(call, "project");
  const profile = { url: base, key, ...(project === undefined ? {} : { project }) };
  const path = writeProfiles(io.env, { ...file, current: name, profiles: { ...file.profiles, [name]: profile } });
  const who = membersOf(sliceAt(text, "key") ?? "null");
  io.out(
    `Logged in to ${base}, project ${cellOf(slug)}, with key ${cellOf(who?.get("name"))}.\nSaved as ${name} in ${path}.\n`,
  );
  return EXIT.done;
}

function warnPlain(call: Call, base: string): void {
  const { protocol, hostname } = new URL(base);
  if (protocol === "https:" || /^(?:127\.|localhost$|\[::1\]$)/.test(hostname)) return;
  call.io.err("warning: http:// sends the key readable for everyone on the way; use https://\n");
}

/** `postern logout [NAME]`: forgets a profile. The key itself stays valid. */
export async function runLogout(call: Call): Promise<number> {
  const file = readProfiles(call.io.env);
  const name = call.args[0] ?? flag(call, "profile") ?? file.current;
  if (name === null) throw new CliError(EXIT.failed, "no profile is in use: there is nothing to forget");
  known(file, name);
  const profiles = Object.fromEntries(Object.entries(file.profiles).filter(([other]) => other !== name));
  writeProfiles(call.io.env, { ...file, profiles, current: file.current === name ? null : file.current });
  call.io.out(`Forgot ${name}. Its key stays valid: \`postern keys revoke\` ends it.\n`);
  return EXIT.done;
}

/** `postern use [NAME]`: shows the profiles, or has the commands to come use one; `-` is the operator's socket. */
export async function runUse(call: Call): Promise<number> {
  const { io } = call;
  const file = readProfiles(io.env);
  const [name] = call.args;
  const project = flag(call, "project");
  if (name === undefined && project === undefined) return showProfiles(call, file);
  const chosen = name === undefined ? file.current : name === "-" ? null : name;
  const profile = chosen === null ? undefined : known(file, chosen);
  const changed: ProfileFile = { ...file, current: chosen };
  if (project !== undefined && profile && chosen !== null) {
    changed.profiles = { ...file.profiles, [chosen]: { ...profile, project } };
  } else if (project !== undefined) changed.project = project;
  writeProfiles(io.env, changed);
  const where = profile ? `${chosen} (${profile.url})` : "the operator's socket";
  io.out(`Commands use ${where}${project === undefined ? "" : `, project ${project}`}.\n`);
  return EXIT.done;
}

function known(file: ProfileFile, name: string): ProfileFile["profiles"][string] {
  const profile = Object.hasOwn(file.profiles, name) ? file.profiles[name] : undefined;
  if (profile) return profile;
  throw usageError(`there is no profile \`${name}\`.${didYouMean(name, Object.keys(file.profiles))}`, "postern use");
}

function showProfiles({ io }: Call, file: ProfileFile): number {
  const rows = Object.entries(file.profiles).map(([name, { url, project }]) =>
    JSON.stringify({ in_use: name === file.current, name, url, project: project ?? null }),
  );
  if (rows.length > 0) io.out(tableOf(io, rows, ["in_use", "name", "url", "project"]));
  if (file.current === null) {
    io.out(`Commands use the operator's socket${file.project === undefined ? "" : `, project ${file.project}`}.\n`);
  }
  return EXIT.done;
}
