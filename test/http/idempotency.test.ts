import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Idempotency } from "../../src/http/idempotency.ts";
import type { Actor } from "../../src/identity/index.ts";
import { isProblem, Problem } from "../../src/kernel/problems.ts";
import { openSqliteStore } from "../../src/store/sqlite/sqlite-store.ts";
import type { Store } from "../../src/store/store.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { tempDir } from "../support/tmp.ts";

const DAY_MS = 86_400_000;

describe("an Idempotency-Key and answers that did not create", () => {
  let store: Store;
  let clock: FakeClock;
  let idempotency: Idempotency;
  const operator: Actor = { kind: "operator" };

  beforeAll(async () => {
    store = await openSqliteStore({
      dataDir: tempDir("idempotency"),
      clock: (lastGate) => {
        clock = new FakeClock(lastGate);
        return clock;
      },
    });
    idempotency = new Idempotency(store);
  });

  afterAll(async () => {
    await store.close();
  });

  const call = (key: string, body = "{}") => ({
    key,
    actor: operator,
    project: "prj_x",
    method: "POST",
    path: "/v1/things",
    body: new TextEncoder().encode(body),
    hasSecret: false,
  });
  const refusing = (code: "STORAGE_UNAVAILABLE" | "NAME_TAKEN", detail: string) => async () =>
    new Problem(code, detail);
  const status = (answer: Response | Problem) => answer.status;
  const detail = async (answer: Response | Problem) =>
    isProblem(answer) ? answer.detail : ((await answer.json()) as { detail: string }).detail;

  test("a 5xx is not remembered: the next try runs", async () => {
    expect(status(await idempotency.once(call("a"), refusing("STORAGE_UNAVAILABLE", "full")))).toBe(503);
    const next = await idempotency.once(call("a"), refusing("NAME_TAKEN", "ran"));
    expect([status(next), await detail(next)]).toEqual([409, "ran"]);
  });

  test("a refusal is, with its status, for 24 hours", async () => {
    await idempotency.once(call("b"), refusing("NAME_TAKEN", "first"));
    await clock.advance(DAY_MS - 1000);
    const again = await idempotency.once(call("b"), refusing("NAME_TAKEN", "second"));
    expect([status(again), await detail(again)]).toEqual([409, "first"]);
    await clock.advance(2000);
    expect(await detail(await idempotency.once(call("b"), refusing("NAME_TAKEN", "third")))).toBe("third");
  });

  test("while the first still runs, its key answers so; what threw frees it", async () => {
    const { promise, reject } = Promise.withResolvers<Problem>();
    const first = idempotency.once(call("c"), () => promise);
    const during = await idempotency.once(call("c", "other"), refusing("NAME_TAKEN", "never"));
    expect(during).toMatchObject({ code: "IDEMPOTENCY_IN_PROGRESS" });
    reject(new Error("a bug"));
    await expect(first).rejects.toThrow("a bug");
    expect(await detail(await idempotency.once(call("c"), refusing("NAME_TAKEN", "ran")))).toBe("ran");
    const other = await idempotency.once(call("c", "other"), refusing("NAME_TAKEN", "never"));
    expect(other).toMatchObject({ code: "IDEMPOTENCY_MISMATCH" });
  });
});
