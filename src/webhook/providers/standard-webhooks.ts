import type { KeyCoding } from "../signatures/keys.ts";
import { defineScheme } from "../signatures/scheme.ts";
import type { Provider } from "./provider.ts";
import { base64Secret } from "./secret-rules.ts";

const SECRET = { coding: "base64", prefix: "whsec_", prefixRequired: false } as const satisfies KeyCoding;
const PUBLIC_KEY = { coding: "base64", prefix: "whpk_", prefixRequired: true } as const satisfies KeyCoding;

/**
 * Standard Webhooks (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md), also
 * under the header names of Svix. An id that ends in `.digits` is refused: with it the boundary between id, timestamp
 * and body could be moved without breaking the signature, of which the specification warns.
 */
export const standardWebhooks: Provider = {
  kind: "standard_webhooks",
  title: "Standard Webhooks",
  scheme: defineScheme({
    families: [
      { signature: "webhook-signature", timestamp: "webhook-timestamp", id: "webhook-id" },
      { signature: "svix-signature", timestamp: "svix-timestamp", id: "svix-id" },
    ],
    header: { layout: "pairs", separator: " ", assign: "," },
    signatures: [
      { label: "v1", algorithm: "hmac-sha256", coding: "base64", key: SECRET },
      { label: "v1a", algorithm: "ed25519", coding: "base64", key: PUBLIC_KEY },
    ],
    signed: "{id}.{timestamp}.{body}",
    timestamp: { at: "header", unit: "s", toleranceSeconds: 300 },
    idPattern: /^(?!.*\.[0-9]+$)[\x21-\x7e]{1,1024}$/,
  }),
  verifies: true,
  secret: base64Secret(SECRET, PUBLIC_KEY),
  type: [{ pointer: ["type"] }],
  ids: ["signed"],
};
