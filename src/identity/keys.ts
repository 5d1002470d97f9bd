import { type Clock, rfc3339 } from "../kernel/clock.ts";
import { type Id, newId } from "../kernel/ids.ts";
import { invalid, isProblem, Problem } from "../kernel/problems.ts";
import {
  type KeyKind,
  PRESETS,
  type Preset,
  presetScopes,
  SCOPES,
  type Scope,
  scopesOfKind,
} from "../kernel/scopes.ts";
import { randomToken, sha256Of } from "../kernel/secrets.ts";
import type { KeyStore } from "../store/store.ts";
import type { KeyRecord, Remember } from "../store/types.ts";
import { type Actor, holderOf, isPerson } from "./actor.ts";

/** What a key is right now: its stored state, or that its time is over. */
export type LiveState = KeyRecord["state"] | "expired";

const TOKEN_KINDS: Readonly<Record<KeyKind, string>> = { management: "mgmt", application: "app", intake: "intake" };
const TOKEN = /^pst_(?:mgmt|app|intake)_[A-Za-z0-9_-]{27,64}$/;

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

/**
 * The API keys: made, looked up by token, and moved between their states. All are held in memory, written through the store.
 * Tokens are stored as SHA-256: they are random, so a slow hash would protect nothing more.
 */
export class Keys {
  readonly #store: KeyStore;
  readonly #clock: Clock;
  readonly #byId = new Map<string, KeyRecord>();
  readonly #byHash = new Map<string, KeyRecord>();
  readonly #lost: ((key: KeyRecord) => void)[] = [];
  readonly #expiries = new Map<string, () => void>();

  constructor(store: KeyStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  async load(): Promise<void> {
    this.#byId.clear();
    this.#byHash.clear();
    for (const key of await this.#store.list()) this.#keep(key);
  }

  #keep(key: KeyRecord): void {
    this.#byId.set(key.id, key);
    this.#byHash.set(Buffer.from(key.hash).toString("base64"), key);
    this.#watchExpiry(key);
  }

  /** A key that runs out loses its leases and waits at that moment. Expiry is wall time, so the timer looks again. */
  #watchExpiry(key: KeyRecord): void {
    this.#expiries.get(key.id)?.();
    this.#expiries.delete(key.id);
    if (key.expiresAt === null || key.state !== "active") return;
    const cancel = this.#clock.after(key.expiresAt - this.#clock.wall(), () => {
      if (this.stateOf(key) === "expired") this.#tellLost(key);
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
    if (!TOKEN.test(token)) return undefined;
    return this.#byHash.get(Buffer.from(sha256Of(token)).toString("base64"));
  }

  stateOf(key: KeyRecord): LiveState {
    const expired = key.expiresAt !== null && key.expiresAt <= this.#clock.wall();
    return key.state === "active" && expired ? "expired" : key.state;
  }

  /** Undefined where the key may act; otherwise why not. A key is never more alive than the key that made it. */
  refusal(key: KeyRecord): Problem | undefined {
    const state = this.stateOf(key);
    const at = key.expiresAt === null ? "" : ` at ${rfc3339(key.expiresAt)}`;
    if (state === "frozen")
      return new Problem("KEY_FROZEN", "this key is frozen; a person or another management key thaws it");
    if (state === "contained") return new Problem("KEY_CONTAINED", "this key is locked down; only a person lifts that");
    if (state === "revoked") return new Problem("KEY_REVOKED", "this key was revoked for good; ask for a new one");
    if (state === "expired") return new Problem("KEY_EXPIRED", `this key ran out${at}; ask for a new one`);
    const creator = this.#byId.get(key.creator);
    return creator && this.refusal(creator);
  }

  list(project: Id<"prj">): KeyRecord[] {
    return [...this.#byId.values()].filter((key) => key.project === project && !key.hidden).sort(byId);
  }

  get(project: Id<"prj">, id: Id<"key">): KeyRecord | undefined {
    const key = this.#byId.get(id);
    return key && key.project === project && !key.hidden ? key : undefined;
  }

  /** Makes a key; the token is in this answer only. */
  async create(
    actor: Actor,
    wanted: NewKey,
    remember?: (token: string) => Remember<KeyRecord> | undefined,
  ): Promise<{ key: KeyRecord; token: string } | Problem> {
    const scopes = this.#scopes(wanted);
    const refused = isProblem(scopes) ? scopes : this.#mayCreate(actor, wanted, scopes);
    if (refused) return refused;
    const token = `pst_${TOKEN_KINDS[wanted.kind]}_${randomToken(SECRET_BYTES)}`;
    const now = this.#clock.wall();
    const record: KeyRecord = {
      id: newId("key", now),
      project: wanted.project,
      name: wanted.name,
      kind: wanted.kind,
      scopes: isProblem(scopes) ? [] : scopes,
      hash: sha256Of(token),
      state: "active",
      expiresAt: wanted.expiresAt ?? null,
      createdAt: now,
      creator: holderOf(actor),
      hidden: false,
    };
    const created = await this.#store.create(record, remember?.(token));
    if (isProblem(created)) return created;
    this.#keep(created);
    return { key: created, token };
  }

  #scopes({ kind, scopes, preset }: NewKey): Scope[] | Problem {
    if ((scopes === undefined) === (preset === undefined)) {
      return invalid("scopes", `give exactly one of \`scopes\` and \`preset\` (${PRESETS.join(", ")})`);
    }
    const wanted = preset ? presetScopes(preset, kind) : [...new Set(scopes)];
    if (wanted.length === 0) return invalid(preset ? "preset" : "scopes", `a key of kind ${kind} would hold no scope`);
    const wrong = wanted.find((scope) => !scopesOfKind(kind).includes(scope));
    if (wrong)
      return invalid(
        "scopes",
        `a key of kind ${kind} cannot hold ${wrong} (kinds that can: ${SCOPES[wrong].kinds.join(", ")})`,
      );
    return wanted;
  }

