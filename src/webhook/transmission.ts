/**
 * One sending by a provider, as the pure parts of the webhook door read it.
 * `headers` is a record and not a `Headers`: it is made once (`request.headers.toJSON()`, 0.4 µs) and read some twenty
 * times, where a look-up in a `Headers` costs as much as ten in a record.
 */
export type Transmission = {
  readonly method: string;
  /**
   * By lower-case name, values without surrounding white space, several of one name joined with `, `: what
   * `Headers.toJSON()` gives. Values are byte strings (Fetch standard): one character a byte.
   */
  readonly headers: Readonly<Record<string, string>>;
  /** The query string without its question mark. */
  readonly query: string;
  /** The bytes exactly as sent, before any content-decoding. */
  readonly body: Uint8Array;
  /** The address the provider was given, for schemes that sign it; behind a proxy only the settings know it. */
  readonly url?: string;
};

/** A header's value by its lower-case name. A name such as `constructor` finds nothing that no one sent. */
export function headerOf(headers: Transmission["headers"], name: string): string | undefined {
  return Object.hasOwn(headers, name) ? headers[name] : undefined;
}
