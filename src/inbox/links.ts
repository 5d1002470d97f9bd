import { createHmac } from "node:crypto";
import type { Clock } from "../kernel/clock.ts";
import { Problem } from "../kernel/problems.ts";
import { sameBytes, type Vault } from "../kernel/secrets.ts";

/** A link to stored content holds for one hour (contract, section 4). */
export const LINK_MS = 3_600_000;

/** Signs links to content that lies apart, so that whoever got the link needs no key; the signature is in the query. */
export class Links {
  readonly #key: Uint8Array;
  readonly #clock: Clock;

  constructor(vault: Vault, clock: Clock) {
    this.#key = vault.keyFor("links");
    this.#clock = clock;
  }

  /** The query of a fresh link to `path`. */
  sign(path: string): string {
    const expires = Math.floor((this.#clock.wall() + LINK_MS) / 1000);
    return `expires=${expires}&signature=${this.#mac(path, expires).toString("base64url")}`;
  }

  /** Undefined where the link to `path` holds; otherwise `LINK_INVALID`. */
  refusal(path: string, query: Pick<URLSearchParams, "get">): Problem | undefined {
    const expires = query.get("expires") ?? "";
    const given = Buffer.from(query.get("signature") ?? "", "base64url");
    const genuine = /^[1-9]\d{0,11}$/.test(expires) && sameBytes(given, this.#mac(path, Number(expires)));
    if (!genuine)
      return new Problem("LINK_INVALID", "the link's signature does not fit; get the event again for a fresh one");
    if (Number(expires) * 1000 > this.#clock.wall()) return undefined;
    return new Problem("LINK_INVALID", "the link has run out; get the event again for a fresh one");
  }

  #mac(path: string, expires: number): Buffer {
    return createHmac("sha256", this.#key).update(`${path}\n${expires}`).digest();
  }
}