  #mayCreate(actor: Actor, wanted: NewKey, scopes: readonly Scope[] | Problem): Problem | undefined {
    if (wanted.expiresAt !== undefined && wanted.expiresAt <= this.#clock.wall()) {
      return invalid("expires_at", "lies in the past");
    }
    if (isPerson(actor) || actor.kind !== "key" || isProblem(scopes)) return undefined;
    if (wanted.kind === "management") {
      return new Problem(
        "NOT_ALLOWED",
        "only a person or the operator makes management keys: `postern keys create --kind management`",
      );
    }
    return this.#widerThan(actor.key, scopes, wanted.expiresAt ?? null);
  }

  /** A key made or changed by a key is never wider than it, and never lives longer. */
  #widerThan(maker: KeyRecord, scopes: readonly Scope[], expiresAt: number | null): Problem | undefined {
    const missing = scopes.find((scope) => !maker.scopes.includes(scope));
    if (missing) {
      return new Problem("SCOPE_MISSING", `a key cannot give ${missing}, which it does not hold`, {
        extra: { scope: missing },
      });
    }
    if (maker.expiresAt !== null && (expiresAt === null || expiresAt > maker.expiresAt)) {
      return invalid("expires_at", `cannot be later than the creating key's own, ${rfc3339(maker.expiresAt)}`);
    }
    return undefined;
  }

  /** Changes a key's name, scopes or expiry. */
  async update(
    actor: Actor,
    key: KeyRecord,
    change: { name?: string | undefined; scopes?: readonly Scope[] | undefined; expiresAt?: number | null | undefined },
  ): Promise<KeyRecord | Problem> {
    const refused = this.#mayTouch(actor, key, "change");
    if (refused) return refused;
    const expiresAt = change.expiresAt === undefined ? key.expiresAt : change.expiresAt;
    const scopes = change.scopes ? this.#scopes({ ...key, scopes: change.scopes, expiresAt: undefined }) : key.scopes;
    if (isProblem(scopes)) return scopes;
    const wider = actor.kind === "key" ? this.#widerThan(actor.key, scopes, expiresAt) : undefined;
    return wider ?? this.#write(key, { name: change.name ?? key.name, scopes, expiresAt });
  }

  /** Moves a key to another state, as far as who asks may. */
  async move(actor: Actor, key: KeyRecord, to: KeyMove): Promise<KeyRecord | Problem> {
    const refused = this.#mayTouch(actor, key, to);
    if (refused) return refused;
    if (to === "lift" && !isPerson(actor)) {
      return new Problem("NOT_ALLOWED", "only a person lifts a containment: `postern keys lift ID` by the operator");
    }
    const [from, state] = MOVES[to];
    if (key.state === state) return key;
    if (!from.includes(key.state)) {
      return new Problem("STATE_CONFLICT", `a ${key.state} key cannot be ${PARTICIPLE[to]}`);
    }
    return this.#write(key, { state });
  }

  /** Revokes a key and takes it out of every list. */
  async hide(actor: Actor, key: KeyRecord): Promise<KeyRecord | Problem> {
    return this.#mayTouch(actor, key, "delete") ?? this.#write(key, { state: "revoked", hidden: true });
  }

  /** A key edits, thaws or lifts neither itself nor one that holds more than it does. */
  #mayTouch(actor: Actor, key: KeyRecord, what: string): Problem | undefined {
    if (actor.kind !== "key") return undefined;
    if (actor.key.id === key.id && ["change", "thaw", "lift"].includes(what)) {
      return new Problem("NOT_ALLOWED", `a key cannot ${what} itself`);
    }
    const only = what === "change" ? this.#widerThan(actor.key, key.scopes, key.expiresAt) : undefined;
    return only && new Problem("NOT_ALLOWED", "a key cannot change one that is wider or lives longer than itself");
  }

  async #write(key: KeyRecord, change: Parameters<KeyStore["update"]>[1]): Promise<KeyRecord | Problem> {
    const next = await this.#store.update(key.id, change);
    if (isProblem(next)) return next;
    this.#keep(next);
    if (key.state === "active" && next.state !== "active") this.#tellLost(next);
    return next;
  }

  /** Tells of the key and of every key it made, which lost its life with it. */
  #tellLost(key: KeyRecord): void {
    for (const listener of this.#lost) listener(key);
    for (const child of this.#byId.values()) if (child.creator === key.id) this.#tellLost(child);
  }
}

export type KeyMove = "freeze" | "thaw" | "contain" | "lift" | "revoke";

const MOVES: Readonly<Record<KeyMove, [from: readonly KeyRecord["state"][], to: KeyRecord["state"]]>> = {
  freeze: [["active"], "frozen"],
  thaw: [["frozen"], "active"],
  contain: [["active", "frozen"], "contained"],
  lift: [["contained"], "active"],
  revoke: [["active", "frozen", "contained"], "revoked"],
};

const PARTICIPLE: Readonly<Record<KeyMove, string>> = {
  freeze: "frozen",
  thaw: "thawed",
  contain: "contained",
  lift: "lifted",
  revoke: "revoked",
};

function byId(a: { id: string }, b: { id: string }): number {
  return a.id < b.id ? -1 : 1;
}
