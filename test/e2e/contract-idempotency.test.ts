import { beforeAll, expect, test } from "bun:test";
import { describeWith, needsBinary } from "../support/needs.ts";
import { type Bed, type KeyMade, makeBed, refused, type SourceMade } from "./bed.ts";

describeWith(needsBinary())("Idempotency-Key and lists (contract, section 1)", () => {
  let bed: Bed;
  let manager: KeyMade;

  beforeAll(async () => {
    bed = await makeBed();
    manager = await bed.key({ kind: "management", preset: "operator" });
  });

  const create = (idempotencyKey: string, path: string, body: unknown, key?: string) =>
    bed.call("POST", path, body, { key, headers: { "idempotency-key": idempotencyKey } });

  test("the same key and body get the first answer, its secret left out", async () => {
    const wanted = { name: "signed", channel: "webhook", kind: "github" };
    const first = await create("one", "/v1/sources", wanted);
    expect(first.status).toBe(201);
    const { secret, ...rest } = first.json<{ secret: string } & Record<string, unknown>>();
    expect(secret).toMatch(/\S{20,}/);
    const second = await create("one", "/v1/sources", wanted);
    expect(second.status).toBe(201);
    expect(second.json()).toEqual({ ...rest, secret_shown: true });
    expect(second.headers.get("content-type")).toBe("application/json");
    const token = { name: "a key", kind: "application", preset: "agent" };
    const made = await create("one", "/v1/keys", token);
    const again = await create("one", "/v1/keys", token);
    const { key, ...plain } = made.json<{ key: string } & Record<string, unknown>>();
    expect(key).toStartWith("pst_app_");
    expect(again.json()).toEqual({ ...plain, secret_shown: true });
  });

  test("the first answer is remembered as it was, though the resource changed since", async () => {
    const wanted = { name: "changing", channel: "webhook", kind: "unsigned" };
    const first = (await create("was", "/v1/sources", wanted)).json<SourceMade & { name: string }>();
    await bed.patch(`/v1/sources/${first.id}`, { name: "changed" });
    expect((await create("was", "/v1/sources", wanted)).json()).toMatchObject({ id: first.id, name: "changing" });
    await bed.remove(`/v1/sources/${first.id}`);
    expect((await create("was", "/v1/sources", wanted)).json()).toMatchObject({ id: first.id });
  });

  test("another body under the same key is 409", async () => {
    await create("two", "/v1/projects", { name: "First of two" });
    refused(await create("two", "/v1/projects", { name: "Second of two" }), 409, "IDEMPOTENCY_MISMATCH");
  });

  test("of many at once one creates; the others get its answer or are told to wait", async () => {
    const wanted = { name: "at once", kind: "application", preset: "agent" };
    const answers = await Promise.all(Array.from({ length: 16 }, () => create("crowd", "/v1/keys", wanted)));
    const made = answers.filter(({ status }) => status === 201);
    expect(made.length).toBeGreaterThan(0);
    expect(new Set(made.map((answer) => answer.json<KeyMade>().id)).size).toBe(1);
    expect(made.filter((answer) => answer.json<KeyMade>().key !== undefined)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 201))
      refused(answer, 409, "IDEMPOTENCY_IN_PROGRESS");
    const { keys } = (await bed.get("/v1/keys?limit=100")).json<{ keys: { name: string }[] }>();
    expect(keys.filter(({ name }) => name === "at once")).toHaveLength(1);
  });

  test("a refusal is remembered too", async () => {
    const wanted = { name: "taken", channel: "webhook", kind: "unsigned" };
    const holder = await bed.source({ name: "taken" });
    const first = refused(await create("late", "/v1/sources", wanted), 409, "NAME_TAKEN");
    await bed.remove(`/v1/sources/${holder.id}`);
    expect(refused(await create("late", "/v1/sources", wanted), 409, "NAME_TAKEN")).toEqual(first);
    expect((await create("fresh", "/v1/sources", wanted)).status).toBe(201);
  });

  test("a key counts for its credential, project and path alone", async () => {
    await bed.post("/v1/projects", { name: "Another", slug: "another" });
    const wanted = { name: "scoped", channel: "webhook", kind: "unsigned" };
    const ids = [
      (await create("three", "/v1/sources", wanted)).json<SourceMade>().id,
      (await create("three", "/v1/sources?project=another", wanted)).json<SourceMade>().id,
    ];
    expect(new Set(ids).size).toBe(2);
    refused(await create("three", "/v1/sources", wanted, manager.key), 409, "NAME_TAKEN");
    expect((await create("three", "/v1/keys", { name: "x", kind: "application", preset: "agent" })).status).toBe(201);
  });

  test("without the header creating again makes another", async () => {
    const wanted = { name: "twin", kind: "application", preset: "agent" };
    const [one, two] = [await bed.post("/v1/keys", wanted), await bed.post("/v1/keys", wanted)];
    expect(one.json<KeyMade>().id).not.toBe(two.json<KeyMade>().id);
  });

  test("a key that is none is refused", async () => {
    for (const wrong of ["", "a".repeat(256), "with space"]) {
      refused(await create(wrong, "/v1/projects", { name: "Never" }), 422, "INVALID_REQUEST");
    }
  });

  test("ingest, wait and claim take no notice of it", async () => {
    const source = await bed.source({ dedup: "none" });
    const headers = { "idempotency-key": "same" };
    const first = await bed.send(source, '{"a":1}', headers);
    const second = await bed.send(source, '{"a":2}', headers);
    expect(first.json<{ id: string }>().id).not.toBe(second.json<{ id: string }>().id);
    const agent = await bed.key();
    const claim = () => bed.call("POST", "/v1/inbox/claim", {}, { key: agent.key, headers });
    expect((await claim()).json<{ claims: unknown[] }>().claims).toHaveLength(1);
    expect((await claim()).json<{ claims: unknown[] }>().claims).toHaveLength(1);
    expect((await claim()).json<{ claims: unknown[] }>().claims).toHaveLength(0);
  });

  test("it holds across a restart", async () => {
    const wanted = { name: "lasting", channel: "webhook", kind: "github" };
    const first = (await create("lasting", "/v1/sources", wanted)).json<SourceMade>();
    await bed.daemon.restart();
    expect((await create("lasting", "/v1/sources", wanted)).json()).toMatchObject({ id: first.id, secret_shown: true });
    refused(await create("lasting", "/v1/sources", { ...wanted, name: "else" }), 409, "IDEMPOTENCY_MISMATCH");
  });

  test("limit is 1 to 100, 50 by default", async () => {
    await bed.post("/v1/projects", { name: "Lists", slug: "lists" });
    const source = await bed.source({ name: "many" }, "lists");
    for (let n = 0; n < 101; n++) await bed.event(source, { n });
    const page = async (query: string) =>
      (await bed.get(`/v1/inbox?project=lists${query}`)).json<{
        events: { id: string }[];
        next_cursor: string | null;
      }>();
    expect((await page("")).events).toHaveLength(50);
    expect((await page("&limit=1")).events).toHaveLength(1);
    expect((await page("&limit=100")).events).toHaveLength(100);
    for (const list of ["inbox", "sources", "keys", "projects", `sources/${source.id}/rejections`]) {
      for (const limit of ["0", "101", "-1", "1.5", "x", ""]) {
        refused(await bed.get(`/v1/${list}?project=lists&limit=${limit}`), 422, "INVALID_REQUEST");
      }
      refused(await bed.get(`/v1/${list}?project=lists&cursor=nonsense!`), 422, "INVALID_REQUEST");
    }
  });

  test("walking a list by its cursor shows each row once, while rows are added", async () => {
    const source = await bed.source({ name: "walk" }, "lists");
    const seen: string[] = [];
    let cursor = "";
    let added = 0;
    do {
      const path = `/v1/inbox?project=lists&limit=7${cursor && `&cursor=${encodeURIComponent(cursor)}`}`;
      const { events, next_cursor } = (await bed.get(path)).json<{ events: { id: string }[]; next_cursor: string }>();
      seen.push(...events.map(({ id }) => id));
      cursor = next_cursor ?? "";
      if (added < 20) await bed.event(source, { added: added++ });
    } while (cursor);
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.length).toBeGreaterThanOrEqual(101);
    expect(seen).toEqual([...seen].sort());
    for (const list of ["keys", "sources"]) {
      type Page = { next_cursor: string | null } & Record<string, { id: string }[]>;
      const ids = async (query: string) => {
        const shown = (await bed.get(`/v1/${list}?${query}`)).json<Page>();
        return { ids: shown[list]?.map(({ id }) => id) ?? [], next: shown.next_cursor };
      };
      const first = await ids("limit=2");
      const rest = await ids(`limit=100&cursor=${first.next}`);
      const all = await ids("limit=100");
      expect([...first.ids, ...rest.ids]).toEqual(all.ids);
      expect(all.next).toBeNull();
    }
  });
});
