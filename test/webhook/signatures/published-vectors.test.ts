import { describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { verify } from "../../../src/webhook/signatures/verify.ts";
import { mac, scheme, transmission } from "../support.ts";
import { otherProviders } from "./other-providers.ts";

const OK = { ok: true } as const;

describe("vectors that the providers publish", () => {
  test("GitHub's documentation", () => {
    const signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    const sent = transmission({ "X-Hub-Signature-256": signature }, "Hello, World!");
    expect(verify(scheme("github"), ["It's a Secret to Everybody"], sent, 0)).toEqual(OK);
  });

  const message = (family: string, signature: string) =>
    transmission(
      {
        [`${family}-id`]: "msg_p5jXN8AQM9LWM0D4loKWxJek",
        [`${family}-timestamp`]: "1614265330",
        [`${family}-signature`]: signature,
      },
      '{"test": 2432232314}',
    );
  const v1 = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
  const v1a = "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==";
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const now = 1614265330_000;

  test.each(["webhook", "svix"])("Standard Webhooks v1 under the names of %s", (family) => {
    expect(verify(scheme("standard_webhooks"), [secret], message(family, v1), now)).toEqual(OK);
  });

  test("Standard Webhooks v1, the vector of the library for Rust", () => {
    const sent = transmission(
      {
        "webhook-id": "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk",
        "webhook-timestamp": "1649367553",
        "webhook-signature": "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=",
      },
      '{"email":"test@example.com","username":"test_user"}',
    );
    const verdict = verify(
      scheme("standard_webhooks"),
      ["whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"],
      sent,
      1649367553_000,
    );
    expect(verdict).toEqual(OK);
  });

  test("Standard Webhooks v1a with the public half of the published key", () => {
    const pair = "6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==";
    const publicKey = `whpk_${Buffer.from(pair, "base64").subarray(32).toString("base64")}`;
    const standard = scheme("standard_webhooks");
    expect(verify(standard, [publicKey], message("webhook", v1a), now)).toEqual(OK);
    expect(verify(standard, [publicKey], message("webhook", `${v1} ${v1a}`), now)).toEqual(OK);
    // Each version is checked with its own kind of key only.
    expect(verify(standard, [publicKey], message("webhook", v1), now).ok).toBe(false);
    expect(verify(standard, [secret], message("webhook", v1a), now).ok).toBe(false);
    expect(verify(standard, [publicKey], message("webhook", v1a), now + 301_000).ok).toBe(false);
  });

  test("Slack's documentation", () => {
    const body =
      "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar" +
      "&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com" +
      "%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
    const headers = {
      "X-Slack-Request-Timestamp": "1531420618",
      "X-Slack-Signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
    };
    const sent = transmission(headers, body);
    expect(verify(otherProviders.slack, ["8f742231b10e8888abcd99yyyzzz85a5"], sent, 1531420618_000)).toEqual(OK);
  });

  test("Paddle's library for Node", () => {
    const signature = "ts=1698796800;h1=a300428748dce5c70e4da19bffd60769591ea969c99dea3105d0ec9612cf43f9";
    const sent = transmission({ "Paddle-Signature": signature }, '{"data": ["1", "2"]}');
    expect(verify(otherProviders.paddle, ["VALID_SECRET"], sent, 1698796800_000)).toEqual(OK);
  });

  test("RFC 4231, test case 2, as an hmac_sha256 source", () => {
    const signature = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
    const sent = transmission({ "X-Signature-256": `sha256=${signature}` }, "what do ya want for nothing?");
    expect(verify(scheme("hmac_sha256"), ["Jefe"], sent, 0)).toEqual(OK);
  });
});

describe("schemes for which no fixed vector is published, against another implementation", () => {
  test("Stripe's v1", () => {
    const body = '{"id":"evt_1","object":"event"}';
    const v1 = mac("whsec_test", "hex", "1700000000.", body);
    const sent = transmission({ "Stripe-Signature": `t=1700000000,v1=${v1},v0=${"0".repeat(64)}` }, body);
    expect(verify(scheme("stripe"), ["whsec_test"], sent, 1700000000_000)).toEqual(OK);
  });

  test("HubSpot's v3 over method, address, body and a time in milliseconds", () => {
    const url = "https://gate.example/in/abc";
    const signature = mac("client-secret", "base64", "POST", url, "[]", "1700000000000");
    const headers = { "X-HubSpot-Signature-v3": signature, "X-HubSpot-Request-Timestamp": "1700000000000" };
    const v3 = otherProviders["hubspot-v3"];
    expect(verify(v3, ["client-secret"], transmission(headers, "[]", { url }), 1700000299_999)).toEqual(OK);
    expect(verify(v3, ["client-secret"], transmission(headers, "[]", { url }), 1700000300_001).ok).toBe(false);
    const unknown = verify(v3, ["client-secret"], transmission(headers, "[]"), 1700000000_000);
    expect(unknown).toEqual({ ok: false, reason: "the public URL that the provider signs is not known" });
  });

  test("Vercel's SHA-1", () => {
    const signature = createHmac("sha1", "s").update("{}").digest("hex");
    expect(verify(otherProviders.vercel, ["s"], transmission({ "x-vercel-signature": signature }, "{}"), 0)).toEqual(
      OK,
    );
  });
});
