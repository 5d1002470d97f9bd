import { defineScheme } from "../signatures/scheme.ts";
import type { Provider } from "./provider.ts";
import { TEXT_SECRET } from "./secret-rules.ts";

/**
 * GitHub: https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries. The SHA-1 header beside it
 * counts for nothing. A hook set to form encoding sends the JSON in the field `payload` and signs the form.
 */
export const github: Provider = {
  kind: "github",
  title: "GitHub",
  scheme: defineScheme({
    families: [{ signature: "x-hub-signature-256" }],
    header: { layout: "whole", prefix: "sha256=" },
    signatures: [{ label: "", algorithm: "hmac-sha256", coding: "hex", key: { coding: "utf8" } }],
    signed: "{body}",
  }),
  verifies: true,
  secret: TEXT_SECRET,
  type: [{ header: "x-github-event" }, { pointer: ["action"] }],
  ids: [{ header: "x-github-delivery" }],
  formField: "payload",
};
