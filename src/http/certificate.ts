import { readFileSync } from "node:fs";
import type { Config } from "../config/schema.ts";

/** A certificate chain and its private key, as PEM. */
export type Certificate = { cert: string; key: string };

/** Why a certificate cannot be used: a sentence for the operator, that begins with the setting's name. */
export type NoCertificate = { wrong: string };

/** What `http.tls_cert` and `http.tls_key` name, checked to belong together; null where they are not set. */
export async function readCertificate({ http }: Config): Promise<Certificate | NoCertificate | null> {
  if (http.tls_cert === undefined || http.tls_key === undefined) return null;
  const cert = readPem(http.tls_cert, "http.tls_cert");
  if (typeof cert !== "string") return cert;
  const key = readPem(http.tls_key, "http.tls_key");
  if (typeof key !== "string") return key;
  const { createSecureContext } = await import("node:tls");
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    return { wrong: `http.tls_cert and http.tls_key: ${whyUnusable(error)}` };
  }
  return { cert, key };
}

/** OpenSSL's reason codes in words; the file's content must not reach the log. */
function whyUnusable(error: unknown): string {
  const reason = error instanceof Error ? error.message : "";
  if (reason.includes("KEY_VALUES_MISMATCH")) return "the key is not the certificate's";
  if (reason.includes("NO_START_LINE")) return "one of them is not PEM (it begins with no -----BEGIN line)";
  return `they cannot be used (${/[A-Z_]{6,}$/.exec(reason)?.[0] ?? "unknown reason"})`;
}

function readPem(path: string, setting: string): string | NoCertificate {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
    return { wrong: `${setting}: ${path} cannot be read (${String(error.code)})` };
  }
}
