import type { Clock } from "../kernel/clock.ts";
import { type Id, newId } from "../kernel/ids.ts";
import { invalid, isProblem, Problem } from "../kernel/problems.ts";
import type { KeyKind, Preset, Scope } from "../kernel/scopes.ts";
import { randomToken, sha256Of } from "../kernel/secrets.ts";
import { Turns } from "../kernel/turns.ts";
import type { KeyStore } from "../store/store.ts";
import type { KeyRecord, Remember } from "../store/types.ts";
import { type Actor, holderOf, isPerson } from "./actor.ts";
import { KeyRing, type LiveState } from "./key-ring.ts";
import { type KeyMove, MOVES, PARTICIPLE, wantedScopes, widerThan } from "./key-rules.ts";

const TOKEN_KINDS: Readonly<Record<KeyKind, string>> = { management: "mgmt", application: "app", intake: "intake" };

/** 192 random bits; the contract asks for at least 160. */
const SECRET_BYTES = 24;

export type NewKey = {
  project: Id<"prj">;
  name: string;
  kind: KeyKind;
  scopes?: readonly Scope[] | undefined;
  preset?: Preset | undefined;
  expiresAt?: number | undefined;
};

/** A key's end is wall time, which may step: whoever waits on one is told at most this long after the clock says so. */
const LOOK_AGAIN_MS = 60_000;

/** A key that loses one of these loses its waits, streams and leases with it, as if it had lost its life. */
const HOLDING: readonly Scope[] = ["inbox:read", "inbox:write"];

/**
 * The API keys: made, looked up by token, and moved between their states. All are held in memory, written through the store.
 * Tokens are stored as SHA-256: they are random, so a slow hash would protect nothing more.
 */
export class Keys {
  readonly #store: KeyStore;
  readonly #clock: Clock;
  readonly #ring: KeyRing;
  readonly #lost: ((key: KeyRecord) => void)[] = [];
  readonly #expiries = new Map<string, () => void>();
  readonly #turns = new Turns();

  constructor(store: KeyStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#ring = new KeyRing(clock);
  }

