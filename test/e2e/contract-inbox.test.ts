import { beforeAll, expect, test } from "bun:test";
import { describeWith, needsBinary } from "../support/needs.ts";
import { type Bed, type ClaimShown, type KeyMade, makeBed, refused, type Shown, type SourceMade } from "./bed.ts";

describeWith(needsBinary())("claiming and settling (contract, section 5)", () => {
  let bed: Bed;
  let source: SourceMade;
  let one: KeyMade;
  let two: KeyMade;

  beforeAll(async () => {
    bed = await makeBed();
    source = await bed.source({ name: "inbox", dedup: "none" });
    one = await bed.key();
    two = await bed.key();
  });

  const act = (id: string, verb: string, body: Record<string, unknown> = {}, key = one.key) =>
    bed.post(`/v1/events/${id}/${verb}`, body, key);
  const inSeconds = (time: string | null | undefined) => (Date.parse(time ?? "") - Date.now()) / 1000;
  const near = (time: string | null | undefined, seconds: number) => {
    expect(inSeconds(time)).toBeGreaterThan(seconds - 5);
    expect(inSeconds(time)).toBeLessThanOrEqual(seconds + 0.1);
  };

  test("what stands in the query of a POST is refused, not passed over", async () => {
    const answer = await bed.post("/v1/inbox/claim?max=5", {}, one.key);
    refused(answer, 422, "INVALID_REQUEST");
    expect(answer.text).toContain("max: is not read from the query here");
  });

  test("a claim gives the whole event and a lease: 300 s by default, 30 to 3,600", async () => {
    const id = await bed.event(source, `{"t":"${"x".repeat(9000)}"}`);
    const claim = await bed.claim(id, one.key);
    expect(claim.event).toMatchObject({ status: "claimed", attempts: 0, payload_truncated: false });
    near(claim.lease.expires_at, 300);
    for (const lease_seconds of [29, 3601, 0, -1, 30.5, "60"]) {
      refused(await act(id, "claim", { lease_seconds }), 422, "INVALID_REQUEST");
      refused(await act(id, "extend", { lease_seconds }), 422, "INVALID_REQUEST");
      refused(await bed.post("/v1/inbox/claim", { lease_seconds }, one.key), 422, "INVALID_REQUEST");
    }
    refused(await act(id, "extend"), 422, "INVALID_REQUEST");
    for (const seconds of [30, 3600]) {
      const extended = await act(id, "extend", { lease_seconds: seconds, lease: claim.lease.id });
      near(extended.json<ClaimShown>().lease.expires_at, seconds);
      expect(extended.json<ClaimShown>().lease.id).toBe(claim.lease.id);
    }
  });

  test("while a lease holds nobody can claim the event, its holder included", async () => {
    const id = await bed.event(source);
    const claim = await bed.claim(id, one.key);
    for (const key of [one.key, two.key]) {
      const problem = refused(await act(id, "claim", {}, key), 409, "EVENT_NOT_CLAIMABLE");
      expect(problem.event_status).toBe("claimed");
    }
    const shown = await bed.whole(id);
    expect(shown.lease).toMatchObject({ id: claim.lease.id, held_by: one.id });
    const { details } = (await bed.get("/v1/inbox?status=claimed&limit=100")).json<{
      details: Record<string, { lease_expires_at?: string }>;
    }>();
    expect(details[id]).toEqual({ lease_expires_at: claim.lease.expires_at });
  });

  test("done, dead, failed and released for later cannot be claimed either", async () => {
    const settled: [string, Record<string, unknown>, string][] = [
      ["ack", {}, "done"],
      ["nack", { retry: false }, "dead"],
      ["nack", {}, "failed"],
      ["release", { delay_seconds: 3600 }, "pending"],
    ];
    for (const [verb, body, status] of settled) {
      const id = await bed.event(source);
      await bed.claim(id, one.key);
      expect((await act(id, verb, body)).json<{ event: Shown }>().event.status).toBe(status);
      refused(await act(id, "claim", {}, two.key), 409, "EVENT_NOT_CLAIMABLE");
    }
  });

  test("ten claim one event at once: one gets it", async () => {
    const id = await bed.event(source);
    const answers = await Promise.all(Array.from({ length: 10 }, () => act(id, "claim")));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 200)) refused(answer, 409, "EVENT_NOT_CLAIMABLE");
  });

  test("claim next: oldest first, up to max, by filter, each event once for many at a time", async () => {
    const other = await bed.source({ name: "batch", dedup: "none", type_from: { header: "x-type" } });
    const ids: string[] = [];
    for (let n = 0; n < 20; n++) ids.push(await bed.event(other, { n }, { "x-type": n % 2 ? "odd.one" : "even.one" }));
    const next = async (body: Record<string, unknown>, key = one.key) =>
      (await bed.post("/v1/inbox/claim", { source: "batch", ...body }, key)).json<{ claims: ClaimShown[] }>().claims;
    const [first] = await next({});
    expect(first?.event.id).toBe(ids[0] ?? "");
    const odd = await next({ type: "odd.*", max: 3, lease_seconds: 30 });
    expect(odd.map(({ event }) => event.id)).toEqual([1, 3, 5].map((n) => ids[n] ?? ""));
    near(odd[0]?.lease.expires_at, 30);
    expect(await next({ type: "never.*" })).toEqual([]);
    expect(await next({ verified: true })).toEqual([]);
    const crowd = await Promise.all(Array.from({ length: 8 }, (_, n) => next({ max: 4 }, n % 2 ? one.key : two.key)));
    const taken = crowd.flat().map(({ event }) => event.id);
    expect(taken.length).toBe(16);
    expect(new Set(taken).size).toBe(16);
    for (const max of [0, 101, 1.5])
      refused(await bed.post("/v1/inbox/claim", { max }, one.key), 422, "INVALID_REQUEST");
  });

  test("ack: done, its result in the history; over 4,096 bytes of it 422", async () => {
    const id = await bed.event(source);
    await bed.claim(id, one.key);
    const fits = "x".repeat(4094);
    refused(await act(id, "ack", { result: `${fits}x` }), 422, "RESULT_TOO_LARGE");
    refused(await act(id, "ack", { result: "é".repeat(2048) }), 422, "RESULT_TOO_LARGE");
    expect((await act(id, "ack", { result: fits })).json()).toMatchObject({ event: { status: "done", attempts: 0 } });
    const { history } = await bed.whole(id);
    expect(history.map(({ kind }) => kind)).toEqual(["received", "claimed", "acked"]);
    expect(history.at(-1)).toMatchObject({ result: fits, by: one.id });
    for (const result of [null, 0, [1, { a: null }], { deep: { er: true } }]) {
      const next = await bed.event(source);
      await bed.claim(next, one.key);
      await act(next, "ack", { result });
      expect((await bed.whole(next)).history.at(-1)?.result).toEqual(result);
    }
    const deep = await bed.event(source);
    await bed.claim(deep, one.key);
    const nested = `{"result":${"[".repeat(2000)}${"]".repeat(2000)}}`;
    expect((await bed.post(`/v1/events/${deep}/ack`, nested, one.key)).status).toBeOneOf([200, 422]);
  });

  test("nack: failed with the time of the next try and its reason; retry false is dead", async () => {
    const id = await bed.event(source);
    await bed.claim(id, one.key);
    const nacked = (await act(id, "nack", { reason: "the mill was shut" })).json<{ event: Shown; retry_at: string }>();
    expect(nacked.event).toMatchObject({ status: "failed", attempts: 1 });
    near(nacked.retry_at, 30);
    const shown = await bed.whole(id);
    expect([shown.retry_at, shown.lease]).toEqual([nacked.retry_at, null]);
    expect(shown.history.at(-1)).toMatchObject({ kind: "nacked", reason: "the mill was shut" });
    const { details } = (await bed.get("/v1/inbox?status=failed&limit=100")).json<{
      details: Record<string, { retry_at?: string }>;
    }>();
    expect(details[id]).toEqual({ retry_at: nacked.retry_at });
    const dead = await bed.event(source);
    await bed.claim(dead, one.key);
    expect((await act(dead, "nack", { retry: false })).json()).toMatchObject({
      event: { status: "dead", attempts: 1 },
      retry_at: null,
    });
  });

  test("release: back at once and uncounted, or after a delay; the 21st is refused until a requeue", async () => {
    const id = await bed.event(source);
    for (let n = 0; n < 20; n++) {
      const { lease } = await bed.claim(id, one.key);
      const released = (await act(id, "release", { lease: lease.id })).json<{ event: Shown }>();
      expect(released.event).toMatchObject({ status: "pending", attempts: 0 });
    }
    const { lease } = await bed.claim(id, one.key);
    refused(await act(id, "release", { lease: lease.id }), 409, "RELEASE_LIMIT");
    expect((await bed.whole(id)).lease?.id).toBe(lease.id);
    await act(id, "ack", { lease: lease.id });
    await bed.post(`/v1/events/${id}/requeue`);
    const again = await bed.claim(id, one.key);
    expect((await act(id, "release", { lease: again.lease.id })).status).toBe(200);
    const later = await bed.event(source);
    await bed.claim(later, one.key);
    const delayed = (await act(later, "release", { delay_seconds: 600 })).json<{ event: Shown; retry_at: string }>();
    expect(delayed.event).toMatchObject({ status: "pending", attempts: 0 });
    near(delayed.retry_at, 600);
    for (const delay_seconds of [-1, 3601, 0.5]) {
      refused(await act(later, "release", { delay_seconds }), 422, "INVALID_REQUEST");
    }
  });

  test("settling takes the lease: no other key's, no other event's, no older one's", async () => {
    const id = await bed.event(source);
    for (const verb of ["ack", "nack", "release"]) {
      const problem = refused(await act(id, verb), 409, "LEASE_NOT_HELD");
      expect(problem.event_status).toBe("pending");
    }
    refused(await act(id, "extend", { lease_seconds: 60 }), 409, "LEASE_NOT_HELD");
    const first = await bed.claim(id, one.key);
    for (const body of [{}, { lease: first.lease.id }]) {
      for (const verb of ["ack", "nack", "release"]) {
        expect(refused(await act(id, verb, body, two.key), 409, "LEASE_NOT_HELD").event_status).toBe("claimed");
      }
    }
    const other = await bed.event(source);
    const otherClaim = await bed.claim(other, one.key);
    refused(await act(id, "ack", { lease: otherClaim.lease.id }), 409, "LEASE_NOT_HELD");
    await act(id, "release", { lease: first.lease.id });
    const second = await bed.claim(id, one.key);
    refused(await act(id, "ack"), 409, "LEASE_REQUIRED");
    refused(await act(id, "ack", { lease: first.lease.id }), 409, "LEASE_NOT_HELD");
    expect((await act(id, "ack", { lease: second.lease.id })).status).toBe(200);
    refused(await act(id, "ack", { lease: "lse_nonsense" }), 422, "INVALID_REQUEST");
  });

  test("the same settle again gets the same answer, another one is refused", async () => {
    for (const [verb, body] of [
      ["ack", { result: { n: 1 } }],
      ["nack", { reason: "r" }],
      ["nack", { retry: false }],
      ["release", { delay_seconds: 60 }],
    ] as const) {
      const id = await bed.event(source);
      const { lease } = await bed.claim(id, one.key);
      const first = await act(id, verb, { ...body, lease: lease.id });
      const again = await act(id, verb, { ...body, lease: lease.id });
      const bare = await act(id, verb, body);
      expect([again.status, again.text, bare.text]).toEqual([200, first.text, first.text]);
      const different = verb === "ack" ? "nack" : "ack";
      refused(await act(id, different, { lease: lease.id }), 409, "LEASE_NOT_HELD");
      const kinds = (await bed.whole(id)).history.map(({ kind }) => kind);
      expect(kinds).toHaveLength(3);
    }
  });

  test("settle: up to 100 in their order, one that fails fails alone", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 4; n++) ids.push(await bed.event(source));
    const [a = "", b = "", c = "", d = ""] = ids;
    for (const id of [a, b, c]) await bed.claim(id, one.key);
    const items = [
      { id: a, action: "ack", result: 1 },
      { id: "nonsense", action: "ack" },
      { id: b, action: "nack", reason: "no", retry: false },
      { id: d, action: "ack" },
      { id: c, action: "release" },
      { id: a, action: "ack", result: 1 },
    ];
    type Result = { id: string; event?: Shown; code?: string; detail?: string };
    const { results } = (await bed.post("/v1/inbox/settle", { items }, one.key)).json<{ results: Result[] }>();
    expect(results.map(({ id }) => id)).toEqual(items.map(({ id }) => id));
    expect(results.map(({ event, code }) => event?.status ?? code)).toEqual([
      "done",
      "NOT_FOUND",
      "dead",
      "LEASE_NOT_HELD",
      "pending",
      "done",
    ]);
    for (const wrong of [
      [],
      Array.from({ length: 101 }, () => ({ id: a, action: "ack" })),
      [{ id: a, action: "eat" }],
      [{ id: a }],
      [{ id: a, action: "ack", delay_seconds: 1 }],
      [{ action: "ack" }],
    ]) {
      refused(await bed.post("/v1/inbox/settle", { items: wrong }, one.key), 422, "INVALID_REQUEST");
    }
  });

  test("requeue: dead, done and failed come back with no attempts; what is pending or held does not", async () => {
    const operator = await bed.key({ preset: "operator" });
    for (const [verb, body] of [
      ["ack", {}],
      ["nack", {}],
      ["nack", { retry: false }],
    ] as const) {
      const id = await bed.event(source);
      await bed.claim(id, one.key);
      refused(await bed.post(`/v1/events/${id}/requeue`, {}, operator.key), 409, "EVENT_NOT_REQUEUABLE");
      await act(id, verb, body);
      const back = (await bed.post(`/v1/events/${id}/requeue`, {}, operator.key)).json<{ event: Shown }>();
      expect(back.event).toMatchObject({ status: "pending", attempts: 0 });
      expect((await bed.whole(id)).history.at(-1)).toMatchObject({ kind: "requeued", by: operator.id });
      expect((await bed.claim(id, two.key)).event.id).toBe(id);
    }
    refused(await bed.post(`/v1/events/${await bed.event(source)}/requeue`), 409, "EVENT_NOT_REQUEUABLE");
  });

  test("requeue in bulk: a filter besides the status, counted dry, `done` not by an application key", async () => {
    const bulk = await bed.source({ name: "bulk", dedup: "none" });
    const operator = await bed.key({ preset: "operator" });
    const manager = await bed.key({ kind: "management", preset: "operator" });
    for (let n = 0; n < 5; n++) {
      const id = await bed.event(bulk);
      await bed.claim(id, one.key);
      await act(id, n < 3 ? "ack" : "nack", n < 3 ? {} : { retry: false });
    }
    const many = (body: Record<string, unknown>, key: string) => bed.post("/v1/inbox/requeue", body, key);
    refused(await many({ status: "dead" }, operator.key), 422, "INVALID_REQUEST");
    refused(await many({ status: "pending", source: "bulk" }, operator.key), 422, "INVALID_REQUEST");
    refused(await many({ status: "done", source: "bulk" }, operator.key), 403, "NOT_ALLOWED");
    const dry = await many({ status: "dead", source: "bulk", dry_run: true }, operator.key);
    expect(dry.json()).toEqual({ matched: 2, requeued: 0, dry_run: true });
    const past = await many({ status: "dead", source: "bulk", until: "2020-01-01T00:00:00Z" }, operator.key);
    expect(past.json()).toMatchObject({ matched: 0 });
    expect((await many({ status: "dead", source: "b*" }, operator.key)).json()).toMatchObject({ requeued: 2 });
    expect((await many({ status: "done", type: "webhook.*", source: "bulk" }, manager.key)).json()).toMatchObject({
      requeued: 3,
    });
    const { events } = (await bed.get("/v1/inbox?source=bulk")).json<{ events: Shown[] }>();
    expect(events).toHaveLength(5);
  });
});
