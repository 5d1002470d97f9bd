import { expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { LINK_MS, Links } from "../../src/inbox/index.ts";
import { Vault } from "../../src/kernel/secrets.ts";
import { FakeClock } from "../support/fake-clock.ts";

const master = randomBytes(32);
const PATH = "/v1/events/evt_01h455vb4pex5vsknk084sn02q/payload";

function links() {
  const clock = new FakeClock();
  return { clock, links: new Links(new Vault(master), clock) };
}

test("a link holds for an hour, also in the next run", async () => {
  const { clock, links: made } = links();
  const query = new URLSearchParams(made.sign(PATH));
  await clock.advance(LINK_MS - 1000);
  expect(new Links(new Vault(master), clock).refusal(PATH, query)).toBeUndefined();
  await clock.advance(1000);
  expect(made.refusal(PATH, query)).toMatchObject({ code: "LINK_INVALID", detail: expect.stringContaining("run out") });
});

test("a link is for its path and time only, and nothing of it can be altered", () => {
  const { links: made } = links();
  const query = new URLSearchParams(made.sign(PATH));
  const altered = (change: (query: URLSearchParams) => void) => {
    const other = new URLSearchParams(query);
    change(other);
    return made.refusal(PATH, other)?.code;
  };
  expect(altered(() => {})).toBeUndefined();
  expect(made.refusal(`${PATH}x`, query)?.code).toBe("LINK_INVALID");
  const expires = Number(query.get("expires"));
  for (const wrong of [
    `${expires + 1}`,
    `0${expires}`,
    `${expires}.0`,
    "",
    "9".repeat(12),
    "9".repeat(400),
    "-1",
    "NaN",
  ]) {
    expect([wrong, altered((q) => q.set("expires", wrong))]).toEqual([wrong, "LINK_INVALID"]);
  }
  for (const wrong of ["", "AAAA", `${query.get("signature")?.slice(0, -2)}AA`]) {
    expect([wrong, altered((q) => q.set("signature", wrong))]).toEqual([wrong, "LINK_INVALID"]);
  }
  expect(altered((q) => q.delete("signature"))).toBe("LINK_INVALID");
  expect(altered((q) => q.delete("expires"))).toBe("LINK_INVALID");
  expect(new Links(new Vault(randomBytes(32)), new FakeClock()).refusal(PATH, query)?.code).toBe("LINK_INVALID");
});
