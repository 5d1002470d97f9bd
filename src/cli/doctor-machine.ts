import { X509Certificate } from "node:crypto";
import { existsSync, readFileSync, statfsSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import type { Finding } from "./doctor-finding.ts";

const MIB = 1024 * 1024;
const DAY_MS = 86_400_000;

/** The data folder: there, this user's, and closed to all others. */
export function checkFolder(dir: string): Finding {
  const name = "data folder";
  if (!existsSync(dir)) return { level: "info", name, detail: `${dir} is not there yet: \`postern serve\` makes it` };
  const { mode, uid } = statSync(dir);
  const own = process.getuid?.();
  if (own !== undefined && uid !== own) {
    const detail = `${dir} belongs to user ${uid}, this is user ${own}`;
    return { level: "warn", name, detail, fix: "run doctor as the user that runs the daemon" };
  }
  if ((mode & 0o077) === 0) return { level: "pass", name, detail: dir };
  return { level: "fail", name, detail: `${dir} has mode ${octal(mode)}: others get in`, fix: `chmod 700 ${dir}` };
}

/** A file of the data folder that only its owner may open; nothing where it isn't there. */
export function* checkPrivate(path: string): Generator<Finding> {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat) return;
  const name = basename(path);
  if ((stat.mode & 0o077) === 0) yield { level: "pass", name, detail: `mode ${octal(stat.mode)}` };
  else yield { level: "fail", name, detail: `mode ${octal(stat.mode)}: others can use it`, fix: `chmod 600 ${path}` };
}

/** Room for events: under 100 MiB it is nearly over, under 1 GiB it is time to look. */
export function checkDisk(dir: string): Finding {
  let place = dir;
  while (!existsSync(place)) place = dirname(place);
  const { bavail, bsize, blocks } = statfsSync(place);
  const free = bavail * bsize;
  const detail = `${(free / MIB / 1024).toFixed(1)} GiB free of ${((blocks * bsize) / MIB / 1024).toFixed(1)}`;
  const fix = "make room, or shorten retention.payload_days";
  if (free < 100 * MIB) return { level: "fail", name: "disk", detail, fix };
  return free < 1024 * MIB ? { level: "warn", name: "disk", detail, fix } : { level: "pass", name: "disk", detail };
}

/** Who can open the socket acts as the operator: neither root nor the agents' user is the right one for the daemon. */
export function checkUser(): Finding {
  const name = "user";
  const fix = "run agents as another user, with keys: who can open the socket has the owner's rights";
  if (process.getuid?.() !== 0) return { level: "info", name, detail: `user ${process.getuid?.() ?? "unknown"}`, fix };
  return {
    level: "warn",
    name,
    detail: "this is root",
    fix: "run the daemon as a user of its own: systemd/postern.service does",
  };
}

/** How long the certificate of `http.tls_cert` is still valid. */
export function checkCertificate(path: string, now: number): Finding {
  const name = "certificate";
  const fix = "renew it, then `systemctl reload postern`";
  try {
    const { validTo, subject } = new X509Certificate(readFileSync(path));
    const days = Math.floor((Date.parse(validTo) - now) / DAY_MS);
    const detail = `${subject.replaceAll("\n", ", ")}: ${days < 0 ? `ran out ${-days} days ago` : `${days} days left`}`;
    if (days < 0) return { level: "fail", name, detail, fix };
    return days < 14 ? { level: "warn", name, detail, fix } : { level: "pass", name, detail };
  } catch (error) {
    const why = error instanceof Error ? error.message : "unknown";
    return {
      level: "fail",
      name,
      detail: `${path}: ${why}`,
      fix: "http.tls_cert must be a PEM certificate this user may read",
    };
  }
}

function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, "0");
}
