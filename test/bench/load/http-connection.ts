import type { Socket } from "bun";

export type HttpAnswer = { status: number; body: string };

type Waiting = { resolve: (answer: HttpAnswer) => void; reject: (error: Error) => void };

const HEAD_END = Buffer.from("\r\n\r\n");

/**
 * One keep-alive HTTP/1.1 connection, one request at a time. It reads only what the servers of the bench answer (a
 * status, a content-length, a body), so that the client costs less than any server it measures.
 */
export class HttpConnection {
  #socket: Socket<undefined> | undefined;
  #waiting: Waiting | undefined;
  #received: Buffer = Buffer.alloc(0);
  #unsent: Uint8Array = new Uint8Array();

  static async open(port: number): Promise<HttpConnection> {
    const connection = new HttpConnection();
    connection.#socket = await Bun.connect<undefined>({
      hostname: "127.0.0.1",
      port,
      data: undefined,
      socket: {
        data: (_, bytes) => connection.#read(bytes),
        drain: () => connection.#send(connection.#unsent),
        close: () => connection.#fail(new Error("the server closed the connection")),
        error: (_, error) => connection.#fail(error),
      },
    });
    return connection;
  }

  /** Sends a whole request and answers its response. The bytes may be used again once this has returned. */
  request(bytes: Uint8Array): Promise<HttpAnswer> {
    if (this.#waiting) throw new Error("a request is under way on this connection");
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#send(bytes);
    });
  }

  close(): void {
    this.#socket?.end();
    this.#socket = undefined;
  }

  #send(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    const written = this.#socket?.write(bytes) ?? -1;
    if (written < 0) this.#fail(new Error("the connection is closed"));
    else this.#unsent = written < bytes.length ? bytes.slice(written) : new Uint8Array();
  }

  #read(bytes: Buffer): void {
    const all = this.#received.length === 0 ? bytes : Buffer.concat([this.#received, bytes]);
    const headEnd = all.indexOf(HEAD_END);
    const start = headEnd + HEAD_END.length;
    const head = headEnd < 0 ? "" : all.toString("latin1", 0, headEnd);
    const length = headEnd < 0 ? Number.POSITIVE_INFINITY : bodyLength(head);
    if (all.length < start + length) {
      this.#received = all === bytes ? Buffer.from(bytes) : all;
      return;
    }
    this.#received = all.subarray(start + length);
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve({ status: Number(head.slice(9, 12)), body: all.toString("utf8", start, start + length) });
  }

  #fail(error: Error): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.reject(error);
  }
}

function bodyLength(head: string): number {
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (length !== undefined) return Number(length);
  if (/\r\ntransfer-encoding:/i.test(head)) throw new Error(`the bench's client reads no chunked answer:\n${head}`);
  return 0;
}
