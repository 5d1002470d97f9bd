import { expect } from "bun:test";
import { RESULT_BYTES } from "../../src/inbox/index.ts";
import { ok, refused } from "../store/conformance/bed.ts";
import { inboxTest } from "./bed.ts";

inboxTest("a result is kept up to 4,096 bytes of JSON, counted in UTF-8", async (on) => {
  const settle = async (result: unknown) => {
    const { event, lease } = await on.bed.claimed(await on.bed.arrive());
    return on.inbox.settle(on.caller(), event.id, lease.id, { action: "ack", result });
  };
  expect((await ok(settle("x".repeat(RESULT_BYTES - 2)))).event.status).toBe("done");
  expect((await refused(settle("x".repeat(RESULT_BYTES - 1)), "RESULT_TOO_LARGE")).detail).toContain("4097 bytes");
  await refused(settle("é".repeat(RESULT_BYTES / 2)), "RESULT_TOO_LARGE");
  expect((await ok(settle("é".repeat(RESULT_BYTES / 2 - 1)))).event.status).toBe("done");
});

inboxTest("what a settle leaves out has its default, so that saying it is the same settle", async (on) => {
  const nacked = await on.bed.claimed(await on.bed.arrive());
  const nack = (settle: object) =>
    on.inbox.settle(on.caller(), nacked.event.id, nacked.lease.id, { action: "nack", ...settle });
  expect((await ok(nack({}))).event.status).toBe("failed");
  expect(await ok(nack({ retry: true }))).toEqual(await ok(nack({})));
  await refused(nack({ retry: true, reason: "x" }), "LEASE_NOT_HELD");
  const released = await on.bed.claimed(await on.bed.arrive());
  const release = (settle: object) =>
    on.inbox.settle(on.caller(), released.event.id, released.lease.id, { action: "release", ...settle });
  await ok(release({}));
  expect((await ok(release({ delay_seconds: 0 }))).retryAt).toBeNull();
  await refused(release({ delay_seconds: 1 }), "LEASE_NOT_HELD");
  const acked = await on.bed.claimed(await on.bed.arrive());
  const ack = (settle: object) =>
    on.inbox.settle(on.caller(), acked.event.id, acked.lease.id, { action: "ack", ...settle });
  await ok(ack({}));
  await ok(ack({ result: undefined }));
  await refused(ack({ result: null }), "LEASE_NOT_HELD");
});

inboxTest("a requeue of many brings back all that match at that moment, in as many steps as it takes", async (on) => {
  await Promise.all(Array.from({ length: 950 }, (_, i) => on.bed.arrive({ type: i % 2 ? "odd" : "even" })));
  const claims = await on.bed.claimNext({}, 950);
  await Promise.all(claims.map((claim) => on.bed.settled(claim, { action: "ack", result: null })));
  const query = { project: on.bed.project, statuses: ["done"] as const, type: "odd" };
  expect(await on.inbox.requeueMany(query, "key_m", true)).toBe(475);
  expect(await on.inbox.requeueMany(query, "key_m", false)).toBe(475);
  expect(await on.inbox.requeueMany(query, "key_m", true)).toBe(0);
  expect((await on.bed.claimNext({}, 1000)).every((claim) => claim.event.type === "odd")).toBe(true);
});

inboxTest("an event that is not there is not found", async (on) => {
  await refused(on.inbox.get(on.bed.project, "evt_01h455vb4pex5vsknk084sn02q"), "NOT_FOUND");
});
