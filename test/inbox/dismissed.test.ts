import { expect } from "bun:test";
import { turns } from "../support/fake-clock.ts";
import { type InboxBed, inboxTest } from "./bed.ts";

/** Does something once, in the commit that claims an event: the claim is durable then, and not yet answered. */
function asItIsClaimed(on: InboxBed, what: () => void): void {
  const stop = on.bed.store.onCommit((changes) => {
    if (!changes.some(({ status }) => status === "claimed")) return;
    stop();
    what();
  });
}

inboxTest("a waiting claim that was made as its key lost its right is not handed out", async (on) => {
  const taking = await on.claiming({}, 1, on.caller("key_a"));
  asItIsClaimed(on, () => void on.inbox.dismiss("key_a"));
  const event = await on.bed.arrive();
  await turns(8);
  expect(taking.answer).toEqual({ value: [] });
  expect(await on.bed.event(event.id)).toMatchObject({ status: "pending", attempts: 0 });
  expect((await on.bed.claimNext({}, 1, "key_b"))[0]?.event.id).toBe(event.id);
});

inboxTest("a waiting claim that was made as the daemon stops, or as its time ran out, is handed out", async (on) => {
  const stopped = await on.claiming();
  asItIsClaimed(on, () => on.inbox.endWaits());
  const first = await on.bed.arrive();
  await turns(8);
  expect(stopped.answer?.value).toMatchObject([{ event: { id: first.id } }]);
  const late = await on.claiming();
  asItIsClaimed(on, () => void on.bed.clock.advance(25_000));
  const second = await on.bed.arrive();
  await turns(8);
  expect(late.answer?.value).toMatchObject([{ event: { id: second.id } }]);
  for (const { id } of [first, second]) expect((await on.bed.event(id)).status).toBe("claimed");
});

inboxTest("a key that lost its right leaves no mark on what it holds once it has it again", async (on) => {
  await on.inbox.dismiss("key_a");
  const taking = await on.claiming({}, 1, on.caller("key_a"));
  const event = await on.bed.arrive();
  await turns(8);
  expect(taking.answer?.value).toMatchObject([{ event: { id: event.id } }]);
});
