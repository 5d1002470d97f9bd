import { type Actor, holderOf } from "../identity/index.ts";
import { invalid, isProblem, Problem } from "../kernel/problems.ts";
import { sameBytes, sha256Of } from "../kernel/secrets.ts";
import type { Services } from "../operations/index.ts";
import { jsonText, problemAnswer } from "./exchange.ts";

export type Slot = { slot: Uint8Array; bodyHash: Uint8Array };

/** Idempotency keys of creations (contract, section 1): the first answer again, unless it was a 5xx. */
export class Idempotency {
  readonly #store: Services["store"];
  readonly #running = new Map<string, true>();

  constructor(store: Services["store"]) {
    this.#store = store;
  }

  /** Runs a creation once for its key; without a key it just runs. `hasSecret`: the first answer showed one. */
  async once(
    call: {
      key: string | null;
      actor: Actor;
      project: string;
      method: string;
      path: string;
      body: Uint8Array;
      hasSecret: boolean;
    },
    run: (slot: Slot | undefined) => Promise<Response | Problem>,
  ): Promise<Response | Problem> {
    if (call.key === null) return run(undefined);
    if (!/^[\x21-\x7e]{1,255}$/.test(call.key))
      return invalid("Idempotency-Key", "must be 1 to 255 printable characters");
    const slot = sha256Of(JSON.stringify([holderOf(call.actor), call.project, call.method, call.path, call.key]));
    const bodyHash = sha256Of(call.body);
    const name = Buffer.from(slot).toString("base64");
    if (this.#running.has(name)) return new Problem("IDEMPOTENCY_IN_PROGRESS", "wait for its answer, then ask again");
    this.#running.set(name, true);
    try {
      const known = await this.#store.remembered(slot);
      if (known && !sameBytes(known.bodyHash, bodyHash)) {
        return new Problem("IDEMPOTENCY_MISMATCH", "use a new key for another request");
      }
      if (known) return again(known.answer, call.hasSecret);
      const answer = await run({ slot, bodyHash });
      if (isProblem(answer) && answer.status < 500) {
        await this.#store.rememberAnswer(slot, bodyHash, JSON.stringify([answer.status, answer, answer.code]));
      }
      return answer;
    } finally {
      this.#running.delete(name);
    }
  }
}

/** The first answer: `[201,{…}]`, or a refusal with its problem document. */
function again(answer: string, hasSecret: boolean): Response {
  const [status, body] = JSON.parse(answer) as [number, Record<string, unknown>];
  if (status === 201) return jsonText(201, JSON.stringify(hasSecret ? { ...body, secret_shown: true } : body));
  const response = problemAnswer(new Problem("INTERNAL", ""));
  return new Response(JSON.stringify(body), { status, headers: response.headers });
}
