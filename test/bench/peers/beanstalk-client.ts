import type { Socket } from "bun";

/** One answer of beanstalkd: its line, and the data after it where the line announces some. */
export type BeanstalkAnswer = { line: string; data: Buffer };

const LINE_END = Buffer.from("\r\n");

/** `RESERVED <id> <bytes>` and `OK <bytes>` are followed by so many bytes and a line end. */
const WITH_DATA = /^(?:RESERVED \d+|OK) (\d+)$/;

/** A connection to beanstalkd. Commands may be sent without waiting for the answers to those before (doc/protocol.txt). */
export class BeanstalkClient {
  readonly #waiting: ((answer: BeanstalkAnswer) => void)[] = [];
  #socket: Socket<undefined> | undefined;
  #received: Buffer = Buffer.alloc(0);
  #unsent: Uint8Array = new Uint8Array();

  static async open(port: number): Promise<BeanstalkClient> {
    const client = new BeanstalkClient();
    client.#socket = await Bun.connect<undefined>({
      hostname: "127.0.0.1",
      port,
      data: undefined,
      socket: { data: (_, bytes) => client.#read(bytes), drain: () => client.#send(new Uint8Array()) },
    });
    return client;
  }

  /** Sends commands in one go and answers what each got. */
  commands(texts: readonly string[]): Promise<BeanstalkAnswer[]> {
    const answers = texts.map(() => new Promise<BeanstalkAnswer>((resolve) => this.#waiting.push(resolve)));
    this.#send(Buffer.from(texts.map((text) => `${text}\r\n`).join("")));
    return Promise.all(answers);
  }

  close(): void {
    this.#socket?.end();
  }

  #send(bytes: Uint8Array): void {
    const all = this.#unsent.length === 0 ? bytes : Buffer.concat([this.#unsent, bytes]);
    const written = this.#socket?.write(all) ?? 0;
    this.#unsent = all.slice(Math.max(0, written));
  }

  #read(bytes: Buffer): void {
    this.#received = Buffer.concat([this.#received, bytes]);
    for (let answer = this.#take(); answer; answer = this.#take()) this.#waiting.shift()?.(answer);
  }

  #take(): BeanstalkAnswer | undefined {
    const end = this.#received.indexOf(LINE_END);
    if (end < 0) return undefined;
    const line = this.#received.toString("latin1", 0, end);
    const size = WITH_DATA.exec(line)?.[1];
    const start = end + LINE_END.length;
    const total = size === undefined ? start : start + Number(size) + LINE_END.length;
    if (this.#received.length < total) return undefined;
    const data = this.#received.subarray(start, size === undefined ? start : start + Number(size));
    this.#received = this.#received.subarray(total);
    return { line, data };
  }
}
