import type { Clock } from "../kernel/clock.ts";
import { type Id, newId } from "../kernel/ids.ts";
import { invalid, isProblem, Problem } from "../kernel/problems.ts";
import { randomToken, sha256Of, type Vault } from "../kernel/secrets.ts";
import { didYouMean } from "../kernel/suggest.ts";
import { OWN_SOURCE } from "../kernel/trust.ts";
import { Turns } from "../kernel/turns.ts";
import type { SourceStore } from "../store/store.ts";
import type { Remember, SourceRecord } from "../store/types.ts";
import { providerFor, SOURCE_KINDS, schemeFor } from "./providers/index.ts";
import type { Provider } from "./providers/provider.ts";
import { RateLimiter } from "./rate-limit.ts";
import type { SignatureScheme } from "./signatures/scheme.ts";
import { rotated, type SourceSecret } from "./source-secrets.ts";
import { fieldsOf, type SourceFields, type SourceSettings, sourceSettings } from "./source-settings.ts";

/** A source as the door uses it: opened, with its scheme made once. */
export type Source = {
  readonly record: SourceRecord;
  readonly token: string;
  readonly provider: Provider;
  readonly scheme: SignatureScheme | null;
  readonly settings: SourceSettings;
  readonly secrets: readonly SourceSecret[];
  readonly limiter: RateLimiter | null;
};

export type NewSource = {
  project: Id<"prj">;
  name: string;
  channel: "webhook" | "email";
  kind: string;
  secret?: string | undefined;
  fields: SourceFields;
  managed: boolean;
};

/** 192 bits; the contract asks for at least 128. */
const TOKEN_BYTES = 24;

/** The sources, held open in memory and written through the store. Token and secrets are sealed at rest. */
export class Sources {
  readonly #store: SourceStore;
  readonly #clock: Clock;
  readonly #vault: Vault;
  readonly #turns = new Turns();
  readonly #byId = new Map<string, Source>();
  readonly #byToken = new Map<string, Source>();

  constructor(store: SourceStore, clock: Clock, vault: Vault) {
    this.#store = store;
    this.#clock = clock;
    this.#vault = vault;
  }

  async load(): Promise<void> {
    for (const record of await this.#store.list()) this.#keep(record);
  }

  /** The source of an ingest URL. The token is looked up by its hash, so the time taken tells nothing of it. */
  byToken(token: string): Source | undefined {
    return this.#byToken.get(hashKey(sha256Of(token)));
  }

  list(project: Id<"prj">): Source[] {
    return [...this.#byId.values()]
      .filter((source) => source.record.project === project)
      .sort((a, b) => (a.record.id < b.record.id ? -1 : 1));
  }

  get(project: Id<"prj">, id: Id<"src">): Source | undefined {
    const source = this.#byId.get(id);
    return source?.record.project === project ? source : undefined;
  }

  byName(project: Id<"prj">, name: string): Source | undefined {
    return this.list(project).find((source) => source.record.name === name);
  }

  /** Makes a source. `secret` in the answer is one that Postern made, shown this once. */
  async create(
    wanted: NewSource,
    remember?: (source: (record: SourceRecord) => Source) => Remember<SourceRecord> | undefined,
  ): Promise<{ source: Source; secret: string | null } | Problem> {
    const provider = this.#providerOf(wanted);
    if (isProblem(provider)) return provider;
    const settings = sourceSettings(wanted.kind, wanted.fields);
    if (isErrors(settings)) return refused(settings);
    const wrong = wanted.secret === undefined ? null : provider.secret.validate(wanted.secret);
    if (wrong) return refused([wrong]);
    const made = wanted.secret === undefined ? (provider.secret.generate?.() ?? null) : null;
    const secret = wanted.secret ?? made;
    const now = this.#clock.wall();
    const id = newId("src", now);
    const record = {
      id,
      project: wanted.project,
      name: wanted.name,
      channel: wanted.channel,
      kind: wanted.kind,
      settings: JSON.stringify(settings),
      ...this.#newToken(id),
      secretsSealed: this.#sealSecrets(id, secret === null ? [] : [{ secret, until: null }]),
      paused: false,
      managed: wanted.managed,
      createdAt: now,
    };
    const created = await this.#store.create(
      record,
      remember?.((stored) => this.#open(stored)),
    );
    if (isProblem(created)) return created;
    return { source: this.#keep(created), secret: made };
  }

  #providerOf({ name, channel, kind }: NewSource): Provider | Problem {
    if (name === OWN_SOURCE)
      return new Problem("SOURCE_NAME_RESERVED", `\`${OWN_SOURCE}\` is Postern's own: choose another name`);
    if (channel === "email" || kind === "email") {
      return invalid("channel", "email sources are not part of this version; channel `webhook` is");
    }
    const provider = providerFor(kind);
    if (provider) return provider;
    return invalid(
      "kind",
      `unknown kind \`${kind.slice(0, 64)}\`; there are ${SOURCE_KINDS.join(", ")}.${didYouMean(kind, SOURCE_KINDS)}`,
    );
  }

  /** Changes a source's name or settings; null takes a setting away. */
  async update(source: Source, change: { name?: string | undefined; fields: SourceFields }): Promise<Source | Problem> {
    if (change.name === OWN_SOURCE)
      return new Problem("SOURCE_NAME_RESERVED", `\`${OWN_SOURCE}\` is Postern's own: choose another name`);
    return this.#inTurn(source, async (now) => {
      const settings = sourceSettings(now.record.kind, { ...fieldsOf(now.settings), ...given(change.fields) });
      if (isErrors(settings)) return refused(settings);
      return this.#write(now, { name: change.name ?? now.record.name, settings: JSON.stringify(settings) });
    });
  }

