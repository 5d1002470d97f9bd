import { z } from "zod";
import { parseCidr } from "./cidr.ts";
import { parseListen } from "./listen.ts";

/** What the schema knows of a key besides its checks. */
export type KeyNotes = {
  /** A value to show where there is no default. */
  example?: unknown;
  /** Names a file or folder: relative ones are resolved when loaded. */
  path?: true;
  /** `value`: never shown. `url`: shown without its password and query. `members`: a table whose values are never shown. */
  secret?: "value" | "url" | "members";
  /** A small table, written on one line. */
  inline?: true;
};

/** A schema with its documentation: one sentence or more, in a form that reads well in the example file and in `postern help`. */
export function documented<S extends z.ZodType>(schema: S, description: string, notes: KeyNotes = {}): S {
  return schema.meta({ description, ...notes });
}

/** A string that `wrong` finds nothing wrong with; what it answers stands after the key's name in the error. */
export function textThat(wrong: (text: string) => string | undefined) {
  return z.string().superRefine((text, context) => {
    const found = wrong(text);
    if (found !== undefined) context.addIssue(found);
  });
}

/** A string of a pattern; `what` completes "must be". */
export function textLike(pattern: RegExp, what: string) {
  return textThat((text) => (pattern.test(text) ? undefined : `must be ${what}`));
}

/** A string of 1 to `max` characters without control characters. */
export function line(max: number) {
  return textThat((text) => {
    if (text === "") return "must not be empty";
    if (text.length > max) return `must have at most ${max} characters`;
    return CONTROL.test(text) ? "must not hold control characters" : undefined;
  });
}
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the purpose
const CONTROL = /[\u0000-\u001f\u007f]/;

/** A whole number within bounds, both included. */
export function integer(min: number, max: number) {
  return z.number().superRefine((value, context) => {
    if (!Number.isInteger(value)) context.addIssue("must be a whole number");
    else if (value < min || value > max) context.addIssue(`must be from ${min} to ${max}`);
  });
}

/** The name of a project, source or route. */
export function slug() {
  return textLike(
    /^[a-z0-9][a-z0-9_-]{0,62}$/,
    "1 to 63 lower-case letters, digits, `_` and `-`, beginning with a letter or digit",
  );
}

/** An address to listen on. */
export function listenAddress() {
  return textThat((text) => {
    const parsed = parseListen(text);
    return "wrong" in parsed ? parsed.wrong : undefined;
  });
}

/** A list of networks. */
export function networks() {
  return z.array(
    textThat((text) =>
      parseCidr(text) ? undefined : "must be a network such as 10.0.0.0/8 or fd00::/8, or one IP address",
    ),
  );
}

/** The name of an HTTP header field (RFC 9110 §5.1). */
export function headerName() {
  return textLike(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$/, "the name of an HTTP header");
}

/** An `http` or `https` URL without a user and password, at most 2,048 characters. */
export function httpUrl() {
  return textThat(wrongHttpUrl);
}

/** What is wrong with an `http` or `https` URL, if anything. */
export function wrongHttpUrl(text: string): string | undefined {
  if (text.length > 2048) return "must have at most 2048 characters";
  if (!/^https?:\/\/[^/]/i.test(text) || /\s/.test(text) || !URL.canParse(text)) {
    return "must be a URL that begins with https:// or http://";
  }
  const url = new URL(text);
  return url.username === "" && url.password === "" ? undefined : "must not hold a user name or password";
}

/** A mail address as SMTP takes it, without a display name; not the whole of RFC 5321, but nothing that could break a header. */
export const MAIL_ADDRESS = /^[^\s@<>"(),:;[\]\\]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?$/;

/** A domain name of ASCII letters, digits and hyphens (RFC 1123 §2.1). */
export const DOMAIN =
  /^(?=.{1,253}$)[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/;
