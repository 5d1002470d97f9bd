import { expect } from "bun:test";
import { existsSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { type Daemon, startDaemon } from "../support/daemon.ts";
import { describeWith, needsBinary, testWith } from "../support/needs.ts";
import { binaryPath } from "../support/paths.ts";

const binary = needsBinary();

async function makeSource(daemon: Daemon, name = "hello"): Promise<string> {
  const answer = await daemon.operator("/v1/sources", { body: { name, kind: "unsigned", channel: "webhook" } });
  expect(answer.status, answer.text).toBe(201);
  return new URL(answer.json<{ ingest_url: string }>().ingest_url).pathname;
}

/** A connection whose bytes the test sends and reads itself. */
class Line {
  received = "";
  readonly closed: Promise<void>;
  readonly #socket: ReturnType<typeof connect>;

  constructor(port: number) {
    this.#socket = connect(port, "127.0.0.1");
    this.#socket.on("data", (bytes) => {
      this.received += bytes.toString("latin1");
    });
    this.closed = new Promise((resolve) => {
      this.#socket.on("close", () => resolve());
      this.#socket.on("error", () => resolve());
    });
  }

  send(text: string): void {
    this.#socket.write(text);
  }

  end(): void {
    this.#socket.destroy();
  }

  async until(part: string): Promise<void> {
    while (!this.received.includes(part)) {
      await Promise.race([Bun.sleep(5), this.closed]);
      if (this.#socket.destroyed && !this.received.includes(part)) throw new Error(`closed after: ${this.received}`);
    }
  }
}

const head = (method: string, path: string, length: number) =>
  `${method} ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;

/** Waits until the daemon works on a request that has not all arrived, which nothing outside shows. */
const underWay = () => Bun.sleep(150);

describeWith(binary)("SIGTERM", () => {
  testWith()("ends an idle daemon with 0, and its socket is gone", async () => {
    const daemon = await startDaemon();
    await daemon.operator("/v1/sources");
    expect(await daemon.stop()).toBe(0);
    expect(daemon.output).toContain('"message":"stopped"');
    expect(existsSync(join(daemon.dataDir, "postern.sock"))).toBe(false);
  });

  testWith()("ends waits as if their time were over, and streams", async () => {
    const daemon = await startDaemon();
    const stream = new Line(daemon.port);
    const key = (
      await daemon.operator("/v1/keys", { body: { name: "w", kind: "application", preset: "agent" } })
    ).json<{ key: string }>().key;
    stream.send(`GET /v1/stream HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\n\r\n`);
    await stream.until(": postern");
    const wait = daemon.api("/v1/inbox/wait", { body: { timeout_seconds: 300 }, key });
    const claim = daemon.api("/v1/inbox/claim", { body: { wait_seconds: 300 }, key });
    await underWay();
    const code = daemon.stop();
    const waited = await wait;
    expect([waited.status, waited.json()]).toEqual([200, { event: null }]);
    const claimed = await claim;
    expect([claimed.status, claimed.json()]).toEqual([200, { claims: [] }]);
    await stream.closed;
    // The last chunk of a chunked body: the stream was ended, not cut.
    expect(stream.received).toEndWith("0\r\n\r\n");
    expect(await code).toBe(0);
  });

  testWith()("lets an upload finish that is in flight, takes no new connection, and loses nothing", async () => {
    const daemon = await startDaemon();
    const path = await makeSource(daemon);
    const body = JSON.stringify({ slow: true });
    const upload = new Line(daemon.port);
    upload.send(head("POST", path, body.length) + body.slice(0, 5));
    await underWay();
    const code = daemon.stop();
    while (!daemon.output.includes('"message":"stopping"')) await Bun.sleep(5);
    await underWay();
    await expect(daemon.api("/healthz")).rejects.toThrow();
    upload.send(body.slice(5));
    await upload.until('"duplicate":false');
    const { id } = JSON.parse(upload.received.slice(upload.received.indexOf("{"))) as { id: string };
    expect(await code).toBe(0);

    await daemon.start();
    const { event } = (await daemon.operator(`/v1/events/${id}`)).json<{ event: { payload: unknown } }>();
    expect(event.payload).toEqual({ slow: true });
    await daemon.stop();
  });

  testWith()(
    "cuts off after its grace what does not finish, and ends with 0",
    async () => {
      const daemon = await startDaemon();
      const path = await makeSource(daemon);
      const upload = new Line(daemon.port);
      upload.send(`${head("POST", path, 100)}{"never`);
      await underWay();
      expect(await daemon.stop()).toBe(0);
      await upload.closed;
      expect(upload.received).toBe("");
    },
    20_000,
  );

  testWith()("under load loses nothing that was answered", async () => {
    const daemon = await startDaemon();
    const path = await makeSource(daemon);
    const answered: string[] = [];
    const statuses = new Set<number>();
    const send = async (sender: number) => {
      for (let n = 0; ; n++) {
        const answer = await daemon.api(path, { body: { sender, n } }).catch(() => undefined);
        if (!answer) return;
        statuses.add(answer.status);
        if (answer.status === 200) answered.push(answer.json<{ id: string }>().id);
      }
    };
    const sending = Promise.all(Array.from({ length: 8 }, (_, sender) => send(sender)));
    await Bun.sleep(300);
    expect(await daemon.stop()).toBe(0);
    await sending;
    expect([...statuses]).toEqual([200]);

    await daemon.start();
    expect(answered.length).toBeGreaterThan(0);
    for (const id of answered) expect((await daemon.operator(`/v1/events/${id}`)).status).toBe(200);
    await daemon.stop();
  });

  for (const second of ["SIGTERM", "SIGINT"] as const) {
    testWith()(`a second signal (${second}) ends at once what the first was patient with`, async () => {
      const daemon = await startDaemon();
      const path = await makeSource(daemon);
      const upload = new Line(daemon.port);
      upload.send(`${head("POST", path, 100)}{"never`);
      await underWay();
      const code = daemon.stop("SIGTERM");
      while (!daemon.output.includes('"message":"stopping"')) await Bun.sleep(5);
      daemon.signal(second);
      expect(await code).toBe(second === "SIGTERM" ? 143 : 130);
      expect(daemon.output).not.toContain('"message":"stopped"');
    });
  }

  testWith()("SIGINT stops as well as SIGTERM", async () => {
    const daemon = await startDaemon();
    expect(await daemon.stop("SIGINT")).toBe(0);
  });
});

