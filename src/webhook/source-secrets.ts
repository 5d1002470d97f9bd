/** One secret of a source; `until` (wall milliseconds) ends a rotated one. */
export type SourceSecret = { secret: string; until: number | null };

/** A rotated secret stays valid this long unless told otherwise (contract, section 3). */
const GRACE_SECONDS = 86_400;

/** A source accepts at most this many secrets at a time, so that a check stays cheap. */
const MAX_SECRETS = 8;

/** The secrets that count at this time. */
export function liveSecrets(source: { readonly secrets: readonly SourceSecret[] }, wallNow: number): string[] {
  return source.secrets.filter(({ until }) => until === null || until > wallNow).map(({ secret }) => secret);
}

/** The secrets after a rotation: the new one first, those before it until the grace time or their own earlier end. */
export function rotated(
  before: readonly SourceSecret[],
  secret: string,
  wallNow: number,
  graceSeconds = GRACE_SECONDS,
): SourceSecret[] {
  const end = wallNow + graceSeconds * 1000;
  const kept = before
    .filter((old) => old.secret !== secret)
    .map((old) => ({ secret: old.secret, until: Math.min(old.until ?? end, end) }))
    .filter((old) => old.until > wallNow);
  return [{ secret, until: null }, ...kept].slice(0, MAX_SECRETS);
}
