import { beforeAll, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describeWith, needsBinary } from "../support/needs.ts";
import { type Bed, makeBed, until } from "./bed.ts";

describeWith(needsBinary())("sources, several things at once", () => {
  let bed: Bed;

  beforeAll(async () => {
    bed = await makeBed({
      env: { POSTERN_HTTP__TRUSTED_PROXIES: "127.0.0.0/8", POSTERN_PUBLIC_URL: "https://gate.example" },
    });
  });

  test("changes of different settings at once all count", async () => {
    for (let round = 0; round < 5; round++) {
      const { id } = await bed.source({ kind: "hmac_sha256", secret: "s" });
      const changes = [
        { dedup: "none" },
        { allow_get: true },
        { header: "x-mine" },
        { tolerance_seconds: 60 },
        { rate_limit: { requests: 5, per_seconds: 1 } },
        { name: `renamed-${round}` },
      ];
      await Promise.all(changes.map((change) => bed.patch(`/v1/sources/${id}`, change)));
      const { name, settings } = (await bed.get(`/v1/sources/${id}`)).json<{ name: string; settings: object }>();
      expect({ name, ...settings }).toMatchObject(Object.assign({}, ...changes));
    }
  });

  test("of secrets rotated at once none is lost", async () => {
    const source = await bed.source({ kind: "github", secret: "first" });
    const made = await Promise.all([1, 2, 3].map(() => bed.post(`/v1/sources/${source.id}/rotate-secret`)));
    const secrets = ["first", ...made.map((answer) => answer.json<{ secret: string }>().secret)];
    for (const [n, secret] of secrets.entries()) {
      const body = JSON.stringify({ n });
      const mac = createHmac("sha256", secret).update(body).digest("hex");
      expect((await bed.send(source, body, { "x-hub-signature-256": `sha256=${mac}` })).status).toBe(200);
    }
  });

  test("a source that is deleted while it refuses, changes and takes does no harm", async () => {
    for (let round = 0; round < 5; round++) {
      const source = await bed.source({ kind: "github", secret: "s" });
      await Promise.all([
        ...Array.from({ length: 5 }, () => bed.send(source)),
        bed.patch(`/v1/sources/${source.id}`, { dedup: "none" }),
        bed.remove(`/v1/sources/${source.id}`),
        ...Array.from({ length: 5 }, () => bed.send(source)),
        bed.post(`/v1/sources/${source.id}/rotate-url`),
      ]);
      expect((await bed.get(`/v1/sources/${source.id}`)).status).toBe(404);
      expect((await bed.send(source)).status).toBe(404);
    }
    // Refusals are written a second later.
    const other = await bed.source({ kind: "github", secret: "s" });
    await bed.send(other);
    await Bun.sleep(1500);
    const kept = await bed.get(`/v1/sources/${other.id}/rejections`);
    expect(kept.json<{ rejections: unknown[] }>().rejections).toHaveLength(1);
    expect((await bed.daemon.api("/readyz")).status).toBe(200);
  });

  test("many of the same large body at once leave one event, whose content is there", async () => {
    const source = await bed.source();
    const body = JSON.stringify({ text: "x".repeat(300_000) });
    const answers = await Promise.all(
      Array.from({ length: 16 }, () => bed.send(source, body, { "content-type": "application/json" })),
    );
    const ids = new Set(answers.map((answer) => answer.json<{ id: string }>().id));
    expect(ids.size).toBe(1);
    const { payload_url } = (await bed.whole([...ids][0] ?? "")).event;
    expect(payload_url).toStartWith("https://gate.example/v1/events/");
    const stored = await bed.daemon.api((payload_url ?? "").replace("https://gate.example", ""));
    expect(stored.text).toBe(body);
    const blobs = () =>
      readdirSync(join(bed.daemon.dataDir, "blobs"), { recursive: true, withFileTypes: true }).filter((one) =>
        one.isFile(),
      );
    await until(() => blobs().length === 1);
  });

  test("behind a trusted proxy the address is the last forwarded one that is not a proxy's", async () => {
    const source = await bed.source({ kind: "github", secret: "s" });
    const from = async (forwarded: string) => {
      await bed.send(source, undefined, { "x-forwarded-for": forwarded });
      const { rejections } = (await bed.get(`/v1/sources/${source.id}/rejections?limit=1`)).json<{
        rejections: { remote_address: string }[];
      }>();
      return rejections[0]?.remote_address;
    };
    expect(await from("203.0.113.7")).toBe("203.0.113.7");
    expect(await from("198.51.100.1, 203.0.113.8, 127.0.0.9")).toBe("203.0.113.8");
    expect(await from("2001:db8::1")).toBe("2001:db8::1");
    expect((await from(`${"x".repeat(2000)}`))?.length).toBeLessThanOrEqual(64);
  });
});
