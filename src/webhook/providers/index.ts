import { DEFAULT_HMAC, type WebhookSettings } from "../settings.ts";
import type { SignatureScheme } from "../signatures/scheme.ts";
import { github } from "./github.ts";
import { hmacSha256 } from "./hmac-sha256.ts";
import type { Provider } from "./provider.ts";
import { standardWebhooks } from "./standard-webhooks.ts";
import { stripe } from "./stripe.ts";
import { unsigned } from "./unsigned.ts";

/** Every kind of webhook source; a new one is a new entry here. */
const PROVIDERS: readonly Provider[] = [stripe, github, hmacSha256, standardWebhooks, unsigned];

const byKind = new Map(PROVIDERS.map((provider) => [provider.kind, provider]));

/** The kinds of webhook source, in the order in which they are shown. */
export const SOURCE_KINDS: readonly string[] = PROVIDERS.map((provider) => provider.kind);

/** The provider of a source's kind, or undefined where there is no such kind. */
export function providerFor(kind: string): Provider | undefined {
  return byKind.get(kind);
}

/** The scheme that a source's transmissions are verified by; null where nothing is. Make it once a source: it holds. */
export function schemeFor({ scheme }: Provider, settings: WebhookSettings): SignatureScheme | null {
  return typeof scheme === "function" ? scheme(settings.hmac ?? DEFAULT_HMAC) : scheme;
}
