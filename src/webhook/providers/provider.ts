import type { FieldError } from "../../kernel/problems.ts";
import type { HmacSettings } from "../settings.ts";
import type { SignatureScheme } from "../signatures/scheme.ts";
import type { ValueAt } from "../value-at.ts";

/** What Postern knows of a kind of webhook source, as data. */
export type Provider = {
  /** The source's `kind`. */
  readonly kind: string;
  /** What people call it. */
  readonly title: string;
  /** How it signs: the same for all its sources, made from a source's settings, or not at all. */
  readonly scheme: SignatureScheme | null | ((settings: HmacSettings) => SignatureScheme);
  /** True where a signature over the body is checked, so that its events are `verified`. */
  readonly verifies: boolean;
  readonly secret: SecretRule;
  /** The event's type: the texts found at these places joined by dots. Without the first there is none. */
  readonly type: readonly ValueAt[];
  /** Where its own id of an event stands: the first that is there. `signed`: the id that its signature covers. */
  readonly ids: readonly (ValueAt | "signed")[];
  /** Its bodies are JSON whatever their content type says. */
  readonly json?: boolean;
  /** The field that holds the JSON where it sends a form. */
  readonly formField?: string;
  /** Lower-case headers, beside those of the scheme, from which a secret is read. */
  readonly secretHeaders?: readonly string[];
};

/** Who makes a source's secret, and what it looks like. */
export type SecretRule = {
  /** `postern`: made here and shown once, or given; `provider`: shown by the provider, set later; `none`: there is none. */
  readonly origin: "postern" | "provider" | "none";
  /** What such a secret begins with, if anything. */
  readonly prefix: string | null;
  /** A fresh secret, where Postern may make it. */
  readonly generate: (() => string) | null;
  /** What is wrong with a given secret, for the person who sets it; it repeats nothing of the secret. */
  readonly validate: (secret: string) => FieldError | null;
};