  /** Reads them; those that are there no more, with their project, have lost their life. */
  async load(): Promise<void> {
    const stored = await this.#store.list();
    const before = this.#ring.all();
    for (const cancel of this.#expiries.values()) cancel();
    this.#expiries.clear();
    this.#ring.clear();
    for (const key of stored) this.#keep(key);
    for (const key of before) if (!this.#ring.stored(key.id)) this.#tellLost(key);
  }

  /** Forgets the keys of a project that is gone. Those of others may be changing just now, so nothing is read again. */
  forget(project: Id<"prj">): void {
    for (const key of this.#ring.all()) {
      if (key.project !== project) continue;
      this.#expiries.get(key.id)?.();
      this.#expiries.delete(key.id);
      this.#ring.remove(key);
      this.#tellLost(key);
    }
  }

  #keep(key: KeyRecord): void {
    this.#ring.put(key);
    this.#watchExpiry(key);
  }

  /** A key that runs out loses its leases and waits at that moment. */
  #watchExpiry(key: KeyRecord): void {
    this.#expiries.get(key.id)?.();
    this.#expiries.delete(key.id);
    if (key.expiresAt === null || key.state !== "active") return;
    const left = key.expiresAt - this.#clock.wall();
    const cancel = this.#clock.after(Math.min(left, LOOK_AGAIN_MS), () => {
      if (this.#ring.isOver(key)) this.#tellLost(key);
      else this.#watchExpiry(key);
    });
    this.#expiries.set(key.id, cancel);
  }

  /** Called with each key that stops being active: its waits end and its leases are released. */
  onLost(listener: (key: KeyRecord) => void): void {
    this.#lost.push(listener);
  }

  /** The key of a token, whatever its state, a deleted one included; undefined for an unknown token. */
  byToken(token: string): KeyRecord | undefined {
    return this.#ring.byToken(token);
  }

  /** The state that counts: a key is never more alive than the key that made it. */
  stateOf(key: KeyRecord): LiveState {
    return this.#ring.stateOf(key);
  }

  /** Undefined where the key may act now; otherwise why not. */
  refusal(key: KeyRecord): Problem | undefined {
    return this.#ring.refusal(key);
  }

  list(project: Id<"prj">): KeyRecord[] {
    const all = this.#ring.all().filter((key) => key.project === project && !key.hidden);
    return all.sort(byId).map((key) => this.#ring.live(key));
  }

  get(project: Id<"prj">, id: Id<"key">): KeyRecord | undefined {
    const key = this.#ring.stored(id);
    return key && key.project === project && !key.hidden ? this.#ring.live(key) : undefined;
  }

  /** Makes a key; the token is in this answer only. */
  async create(
    actor: Actor,
    wanted: NewKey,
    remember?: (token: string) => Remember<KeyRecord> | undefined,
  ): Promise<{ key: KeyRecord; token: string } | Problem> {
    const { project, name, kind, expiresAt = null } = wanted;
    const scopes = kind === "management" && actor.kind === "key" ? onlyPersons() : wantedScopes(kind, wanted);
    if (isProblem(scopes)) return scopes;
    const refused = this.#mayCreate(actor, scopes, expiresAt);
    if (refused) return refused;
    const token = `pst_${TOKEN_KINDS[kind]}_${randomToken(SECRET_BYTES)}`;
    const now = this.#clock.wall();
    const record: KeyRecord = {
      ...{ id: newId("key", now), project, name, kind, scopes, hash: sha256Of(token) },
      ...{ state: "active", expiresAt, createdAt: now, creator: holderOf(actor), hidden: false },
    };
    const created = await this.#store.create(record, remember?.(token));
    if (isProblem(created)) return created;
    this.#keep(created);
    return { key: created, token };
  }

  #mayCreate(actor: Actor, scopes: readonly Scope[], expiresAt: number | null): Problem | undefined {
    if (expiresAt !== null && expiresAt <= this.#clock.wall()) return invalid("expires_at", "lies in the past");
    if (actor.kind !== "key") return undefined;
    return this.refusal(actor.key) ?? widerThan(this.#now(actor.key), scopes, expiresAt);
  }

  /** A key as it stands now, which may be later than when it was looked up. */
  #now(key: KeyRecord): KeyRecord {
    return this.#ring.live(this.#ring.stored(key.id) ?? key);
  }

  /** Changes a key's name, scopes or expiry. */
  async update(
    actor: Actor,
    { id }: { id: Id<"key"> },
    change: { name?: string | undefined; scopes?: readonly Scope[] | undefined; expiresAt?: number | null | undefined },
  ): Promise<KeyRecord | Problem> {
    return this.#turns.take(id, async () => {
      const key = this.#ring.stored(id);
      if (!key) return noSuchKey(id);
      const { name = key.name, expiresAt = key.expiresAt } = change;
      const scopes = change.scopes ? wantedScopes(key.kind, { scopes: change.scopes }) : key.scopes;
      if (isProblem(scopes)) return scopes;
      const next = { ...key, name, scopes, expiresAt };
      const refused = this.#mayTouch(actor, key, "change") ?? this.#mayBecome(actor, key, next);
      return refused ?? this.#write(key, { name, scopes, expiresAt });
    });
  }

  /** Neither who asks nor the key's own maker may be outdone. What stays as it was is not asked about again. */
  #mayBecome(actor: Actor, key: KeyRecord, { scopes, expiresAt }: KeyRecord): Problem | undefined {
    if (expiresAt !== key.expiresAt && expiresAt !== null && expiresAt <= this.#clock.wall()) {
      return invalid("expires_at", "lies in the past; `revoke` ends a key at once");
    }
    const wider = actor.kind === "key" ? widerThan(this.#now(actor.key), scopes, expiresAt) : undefined;
    const maker = this.#ring.makerOf(key);
    if (wider || !maker) return wider;
    const added = scopes.filter((scope) => !key.scopes.includes(scope));
    const end = expiresAt === key.expiresAt ? maker.expiresAt : expiresAt;
    return widerThan(maker, added, end, `its maker ${maker.id}`);
  }

  /** Moves a key to another state, as far as who asks may. */
  async move(actor: Actor, { id }: { id: Id<"key"> }, to: KeyMove): Promise<KeyRecord | Problem> {
    return this.#turns.take(id, async () => {
      const key = this.#ring.stored(id);
      if (!key) return noSuchKey(id);
      const refused = this.#mayTouch(actor, key, to);
      if (refused) return refused;
      if (to === "lift" && !isPerson(actor)) {
        return new Problem("NOT_ALLOWED", "only a person lifts a containment: `postern keys lift ID` by the operator");
      }
      const [from, state] = MOVES[to];
      if (key.state === state) return this.#ring.live(key);
      if (from.includes(key.state)) return this.#write(key, { state });
      return new Problem("STATE_CONFLICT", `a ${key.state} key cannot be ${PARTICIPLE[to]}`);
    });
  }

  /** Revokes a key and takes it out of every list. */
  async hide(actor: Actor, { id }: { id: Id<"key"> }): Promise<KeyRecord | Problem> {
    return this.#turns.take(id, async () => {
      const key = this.#ring.stored(id);
      if (!key || key.hidden) return noSuchKey(id);
      return this.#mayTouch(actor, key, "delete") ?? this.#write(key, { state: "revoked", hidden: true });
    });
  }

  /** A key edits, thaws or lifts never itself, edits none that holds more than it does, and does nothing unless it is active. */
  #mayTouch(actor: Actor, key: KeyRecord, what: KeyMove | "change" | "delete"): Problem | undefined {
    if (actor.kind !== "key") return undefined;
    if (actor.key.id === key.id && (what === "change" || what === "thaw" || what === "lift")) {
      return new Problem("NOT_ALLOWED", `a key cannot ${what} itself`);
    }
    const refused = this.refusal(actor.key);
    if (refused || what !== "change") return refused;
    const live = this.#ring.live(key);
    if (!widerThan(this.#now(actor.key), live.scopes, live.expiresAt)) return undefined;
    return new Problem("NOT_ALLOWED", "a key cannot change one that is wider or lives longer than itself");
  }

  async #write(key: KeyRecord, change: Parameters<KeyStore["update"]>[1]): Promise<KeyRecord | Problem> {
    const next = await this.#store.update(key.id, change);
    if (isProblem(next)) return next;
    this.#keep(next);
    const narrowed = HOLDING.some((scope) => key.scopes.includes(scope) && !next.scopes.includes(scope));
    if ((key.state === "active" && next.state !== "active") || narrowed) this.#tellLost(next);
    return this.#ring.live(next);
  }

  /** Tells of the key and of every key it made, which lost its life with it. */
  #tellLost(key: KeyRecord): void {
    for (const listener of this.#lost) listener(key);
    for (const child of this.#ring.all()) if (child.creator === key.id) this.#tellLost(child);
  }
}

function onlyPersons(): Problem {
  return new Problem(
    "NOT_ALLOWED",
    "only a person or the operator makes management keys: `postern keys create --kind management`",
  );
}

function noSuchKey(id: string): Problem {
  return new Problem("NOT_FOUND", `there is no key ${id} in this project`);
}

function byId(a: { id: string }, b: { id: string }): number {
  return a.id < b.id ? -1 : 1;
}
