import { whenTestsEnd } from "./cleanup.ts";

// By another hand than ours: prints CLOCK_MONOTONIC in microseconds, then each datagram and that clock, as JSON.
const RECEIVER = `
import json, socket, sys, time
name = sys.argv[1]
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind("\\0" + name[1:] if name[0] == "@" else name)
print(time.monotonic_ns() // 1000, flush=True)
while True:
    text = receiver.recv(4096).decode()
    print(json.dumps([text, time.monotonic_ns() // 1000]), flush=True)
`;

/** One state that a service sent, and CLOCK_MONOTONIC when it was received, in microseconds. */
export type State = { text: string; at: number };

/** The service manager's end of $NOTIFY_SOCKET: sd_notify(3). Needs the command python3. */
export class ServiceManager {
  /** The value of $NOTIFY_SOCKET. */
  readonly socket: string;
  /** CLOCK_MONOTONIC when it began to listen, in microseconds. */
  readonly since: number;
  readonly #lines: AsyncIterator<string>;

  private constructor(socket: string, since: number, received: AsyncIterator<string>) {
    this.socket = socket;
    this.since = since;
    this.#lines = received;
  }

  /** Listens at a path, or at `@` and a name in the abstract namespace, until the test run ends. */
  static async listen(socket: string): Promise<ServiceManager> {
    const receiver = Bun.spawn(["python3", "-c", RECEIVER, socket], { stdin: "ignore", stdout: "pipe" });
    whenTestsEnd(() => receiver.kill());
    const received = lines(receiver.stdout);
    const first = await received.next();
    if (first.done) throw new Error(`nothing can listen at ${socket}`);
    return new ServiceManager(socket, Number(first.value), received);
  }

  /** The next state that comes, in the order in which they were sent. */
  async next(): Promise<State> {
    const line = await this.#lines.next();
    if (line.done) throw new Error("the receiver has ended");
    const [text, at] = JSON.parse(line.value) as [string, number];
    return { text, at };
  }
}

async function* lines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = parts.pop() ?? "";
    yield* parts;
  }
}
