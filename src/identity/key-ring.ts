import { type Clock, rfc3339 } from "../kernel/clock.ts";
import type { Id } from "../kernel/ids.ts";
import { Problem } from "../kernel/problems.ts";
import { sha256Of } from "../kernel/secrets.ts";
import type { KeyRecord } from "../store/types.ts";

/** What a key is right now: its stored state, or that its time is over. */
export type LiveState = KeyRecord["state"] | "expired";

const TOKEN = /^pst_(?:mgmt|app|intake)_[A-Za-z0-9_-]{27,64}$/;

/**
 * The keys as they are stored, in memory, and what they are worth at this moment. A key that a key made is never wider
 * and never more alive than its maker, whatever becomes of the maker later: a live record has its scopes and its end cut
 * to the maker's.
 */
export class KeyRing {
  readonly #clock: Clock;
  readonly #byId = new Map<string, KeyRecord>();
  readonly #byHash = new Map<string, Id<"key">>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes a record in, in place of the one before. */
  put(key: KeyRecord): void {
    this.#byId.set(key.id, key);
    this.#byHash.set(Buffer.from(key.hash).toString("base64"), key.id);
  }

  clear(): void {
    this.#byId.clear();
    this.#byHash.clear();
  }

  remove(key: KeyRecord): void {
    this.#byId.delete(key.id);
    this.#byHash.delete(Buffer.from(key.hash).toString("base64"));
  }

  /** Every record as it is stored. */
  all(): KeyRecord[] {
    return [...this.#byId.values()];
  }

  /** A record as it is stored. */
  stored(id: string): KeyRecord | undefined {
    return this.#byId.get(id);
  }

  /** The key of a token, whatever its state, a deleted one included; undefined for an unknown token. */
  byToken(token: string): KeyRecord | undefined {
    if (!TOKEN.test(token)) return undefined;
    const id = this.#byHash.get(Buffer.from(sha256Of(token)).toString("base64"));
    const key = id && this.#byId.get(id);
    return key && this.live(key);
  }

  /** The record with its scopes and its end cut to its maker's. */
  live(key: KeyRecord): KeyRecord {
    const maker = this.makerOf(key);
    if (!maker) return key;
    const { scopes, expiresAt } = maker;
    return {
      ...key,
      scopes: key.scopes.filter((scope) => scopes.includes(scope)),
      expiresAt: expiresAt === null ? key.expiresAt : Math.min(key.expiresAt ?? expiresAt, expiresAt),
    };
  }

  /** The key that made this one; undefined where a person or the operator did. */
  makerOf(key: KeyRecord): KeyRecord | undefined {
    const maker = this.#byId.get(key.creator);
    return maker && this.live(maker);
  }

  /** The state that counts: a key is never more alive than the key that made it. */
  stateOf(key: KeyRecord): LiveState {
    const known = this.#byId.get(key.id);
    if (!known) return "revoked";
    if (known.state !== "active") return known.state;
    if (this.isOver(known)) return "expired";
    const maker = this.makerOf(known);
    return maker ? this.stateOf(maker) : "active";
  }

  /** Undefined where the key may act now; otherwise why not. */
  refusal(key: KeyRecord): Problem | undefined {
    const state = this.stateOf(key);
    if (state === "active") return undefined;
    const maker = this.makerOf(key);
    const inherited = maker !== undefined && this.#byId.get(key.id)?.state === "active" && !this.isOver(key);
    const which = inherited ? `the key that made this one, ${key.creator},` : "this key";
    const end = key.expiresAt === null ? "" : ` at ${rfc3339(key.expiresAt)}`;
    if (state === "frozen") {
      return new Problem("KEY_FROZEN", `${which} is frozen; a person or another management key thaws it`);
    }
    if (state === "contained") return new Problem("KEY_CONTAINED", `${which} is locked down; only a person lifts that`);
    if (state === "expired") return new Problem("KEY_EXPIRED", `${which} ran out${end}; ask for a new one`);
    return new Problem("KEY_REVOKED", `${which} was revoked for good; ask for a new one`);
  }

  /** True once its own time has passed. */
  isOver({ expiresAt }: KeyRecord): boolean {
    return expiresAt !== null && expiresAt <= this.#clock.wall();
  }
}
