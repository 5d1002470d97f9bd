import { dlopen, FFIType, ptr } from "bun:ffi";

type Environment = Readonly<Record<string, string | undefined>>;

const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const SOCK_CLOEXEC = 0o2000000;
const MSG_NOSIGNAL = 0x4000;
const CLOCK_MONOTONIC = 1;

/** `sun_path` of unix(7), in bytes. */
const MAX_PATH = 108;

/** The C library by its name on glibc, then on musl. */
const LIBRARIES = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];

const SYMBOLS = {
  socket: { args: [FFIType.i32, FFIType.i32, FFIType.i32], returns: FFIType.i32 },
  sendto: {
    args: [FFIType.i32, FFIType.ptr, FFIType.u64, FFIType.i32, FFIType.ptr, FFIType.u32],
    returns: FFIType.i64,
  },
  close: { args: [FFIType.i32], returns: FFIType.i32 },
  clock_gettime: { args: [FFIType.i32, FFIType.ptr], returns: FFIType.i32 },
} as const;

let loaded: ReturnType<typeof openLibrary> | undefined;

/**
 * Sends one state to the service manager that started this process: one datagram of `NAME=value` lines to the Unix
 * socket that $NOTIFY_SOCKET names (a path, or `@` and a name in the abstract namespace).
 * True when it was handed over, false when there is no such manager or it could not be reached: to run without one is
 * no failure. The C library is called since Bun has no Unix datagrams, and only if the variable is set.
 * Source: sd_notify(3).
 */
export function notify(state: string, env: Environment = process.env): boolean {
  const address = socketAddress(env.NOTIFY_SOCKET);
  if (address === undefined) return false;
  const { socket, sendto, close } = library();
  const descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return false;
  const message = Buffer.from(state);
  const sent = sendto(descriptor, ptr(message), message.length, MSG_NOSIGNAL, ptr(address), address.length);
  close(descriptor);
  return Number(sent) === message.length;
}

/** Start-up is over: the daemon listens. `status` is the line that `systemctl status` shows. */
export function notifyReady(status?: string): boolean {
  return notify(status === undefined ? "READY=1" : `READY=1\nSTATUS=${oneLine(status)}`);
}

/** The daemon began to stop. */
export function notifyStopping(): boolean {
  return notify("STOPPING=1");
}

/**
 * The daemon began to read its configuration again; `notifyReady` ends it. The time tells the manager which of
 * several reloads this is: microseconds of CLOCK_MONOTONIC, which no clock of JavaScript shows.
 */
export function notifyReloading(): boolean {
  if (socketAddress(process.env.NOTIFY_SOCKET) === undefined) return false;
  return notify(`RELOADING=1\nMONOTONIC_USEC=${monotonicMicroseconds()}`);
}

/** A sign of life for the manager's watchdog. */
export function notifyWatchdog(): boolean {
  return notify("WATCHDOG=1");
}

/**
 * How often to send a sign of life, in milliseconds: half of the time after which the manager restarts a silent
 * service. Undefined when it watches no one, or another process. Source: sd_watchdog_enabled(3).
 */
export function watchdogIntervalMs(env: Environment = process.env): number | undefined {
  const limit = env.WATCHDOG_USEC;
  if (limit === undefined || !/^[1-9]\d{0,15}$/.test(limit)) return undefined;
  if (env.WATCHDOG_PID && env.WATCHDOG_PID !== String(process.pid)) return undefined;
  return Math.max(1, Math.floor(Number(limit) / 2000));
}

/** `struct sockaddr_un` for a value of $NOTIFY_SOCKET; undefined for none, or for a kind that is no Unix socket. */
function socketAddress(name: string | undefined): Buffer | undefined {
  if (!name || name.length < 2 || !/^[/@]/.test(name)) return undefined;
  const path = Buffer.from(name);
  const abstract = path[0] === 0x40;
  if (path.length > (abstract ? MAX_PATH : MAX_PATH - 1)) return undefined;
  if (abstract) path[0] = 0;
  const family = Buffer.from(new Uint16Array([AF_UNIX]).buffer);
  // An abstract name ends where the length says; a path ends at its NUL.
  return Buffer.concat(abstract ? [family, path] : [family, path, Buffer.alloc(1)]);
}

function monotonicMicroseconds(): bigint {
  const time = new BigInt64Array(2);
  library().clock_gettime(CLOCK_MONOTONIC, ptr(time));
  const [seconds = 0n, nanoseconds = 0n] = time;
  return seconds * 1_000_000n + nanoseconds / 1000n;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ");
}

function library() {
  loaded ??= openLibrary();
  return loaded.symbols;
}

function openLibrary() {
  let failure: unknown;
  for (const name of LIBRARIES) {
    try {
      return dlopen(name, SYMBOLS);
    } catch (error) {
      failure = error;
    }
  }
  throw new Error(`the service manager cannot be told: no C library among ${LIBRARIES.join(", ")}`, { cause: failure });
}
