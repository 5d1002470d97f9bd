import { defineScheme } from "../signatures/scheme.ts";
import type { Provider } from "./provider.ts";
import { providerSecret } from "./secret-rules.ts";

/** Stripe: https://docs.stripe.com/webhooks#verify-manually. The key is the whole `whsec_…` text; `v0` is for tests. */
export const stripe: Provider = {
  kind: "stripe",
  title: "Stripe",
  scheme: defineScheme({
    families: [{ signature: "stripe-signature" }],
    header: { layout: "pairs", separator: ",", assign: "=" },
    signatures: [{ label: "v1", algorithm: "hmac-sha256", coding: "hex", key: { coding: "utf8" } }],
    signed: "{timestamp}.{body}",
    timestamp: { at: { label: "t" }, unit: "s", toleranceSeconds: 300 },
  }),
  verifies: true,
  secret: providerSecret("whsec_"),
  type: [{ pointer: ["type"] }],
  ids: [{ pointer: ["id"] }],
  json: true,
};