  async setPaused(source: Source, paused: boolean): Promise<Source | Problem> {
    return this.#inTurn(source, async (now) => (now.record.paused === paused ? now : this.#write(now, { paused })));
  }

  /** Marks whether the configuration file declares the source. */
  async setManaged(source: Source, managed: boolean): Promise<Source | Problem> {
    return this.#inTurn(source, async (now) => (now.record.managed === managed ? now : this.#write(now, { managed })));
  }

  /** A new secret, given or made; the ones before stay valid for the grace time. */
  async rotateSecret(
    source: Source,
    options: { secret?: string | undefined; graceSeconds?: number | undefined },
  ): Promise<{ source: Source; secret: string | null } | Problem> {
    const { provider } = source;
    const wrong = options.secret === undefined ? null : provider.secret.validate(options.secret);
    if (wrong) return refused([wrong]);
    const made = options.secret === undefined ? (provider.secret.generate?.() ?? null) : null;
    const secret = options.secret ?? made;
    if (secret === null) {
      return invalid(
        "secret",
        provider.secret.origin === "none"
          ? "this kind of source has no secret"
          : `only ${provider.title} makes it: give the secret it shows`,
      );
    }
    const next = await this.#inTurn(source, async (now) => {
      const secrets = rotated(now.secrets, secret, this.#clock.wall(), options.graceSeconds);
      return this.#write(now, { secretsSealed: this.#sealSecrets(now.record.id, secrets) });
    });
    return isProblem(next) ? next : { source: next, secret: made };
  }

  /** A new ingest URL; the one before is unknown from now on. */
  async rotateUrl(source: Source): Promise<Source | Problem> {
    return this.#inTurn(source, async (now) => this.#write(now, this.#newToken(now.record.id)));
  }

  async delete(source: Source): Promise<Problem | undefined> {
    const gone = await this.#store.delete(source.record.id);
    if (isProblem(gone)) return gone;
    this.#drop(source);
    return undefined;
  }

  /** Forgets the sources of a project that is gone. */
  forget(project: Id<"prj">): void {
    for (const source of this.list(project)) this.#drop(source);
  }

  /** Works on the source as the changes before have left it, which may be later than when the caller looked it up. */
  async #inTurn(
    { record: { id } }: Source,
    work: (now: Source) => Promise<Source | Problem>,
  ): Promise<Source | Problem> {
    return this.#turns.take(id, async () => {
      const now = this.#byId.get(id);
      return now ? work(now) : new Problem("NOT_FOUND", `there is no source ${id} any more`);
    });
  }

  async #write(source: Source, change: Parameters<SourceStore["update"]>[1]): Promise<Source | Problem> {
    const next = await this.#store.update(source.record.id, change);
    if (isProblem(next)) return next;
    this.#drop(source);
    return this.#keep(next, source.limiter);
  }

  #drop(source: Source): void {
    this.#byId.delete(source.record.id);
    this.#byToken.delete(hashKey(source.record.tokenHash));
  }

  #keep(record: SourceRecord, limiter: RateLimiter | null = null): Source {
    const source = this.#open(record, limiter);
    this.#byId.set(record.id, source);
    this.#byToken.set(hashKey(record.tokenHash), source);
    return source;
  }

  #open(record: SourceRecord, limiter: RateLimiter | null = null): Source {
    const provider = providerFor(record.kind);
    const token = this.#vault.open(`token.${record.id}`, record.tokenSealed);
    const secrets = this.#vault.open(`secrets.${record.id}`, record.secretsSealed);
    if (!provider) throw new Error(`source ${record.id} is of kind ${record.kind}, which this version does not know`);
    if (token === undefined || secrets === undefined) {
      throw new Error(
        `the master key does not open the secrets of source ${record.id}: restore the master key of this data folder`,
      );
    }
    const settings = JSON.parse(record.settings) as SourceSettings;
    return {
      record,
      token,
      provider,
      scheme: schemeFor(provider, settings),
      settings,
      secrets: JSON.parse(secrets) as SourceSecret[],
      // A reload or a change of something else must not fill the bucket again.
      limiter: RateLimiter.carry(settings.rate_limit, limiter, this.#clock),
    };
  }

  #newToken(id: Id<"src">): { tokenHash: Uint8Array; tokenSealed: Uint8Array } {
    const token = randomToken(TOKEN_BYTES);
    return { tokenHash: sha256Of(token), tokenSealed: this.#vault.seal(`token.${id}`, token) };
  }

  #sealSecrets(id: Id<"src">, secrets: readonly SourceSecret[]): Uint8Array {
    return this.#vault.seal(`secrets.${id}`, JSON.stringify(secrets));
  }
}

function hashKey(hash: Uint8Array): string {
  return Buffer.from(hash).toString("base64");
}

function isErrors<T extends object>(
  value: T | readonly { path: string; message: string }[],
): value is readonly { path: string; message: string }[] {
  return Array.isArray(value);
}

function refused(errors: readonly { path: string; message: string }[]): Problem {
  const detail = errors.map(({ path, message }) => `${path}: ${message}`).join("; ");
  return new Problem("INVALID_REQUEST", detail, { errors });
}

function given(fields: SourceFields): SourceFields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
