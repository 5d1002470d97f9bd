import { beforeAll, expect, test } from "bun:test";
import { describeWith, needsBinary } from "../support/needs.ts";
import { type Bed, makeBed, type SourceMade } from "./bed.ts";

describeWith(needsBinary())("a project that goes while it is used", () => {
  let bed: Bed;

  beforeAll(async () => {
    bed = await makeBed();
  });

  test("everything under way gets an answer that the contract has, and nothing of it is left", async () => {
    for (let round = 0; round < 3; round++) {
      const slug = `going-${round}`;
      await bed.post("/v1/projects", { name: slug, slug });
      const source = await bed.source({ dedup: "none" }, slug);
      const agent = await bed.key({}, slug);
      for (let n = 0; n < 5; n++) await bed.event(source, n % 2 ? { n } : "x".repeat(300_000));
      const made: SourceMade[] = [];
      const under = Array.from({ length: 6 }, async (_, n) => {
        await Bun.sleep(round % 2 ? n : 0);
        const answers = await Promise.all([
          bed.send(source, n % 2 ? { late: n } : "y".repeat(300_000)),
          bed.post("/v1/inbox/claim", { max: 2 }, agent.key),
          bed.post("/v1/inbox/wait", { timeout_seconds: 0.2 }, agent.key),
          bed.post(`/v1/keys?project=${slug}`, { name: "late", kind: "application", preset: "agent" }),
          bed.post(`/v1/sources?project=${slug}`, { name: `late-${n}`, channel: "webhook", kind: "unsigned" }),
          bed.post(`/v1/sources/${source.id}/rotate-url?project=${slug}`),
          bed.get(`/v1/inbox?project=${slug}&status=all`),
        ]);
        const late = answers[4];
        if (late?.status === 201) {
          const shown = late.json<SourceMade>();
          made.push({ ...shown, path: new URL(shown.ingest_url).pathname });
        }
        return answers.map(({ status }) => status);
      });
      const gone = await bed.remove(`/v1/projects/${slug}`);
      expect(gone.status).toBe(204);
      for (const status of (await Promise.all(under)).flat()) expect([200, 201, 401, 404, 409]).toContain(status);
      for (const late of [source, ...made]) expect((await bed.send(late)).status).toBe(404);
      expect((await bed.get("/v1/inbox", agent.key)).status).toBe(401);
    }
    expect(bed.daemon.output).not.toContain("failed by a bug");
    await bed.daemon.restart();
    expect((await bed.daemon.api("/readyz")).status).toBe(200);
  });
});
