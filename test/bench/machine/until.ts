const LIMIT_MS = 30_000;

/** Asks again and again until it is true; throws after half a minute. */
export async function until(what: string, isTrue: () => Promise<boolean>, pauseMs = 20): Promise<void> {
  const end = performance.now() + LIMIT_MS;
  while (!(await isTrue())) {
    if (performance.now() > end) throw new Error(`${what} took more than ${LIMIT_MS / 1000} s`);
    await Bun.sleep(pauseMs);
  }
}

/** True once something takes connections on a port. */
export async function takesConnections(port: number): Promise<boolean> {
  try {
    const socket = await Bun.connect({ hostname: "127.0.0.1", port, socket: { data() {} } });
    socket.end();
    return true;
  } catch {
    return false; // Nothing listens there yet.
  }
}