describeWith(binary)("clients that go away", () => {
  testWith()("in the middle of an upload, a wait, a claim and a stream do no harm", async () => {
    const daemon = await startDaemon();
    const path = await makeSource(daemon);
    const key = (
      await daemon.operator("/v1/keys", { body: { name: "w", kind: "application", preset: "agent" } })
    ).json<{ key: string }>().key;
    for (let i = 0; i < 10; i++) {
      const lines = Array.from({ length: 4 }, () => new Line(daemon.port));
      const authorized = (method: string, at: string, body: string) =>
        `${method} ${at} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
      lines[0]?.send(`${head("POST", path, 1000)}{"begun`);
      lines[1]?.send(authorized("POST", "/v1/inbox/wait", '{"timeout_seconds":300}'));
      lines[2]?.send(authorized("POST", "/v1/inbox/claim", '{"wait_seconds":300,"type":"never.sent"}'));
      lines[3]?.send(authorized("GET", "/v1/stream", ""));
      await Bun.sleep(20);
      for (const line of lines) line.end();
      await daemon.api(path, { body: { i } });
    }
    await underWay();
    const pending = (await daemon.operator("/v1/inbox")).json<{ events: unknown[] }>().events;
    expect(pending).toHaveLength(10);
    expect(daemon.output).not.toContain('"level":"error"');
    expect(await daemon.stop()).toBe(0);
  });
});

describeWith(binary)("the log", () => {
  for (const [what, log] of [
    ["whose reader went away", ">(head -c 1 >/dev/null)"],
    ["on a full disk", "/dev/full"],
  ] as const) {
    testWith()(`${what} does not end the daemon`, async () => {
      const script = `exec "$0" "$@" 2> ${log}`;
      const daemon = await startDaemon({
        command: ["bash", "-c", script, binaryPath],
        env: { POSTERN_LOG__LEVEL: "debug" },
      });
      for (let i = 0; i < 20; i++) {
        expect((await daemon.api("/v1/inbox")).status).toBe(401);
        await Bun.sleep(5);
      }
      expect(await daemon.stop()).toBe(0);
    });
  }
});
