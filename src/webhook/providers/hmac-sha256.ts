import type { HmacSettings } from "../settings.ts";
import { defineScheme, type SignatureScheme } from "../signatures/scheme.ts";
import type { Provider } from "./provider.ts";
import { TEXT_SECRET } from "./secret-rules.ts";

/** Any sender that signs with HMAC-SHA-256, as the source's settings describe it. */
export const hmacSha256: Provider = {
  kind: "hmac_sha256",
  title: "HMAC-SHA-256",
  scheme: schemeFrom,
  verifies: true,
  secret: TEXT_SECRET,
  type: [],
  ids: [{ header: "webhook-id" }],
};

function schemeFrom(settings: HmacSettings): SignatureScheme {
  const { header, timestamp_header, encoding, prefix, signed, tolerance_seconds } = settings;
  return defineScheme({
    families: [timestamp_header === null ? { signature: header } : { signature: header, timestamp: timestamp_header }],
    header: { layout: "whole", prefix },
    // Nobody's library is the reference here, and some languages write hex in upper case.
    signatures: [
      { label: "", algorithm: "hmac-sha256", coding: encoding === "hex" ? "HEX" : "base64", key: { coding: "utf8" } },
    ],
    signed,
    ...(timestamp_header === null
      ? {}
      : { timestamp: { at: "header" as const, unit: "s" as const, toleranceSeconds: tolerance_seconds } }),
  });
}
