import { beforeAll, expect, test } from "bun:test";
import { connect } from "node:net";
import { describeWith, needsBinary } from "../support/needs.ts";
import {
  type Bed,
  type ClaimShown,
  type KeyMade,
  makeBed,
  refused,
  type Shown,
  type SourceMade,
  until,
} from "./bed.ts";

describeWith(needsBinary())("listing, waiting and the stream (contract, section 5)", () => {
  let bed: Bed;
  let agent: KeyMade;
  let n = 0;

  beforeAll(async () => {
    bed = await makeBed();
    agent = await bed.key();
  });

  /** A source whose events nobody else waits for. */
  const alone = async (): Promise<SourceMade & { name: string }> => {
    const name = `alone-${++n}`;
    return { ...(await bed.source({ name, dedup: "none", type_from: { header: "x-type" } })), name };
  };
  const wait = (body: Record<string, unknown>, key = agent.key) => bed.post("/v1/inbox/wait", body, key);
  const event = (answer: { json: <T>() => T }) => answer.json<{ event: Shown | null }>().event;
  const list = async (query: string) => (await bed.get(`/v1/inbox?${query}`)).json<{ events: Shown[] }>().events;
  const waiters = async (count: number) =>
    until(async () => (await bed.daemon.api("/metrics")).text.includes(`postern_waiters ${count}\n`));

  test("the list filters by status, source, type, channel, verified, time and text", async () => {
    const { name, path } = await alone();
    const sent: string[] = [];
    for (const type of ["invoice.paid", "invoice.voided", "invoicexpaid", "100%_sure", "Größe"]) {
      sent.push(await bed.event({ path }, { type }, { "x-type": Buffer.from(type).toString("latin1") }));
    }
    const [paid = "", voided = ""] = sent;
    const ids = async (query: string) => (await list(`source=${name}&${query}`)).map(({ id }) => id);
    expect(await ids("")).toEqual(sent);
    expect(await ids("type=invoice.*")).toEqual([paid, voided]);
    expect(await ids("type=invoice.paid")).toEqual([paid]);
    expect(await ids("q=VOID")).toEqual([voided]);
    expect(await ids("q=100%25_")).toHaveLength(1);
    expect(await ids("q=%25")).toHaveLength(1);
    expect(await ids("verified=true")).toEqual([]);
    expect(await ids("verified=false&channel=webhook")).toEqual(sent);
    expect(await ids("channel=email")).toEqual([]);
    expect(await ids("routed=true")).toEqual([]);
    expect(await ids("routed=all")).toEqual(sent);
    expect(await ids("until=2020-01-01T00:00:00Z")).toEqual([]);
    expect(await ids("since=2020-01-01T00:00:00%2B02:00")).toEqual(sent);
    await bed.claim(paid, agent.key);
    expect(await ids("")).toEqual(sent.slice(1));
    expect(await ids("status=claimed")).toEqual([paid]);
    expect(await ids("status=all")).toEqual(sent);
    for (const wrong of [
      "status=x",
      "verified=maybe",
      "routed=yes",
      "since=yesterday",
      "channel=fax",
      "q=",
      "type=",
      "limit=1&limit=2",
    ]) {
      refused(await bed.get(`/v1/inbox?${wrong}`), 422, "INVALID_REQUEST");
    }
  });

  test("wait answers at once where there is one, claims nothing, and goes on after an event", async () => {
    const { name, path } = await alone();
    const [first, second] = [await bed.event({ path }), await bed.event({ path })];
    const found = event(await wait({ source: name }));
    expect(found).toMatchObject({ id: first, status: "pending" });
    expect(event(await wait({ source: name, after: first }))?.id).toBe(second);
    expect(event(await wait({ source: name, after: second, timeout_seconds: 0.2 }))).toBeNull();
    for (const wrong of [{ timeout_seconds: 301 }, { timeout_seconds: -1 }, { after: "nonsense" }, { max: 1 }]) {
      refused(await wait(wrong), 422, "INVALID_REQUEST");
    }
    refused(await wait({ after: "evt_01h455vb4pex5vsknk084sn02q" }), 404, "NOT_FOUND");
  });

  test("a waiter is woken by arrival, release and requeue, and only by what it waits for", async () => {
    const { name, path } = await alone();
    const arriving = wait({ source: name, type: "wanted.*", timeout_seconds: 60 });
    await waiters(1);
    await bed.event({ path }, {}, { "x-type": "other" });
    const id = await bed.event({ path }, {}, { "x-type": "wanted.this" });
    expect(event(await arriving)?.id).toBe(id);
    await bed.claim(id, agent.key);
    const releasing = wait({ source: name, type: "wanted.*", timeout_seconds: 60 });
    await waiters(1);
    await bed.post(`/v1/events/${id}/release`, {}, agent.key);
    expect(event(await releasing)?.id).toBe(id);
    const { lease } = await bed.claim(id, agent.key);
    await bed.post(`/v1/events/${id}/ack`, { lease: lease.id }, agent.key);
    const requeuing = bed.post("/v1/inbox/claim", { source: name, type: "wanted.*", wait_seconds: 60 }, agent.key);
    await waiters(1);
    await bed.post(`/v1/events/${id}/requeue`);
    expect((await requeuing).json<{ claims: ClaimShown[] }>().claims[0]?.event.id).toBe(id);
  });

  test("of many claimers that wait, each event goes to one", async () => {
    const { name, path } = await alone();
    const claiming = Array.from({ length: 10 }, () =>
      bed.post("/v1/inbox/claim", { source: name, wait_seconds: 2 }, agent.key),
    );
    await waiters(10);
    const ids = await Promise.all([1, 2, 3].map(() => bed.event({ path })));
    const claims = (await Promise.all(claiming)).flatMap((one) => one.json<{ claims: ClaimShown[] }>().claims);
    expect(claims.map((one) => one.event.id).toSorted()).toEqual(ids.toSorted());
  });

  test("a client that goes away ends its wait and is given no lease", async () => {
    const { name, path } = await alone();
    const gone = new AbortController();
    const claiming = bed.daemon.api("/v1/inbox/claim", {
      body: { source: name, wait_seconds: 300 },
      key: agent.key,
      signal: gone.signal,
    });
    await waiters(1);
    gone.abort();
    await expect(claiming).rejects.toThrow();
    await waiters(0);
    const id = await bed.event({ path });
    const shown = await bed.whole(id);
    expect([shown.event.status, shown.lease]).toEqual(["pending", null]);
    const head = `POST /v1/events/${id}/claim HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${agent.key}\r\n`;
    for (const leave of ["destroy", "resetAndDestroy"] as const) {
      await new Promise<void>((resolve) => {
        const socket = connect(bed.daemon.port, "127.0.0.1", () => {
          socket.write(`${head}Content-Length: 0\r\n\r\n`, () => socket[leave]());
        });
        socket.on("close", () => resolve());
      });
      await until(async () => (await bed.whole(id)).history.some(({ kind }) => kind !== "received"));
      await until(async () => (await bed.whole(id)).event.status === "pending");
    }
  });

  test("waits outlast every idle time-out, over both doors; a lease that runs out and a nack that is due wake them", async () => {
    const [expiring, nacked, quiet] = [await alone(), await alone(), await alone()];
    const lost = await bed.event(expiring);
    const failed = await bed.event(nacked);
    const { lease } = await bed.claim(lost, agent.key, { lease_seconds: 30 });
    await bed.claim(failed, agent.key);
    await bed.post(`/v1/events/${failed}/nack`, { reason: "later" }, agent.key);
    const stream = await fetch(`${bed.daemon.url}/v1/stream`, { headers: { authorization: `Bearer ${agent.key}` } });
    const reader = stream.body?.getReader();
    const started = performance.now();
    const [onExpiry, onNack, nothing, overSocket] = await Promise.all([
      wait({ source: expiring.name, timeout_seconds: 60 }),
      bed.post("/v1/inbox/claim", { source: nacked.name, wait_seconds: 60 }, agent.key),
      wait({ source: quiet.name, timeout_seconds: 16 }),
      bed.post("/v1/inbox/wait", { source: quiet.name, timeout_seconds: 16 }),
    ]);
    expect(event(onExpiry)).toMatchObject({ id: lost, status: "pending", attempts: 1 });
    expect(onNack.json<{ claims: ClaimShown[] }>().claims[0]?.event).toMatchObject({ id: failed, attempts: 1 });
    expect([event(nothing), event(overSocket)]).toEqual([null, null]);
    expect(performance.now() - started).toBeGreaterThan(16_000);
    expect((await bed.whole(lost)).history.map(({ kind }) => kind)).toContain("lease_expired");
    const late = await bed.post(`/v1/events/${lost}/ack`, { lease: lease.id }, agent.key);
    expect(refused(late, 409, "LEASE_NOT_HELD").event_status).toBe("pending");
    let streamed = "";
    while (!streamed.includes(lost)) streamed += new TextDecoder().decode((await reader?.read())?.value);
    expect(streamed).toContain(": beat");
    await reader?.cancel();
  }, 90_000);

  const streamFrom = async (lastId?: string) => {
    const headers = { authorization: `Bearer ${agent.key}`, ...(lastId ? { "last-event-id": lastId } : {}) };
    const answer = await fetch(`${bed.daemon.url}/v1/stream`, { headers });
    expect(answer.headers.get("content-type")).toBe("text/event-stream");
    const reader = answer.body?.getReader();
    const decoder = new TextDecoder();
    let text = "";
    return {
      async changes(count: number) {
        const found = () => [...text.matchAll(/id: (\d+)\nevent: event\ndata: (\{.*\})\n\n/g)];
        while (found().length < count) text += decoder.decode((await reader?.read())?.value, { stream: true });
        return found().map(([, id = "", data = "{}"]) => ({ id, event: JSON.parse(data).event as Shown }));
      },
      close: () => reader?.cancel(),
    };
  };

  test("the stream tells each change once, in order, and resumes where it broke off", async () => {
    const { path } = await alone();
    const first = await streamFrom();
    const id = await bed.event({ path });
    await bed.claim(id, agent.key);
    await bed.post(`/v1/events/${id}/ack`, {}, agent.key);
    const changes = await first.changes(3);
    expect(changes.map((change) => [change.event.id, change.event.status])).toEqual([
      [id, "pending"],
      [id, "claimed"],
      [id, "done"],
    ]);
    await first.close();
    const next = await bed.event({ path });
    const resumed = await streamFrom(changes[0]?.id);
    const rest = await resumed.changes(3);
    expect(rest.map((change) => change.event.status)).toEqual(["claimed", "done", "pending"]);
    expect(rest[2]?.event.id).toBe(next);
    expect(rest.slice(0, 2).map((change) => change.id)).toEqual(changes.slice(1).map((change) => change.id));
    await resumed.close();
    const wrong = await bed.call("GET", "/v1/stream", undefined, { key: agent.key, headers: { "last-event-id": "x" } });
    refused(wrong, 422, "INVALID_REQUEST");
  });

  test("after a restart the stream resumes, leases hold and nothing is lost", async () => {
    const { path } = await alone();
    const stream = await streamFrom();
    const held = await bed.event({ path }, '{"kept":1.10}', { "content-type": "application/json" });
    const { lease } = await bed.claim(held, agent.key);
    const changes = await stream.changes(2);
    const before = await bed.get(`/v1/events/${held}`);
    expect(await bed.daemon.stop()).toBe(0);
    await bed.daemon.start();
    // The moment at which a lease ends is told by the wall clock, which a new run reads anew.
    const plain = (text: string) => text.replace(/"expires_at":"[^"]*"/, "");
    expect(plain((await bed.get(`/v1/events/${held}`)).text)).toBe(plain(before.text));
    refused(await bed.post(`/v1/events/${held}/claim`, {}, agent.key), 409, "EVENT_NOT_CLAIMABLE");
    const resumed = await streamFrom(changes[0]?.id);
    const acked = await bed.post(`/v1/events/${held}/ack`, { lease: lease.id }, agent.key);
    expect(acked.status).toBe(200);
    const rest = await resumed.changes(2);
    expect(rest.map((change) => change.event.status)).toEqual(["claimed", "done"]);
    await resumed.close();
    await bed.daemon.kill9();
    await bed.daemon.start();
    expect((await bed.post(`/v1/events/${held}/ack`, { lease: lease.id }, agent.key)).text).toBe(acked.text);
  });
});
