import { createHmac } from "node:crypto";
import { assemble, type Parts } from "../../src/daemon.ts";
import type { Id } from "../../src/kernel/ids.ts";
import { isProblem, type Problem } from "../../src/kernel/problems.ts";
import { openDataFolder } from "../../src/store/data-folder.ts";
import type { Accepted } from "../../src/store/store.ts";
import type { KeyRecord } from "../../src/store/types.ts";
import { ingest } from "../../src/webhook/index.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { tempDir } from "../support/tmp.ts";
import { HOLDERS, SOURCES } from "./model-steps.ts";

const OPERATOR = { kind: "operator" } as const;

/** What a call answered, where it must not be a problem. */
export function must<T>(value: T | Problem): T {
  if (isProblem(value)) throw new Error(`${value.code}: ${value.detail}`);
  return value;
}

/** Postern's parts on a data folder and a clock that tests move. */
export class House {
  readonly #dir: string;
  clock: FakeClock;
  parts: Parts;

  private constructor(dir: string, clock: FakeClock, parts: Parts) {
    this.#dir = dir;
    this.clock = clock;
    this.parts = parts;
  }

  static async open(): Promise<House> {
    const dir = tempDir("inbox");
    let clock = new FakeClock();
    const parts = await openParts(dir, (lastGate) => {
      clock = new FakeClock(lastGate);
      return clock;
    });
    return new House(dir, clock, parts);
  }

  get services(): Parts["services"] {
    return this.parts.services;
  }

  /** Closes it and opens it again as the next run does, `downMs` later by the wall clock. */
  async restart(downMs: number): Promise<void> {
    await this.parts.close();
    const before = this.clock;
    this.parts = await openParts(this.#dir, (lastGate) => {
      this.clock = before.restarted(lastGate, downMs);
      return this.clock;
    });
    await this.clock.advance(0);
  }

  async close(): Promise<void> {
    await this.parts.close();
  }
}

function openParts(dir: string, clock: (lastGate: number) => FakeClock): Promise<Parts> {
  return assemble(openDataFolder(dir), { clock, maxBodyBytes: 1_000_000 });
}

/** One project in a house: two sources, one that verifies and one that does not, and a few keys. */
export class World {
  readonly house: House;
  readonly project: Id<"prj">;
  readonly keys: readonly KeyRecord[];
  readonly #sources: readonly Id<"src">[];

  private constructor(house: House, project: Id<"prj">, keys: readonly KeyRecord[], sources: readonly Id<"src">[]) {
    this.house = house;
    this.project = project;
    this.keys = keys;
    this.#sources = sources;
  }

  static async make(house: House, slug: string): Promise<World> {
    const { projects, keys, sources } = house.services;
    const { id: project } = must(await projects.create({ slug, title: slug, managed: false }));
    const made: KeyRecord[] = [];
    for (let i = 0; i < HOLDERS; i++) {
      made.push(
        must(await keys.create(OPERATOR, { project, name: `k${i}`, kind: "application", preset: "agent" })).key,
      );
    }
    const ids: Id<"src">[] = [];
    for (const name of SOURCES) {
      const kind = name === "shop" ? "hmac_sha256" : "unsigned";
      const fields = { type_from: { pointer: "/type" } };
      const { source } = must(
        await sources.create({ project, name, channel: "webhook", kind, fields, managed: false }),
      );
      ids.push(source.record.id);
    }
    return new World(house, project, made, ids);
  }

  holder(n: number): string {
    return this.keys[n]?.id ?? "";
  }

  /** Why the key may not act now. */
  refusal(n: number): string | undefined {
    const { keys } = this.house.services;
    const key = this.keys[n] && keys.get(this.project, this.keys[n].id);
    return key && keys.refusal(key)?.code;
  }

  async move(n: number, to: "freeze" | "thaw"): Promise<Problem | undefined> {
    const { keys } = this.house.services;
    const key = this.keys[n] && keys.get(this.project, this.keys[n].id);
    if (!key) throw new Error("the key is gone");
    const moved = await keys.move(OPERATOR, key, to);
    return isProblem(moved) ? moved : undefined;
  }

  async setPaused(n: number, paused: boolean): Promise<void> {
    must(await this.house.services.sources.setPaused(this.#source(n), paused));
  }

  /** A provider's sending, signed where the source verifies. */
  async send(n: number, body: string): Promise<Accepted | Problem> {
    const source = this.#source(n);
    const secret = source.secrets[0]?.secret;
    const signature = secret && `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
    return ingest(this.house.parts.ingest, {
      method: "POST",
      token: source.token,
      headers: { "content-type": "application/json", ...(signature ? { "x-signature-256": signature } : {}) },
      query: "",
      remoteAddress: () => "127.0.0.1",
      readBody: async () => Buffer.from(body),
    });
  }

  #source(n: number) {
    const id = this.#sources[n];
    const source = id && this.house.services.sources.get(this.project, id);
    if (!source) throw new Error("the source is gone");
    return source;
  }
}
