import { defineScheme, type SchemeSpec, type SignatureKind } from "../../../src/webhook/signatures/scheme.ts";

const sha256 = (label: string, coding: SignatureKind["coding"]): SignatureKind => ({
  label,
  algorithm: "hmac-sha256",
  coding,
  key: { coding: "utf8" },
});

/** A provider whose one header is the signature of the body. */
function plain(signature: string, coding: SignatureKind["coding"], more: Partial<SchemeSpec> = {}) {
  return defineScheme({
    families: [{ signature }],
    header: { layout: "whole", prefix: "" },
    signatures: [sha256("", coding)],
    signed: "{body}",
    ...more,
  });
}

/** What further providers are to the engine: a few lines of data each, and no code. */
export const otherProviders = {
  slack: defineScheme({
    families: [{ signature: "x-slack-signature", timestamp: "x-slack-request-timestamp" }],
    header: { layout: "whole", prefix: "v0=" },
    signatures: [sha256("", "hex")],
    signed: "v0:{timestamp}:{body}",
    timestamp: { at: "header", unit: "s", toleranceSeconds: 300 },
  }),
  paddle: defineScheme({
    families: [{ signature: "paddle-signature" }],
    header: { layout: "pairs", separator: ";", assign: "=" },
    signatures: [sha256("h1", "hex")],
    signed: "{timestamp}:{body}",
    timestamp: { at: { label: "ts" }, unit: "s", toleranceSeconds: 5 },
  }),
  pagerduty: defineScheme({
    families: [{ signature: "x-pagerduty-signature" }],
    header: { layout: "pairs", separator: ",", assign: "=" },
    signatures: [sha256("v1", "hex")],
    signed: "{body}",
  }),
  "discord-ed25519": defineScheme({
    families: [{ signature: "x-signature-ed25519", timestamp: "x-signature-timestamp" }],
    header: { layout: "whole", prefix: "" },
    signatures: [{ label: "", algorithm: "ed25519", coding: "hex", key: { coding: "hex" } }],
    signed: "{timestamp}{body}",
    timestamp: { at: "header", unit: "s", toleranceSeconds: null },
  }),
  "hubspot-v3": defineScheme({
    families: [{ signature: "x-hubspot-signature-v3", timestamp: "x-hubspot-request-timestamp" }],
    header: { layout: "whole", prefix: "" },
    signatures: [sha256("", "base64")],
    signed: "{method}{url}{body}{timestamp}",
    timestamp: { at: "header", unit: "ms", toleranceSeconds: 300 },
  }),
  linear: plain("linear-signature", "hex", {
    timestamp: { at: { pointer: "/webhookTimestamp" }, unit: "ms", toleranceSeconds: 60 },
  }),
  shopify: plain("x-shopify-hmac-sha256", "base64"),
  square: plain("x-square-hmacsha256-signature", "base64", { signed: "{url}{body}" }),
  gitea: plain("x-gitea-signature", "hex"),
  sentry: plain("sentry-hook-signature", "hex"),
  vercel: plain("x-vercel-signature", "hex", {
    signatures: [{ label: "", algorithm: "hmac-sha1", coding: "hex", key: { coding: "utf8" } }],
  }),
};
