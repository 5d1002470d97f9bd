import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import type { SignatureScheme } from "../../../src/webhook/signatures/scheme.ts";
import { verify } from "../../../src/webhook/signatures/verify.ts";
import { corpusMissing, corpusPath, readCorpusJson } from "../../support/corpus.ts";
import { describeWith, needsCorpus } from "../../support/needs.ts";
import { scheme, transmission } from "../support.ts";
import { otherProviders } from "./other-providers.ts";

type Vector = {
  id: string;
  scheme: string;
  name: string;
  secret?: string;
  secret_base64?: string;
  public_key?: string;
  encoding?: "hex" | "base64";
  headers: Record<string, string>;
  method?: string;
  url?: string;
  body?: string;
  body_base64?: string;
  now?: number;
  timestamp?: number;
  tolerance_s?: number;
  valid: boolean;
  ambiguous?: boolean;
};

/**
 * Schemes that the engine has no words for, and why: HubSpot's first two hash the secret with the content instead of
 * using an HMAC, Twilio signs sorted form fields, Mailgun signs no body, GitLab's old token is no signature.
 */
const NOT_CARRIED = new Set(["hubspot-v1", "hubspot-v2", "twilio", "mailgun", "gitlab-token"]);

/**
 * Vectors on which the libraries differ, with Postern's answer: a list where the provider sends none is refused, hex is
 * lower case where the provider's is, a timestamp from the future is refused, white space around list items is none.
 */
const DECIDED: Record<string, boolean> = {
  "github-16": false,
  "github-17": true,
  "github-21": false,
  "hmac_sha256-03": false,
  "stripe-17": false,
  "stripe-18": false,
  "stripe-21": true,
  "stripe-25": false,
  "standard-webhooks-20": true,
};

function schemeOf(vector: Vector): SignatureScheme | undefined {
  if (vector.scheme === "hmac_sha256") {
    const prefix = vector.headers["X-Signature"]?.startsWith("sha256=") ? "sha256=" : "";
    return scheme("hmac_sha256", { header: "x-signature", prefix, encoding: vector.encoding ?? "hex" });
  }
  if (vector.scheme === "timestamp.body") {
    const settings = {
      header: "x-signature",
      prefix: "",
      signed: "{timestamp}.{body}",
      timestamp_header: "x-timestamp",
    };
    return scheme("hmac_sha256", settings);
  }
  if (vector.scheme === "standard-webhooks" || vector.scheme === "svix") return scheme("standard_webhooks");
  if (vector.scheme === "github" || vector.scheme === "stripe") return scheme(vector.scheme);
  return Object.entries(otherProviders).find(([name]) => name === vector.scheme)?.[1];
}

function verdictOf(vector: Vector) {
  let made = schemeOf(vector);
  if (!made) throw new Error(`no scheme for ${vector.scheme}`);
  if (made.timestamp && vector.tolerance_s !== undefined) {
    made = { ...made, timestamp: { ...made.timestamp, toleranceSeconds: vector.tolerance_s } };
  }
  let secret = vector.secret ?? vector.public_key ?? "";
  if (vector.secret_base64 !== undefined) {
    // Keys that are no text: the same scheme, its key written in hex.
    secret = Buffer.from(vector.secret_base64, "base64").toString("hex");
    made = { ...made, signatures: made.signatures.map((kind) => ({ ...kind, key: { coding: "hex" } })) };
  }
  const body = vector.body_base64 === undefined ? (vector.body ?? "") : Buffer.from(vector.body_base64, "base64");
  const { method, url } = vector;
  const sent = transmission(vector.headers, body, { ...(method && { method }), ...(url && { url }) });
  return verify(made, [secret], sent, (vector.now ?? vector.timestamp ?? 0) * 1000);
}

const needs = needsCorpus();

describeWith(needs)("the collected signature vectors", () => {
  const files = corpusMissing ? [] : readdirSync(corpusPath("signatures"));
  const vectors = files.flatMap((file) => readCorpusJson<Vector[]>("signatures", file));

  test("there are some for every scheme of ours", () => {
    const schemes = new Set(vectors.map((vector) => vector.scheme));
    for (const name of ["github", "stripe", "hmac_sha256", "standard-webhooks", "svix"])
      expect(schemes).toContain(name);
  });

  for (const vector of vectors.filter((one) => !NOT_CARRIED.has(one.scheme))) {
    test(`${vector.id}: ${vector.name}`, () => {
      if (vector.ambiguous) expect(DECIDED).toHaveProperty(vector.id);
      expect(verdictOf(vector).ok).toBe(DECIDED[vector.id] ?? vector.valid);
    });
  }
});
