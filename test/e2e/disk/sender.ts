import { expect } from "bun:test";
import { createHmac } from "node:crypto";
import type { Answer, Daemon } from "../../support/daemon.ts";

const SECRET = "the secret of the disk's tests";

/** Sends signed events to a daemon, and keeps what was answered with 200. */
export class Sender {
  readonly #daemon: Daemon;
  readonly #path: string;
  readonly key: string;
  /** Event ids by the ids of their deliveries. */
  readonly stored = new Map<string, string>();

  private constructor(daemon: Daemon, path: string, key: string) {
    this.#daemon = daemon;
    this.#path = path;
    this.key = key;
  }

  static async prepare(daemon: Daemon): Promise<Sender> {
    const body = { name: "load", channel: "webhook", kind: "github", secret: SECRET };
    const source = await daemon.operator("/v1/sources", { body });
    expect(source.status, source.text).toBe(201);
    const key = await daemon.operator("/v1/keys", { body: { name: "w", kind: "application", preset: "agent" } });
    const path = new URL(source.json<{ ingest_url: string }>().ingest_url).pathname;
    return new Sender(daemon, path, key.json<{ key: string }>().key);
  }

  /** Sends one delivery with a body of about this many bytes. */
  async send(delivery: string, bytes: number): Promise<Answer> {
    const body = JSON.stringify({ delivery, filling: "x".repeat(bytes) });
    const headers = {
      "content-type": "application/json",
      "x-github-event": "push",
      "x-github-delivery": delivery,
      "x-hub-signature-256": `sha256=${createHmac("sha256", SECRET).update(body).digest("hex")}`,
    };
    const answer = await this.#daemon.api(this.#path, { body, headers });
    if (answer.status === 200) this.stored.set(delivery, answer.json<{ id: string }>().id);
    return answer;
  }

  /** Sends events, several at a time, until one is refused; answers that refusal and its delivery. */
  async fill(bytes: number): Promise<{ refused: Answer; delivery: string }> {
    for (let wave = 0; ; wave++) {
      const deliveries = Array.from({ length: 8 }, (_, i) => `fill-${bytes}-${wave}-${i}`);
      const answers = await Promise.all(deliveries.map((delivery) => this.send(delivery, bytes)));
      const at = answers.findIndex(({ status }) => status !== 200);
      const [refused, delivery] = [answers[at], deliveries[at]];
      if (refused && delivery) return { refused, delivery };
    }
  }

  /** That every 200 is there, under its own id, and nothing else is. */
  async expectAll(): Promise<void> {
    const ids: string[] = [];
    for (let cursor = ""; ; ) {
      const answer = await this.#daemon.operator(`/v1/inbox?status=all&limit=100${cursor}`);
      const page = answer.json<{ events: { id: string }[]; next_cursor: string | null }>();
      ids.push(...page.events.map(({ id }) => id));
      if (page.next_cursor === null) break;
      cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`;
    }
    expect(ids.toSorted()).toEqual([...this.stored.values()].toSorted());
  }

  /** Claims this many events and acks them, in one settle each. */
  async work(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      const claimed = await this.#daemon.api("/v1/inbox/claim", { body: {}, key: this.key });
      expect(claimed.status, claimed.text).toBe(200);
      const [claim] = claimed.json<{ claims: { event: { id: string }; lease: { id: string } }[] }>().claims;
      if (!claim) throw new Error("there was nothing to claim");
      const ack = await this.#daemon.api(`/v1/events/${claim.event.id}/ack`, {
        body: { lease: claim.lease.id, result: { done: i } },
        key: this.key,
      });
      expect(ack.status, ack.text).toBe(200);
    }
  }
}
