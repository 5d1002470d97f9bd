import { assemble, type Parts } from "../../src/daemon.ts";
import type { Actor } from "../../src/identity/index.ts";
import type { Id } from "../../src/kernel/ids.ts";
import { isProblem, type Problem } from "../../src/kernel/problems.ts";
import type { KeyKind, Preset, Scope } from "../../src/kernel/scopes.ts";
import { openDataFolder } from "../../src/store/data-folder.ts";
import type { KeyRecord } from "../../src/store/types.ts";
import { FakeClock, turns } from "../support/fake-clock.ts";
import { tempDir } from "../support/tmp.ts";

export const OPERATOR: Actor = { kind: "operator" };

export type KeyWish = {
  name?: string;
  kind?: KeyKind;
  scopes?: readonly Scope[];
  preset?: Preset;
  expiresAt?: number;
};

/** What a call answered, where it must not be a problem. */
export function must<T>(value: T | Problem): T {
  if (isProblem(value)) throw new Error(`${value.code}: ${value.detail}`);
  return value;
}

/** The code of a refusal; undefined where there was none. */
export function code(value: unknown): string | undefined {
  return isProblem(value) ? value.code : undefined;
}

/** Postern's parts on a fresh data folder, with a clock that stands still until a test moves it. */
export class House {
  readonly dir: string;
  parts: Parts;
  clock: FakeClock;

  private constructor(dir: string, parts: Parts, clock: FakeClock) {
    this.dir = dir;
    this.parts = parts;
    this.clock = clock;
  }

  static async open(dir = tempDir("identity")): Promise<House> {
    let clock = new FakeClock();
    const parts = await assemble(openDataFolder(dir), {
      maxBodyBytes: 1_000_000,
      clock: (lastGate) => {
        clock = new FakeClock(lastGate);
        return clock;
      },
    });
    return new House(dir, parts, clock);
  }

  async restart(): Promise<void> {
    await this.close();
    const next = await House.open(this.dir);
    this.parts = next.parts;
    this.clock = next.clock;
  }

  close(): Promise<void> {
    return this.parts.close();
  }

  get keys() {
    return this.parts.services.keys;
  }

  get inbox() {
    return this.parts.services.inbox;
  }

  get project(): Id<"prj"> {
    return this.parts.services.projects.find("default")?.id ?? "prj_none";
  }

  create(wish: KeyWish, actor = OPERATOR) {
    return this.keys.create(actor, { project: this.project, name: "k", kind: "application", ...wish });
  }

  /** A key that was made, as it stands. */
  async key(wish: KeyWish = { preset: "agent" }, actor = OPERATOR): Promise<KeyRecord> {
    return must(await this.create(wish, actor)).key;
  }

  /** The key as it stands now. */
  now(key: KeyRecord): KeyRecord {
    const known = this.keys.get(key.project, key.id);
    if (!known) throw new Error("the key is not shown");
    return known;
  }

  /** Why the key may not act now. */
  refusal(key: KeyRecord): string | undefined {
    return this.keys.refusal(key)?.code;
  }

  /** An event that has arrived and is leased by a key. */
  async leasedBy(key: KeyRecord): Promise<Id<"evt">> {
    const { events } = this.parts.services.store;
    const what = { source: "s", channel: "webhook", type: "t", verified: false, headers: "{}", payload: "1" } as const;
    const { id } = must(await events.accept({ project: this.project, blob: null, ...what }));
    must(await this.inbox.claim({ ...this.caller(key) }, id, 3_600_000));
    return id;
  }

  caller(key: KeyRecord) {
    return { project: key.project, holder: key.id, signal: new AbortController().signal };
  }

  /** A wait of the key; `ended` once it is over. */
  waitOf(key: KeyRecord): { ended: boolean } {
    const wait = { ended: false };
    const answer = this.inbox.wait(this.caller(key), { type: "never" }, { timeoutMs: 300_000 });
    void answer.then(() => {
      wait.ended = true;
    });
    return wait;
  }

  async standing(id: Id<"evt">): Promise<string> {
    await turns();
    const { status, attempts } = must(await this.inbox.get(this.project, id));
    return `${status} ${attempts}`;
  }
}

/** The actor that a key is. */
export function as(key: KeyRecord): Actor {
  return { kind: "key", key };
}
