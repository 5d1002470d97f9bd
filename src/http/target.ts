/**
 * A request's path and query out of `request.url`, which is an absolute URL, or the path alone where the Host header is
 * no host: `new URL` would throw there.
 */
function pathStart(url: string): number {
  return url.startsWith("/") ? 0 : url.indexOf("/", url.indexOf("//") + 2);
}

/** The path, without the query. */
export function pathOf(url: string): string {
  const start = pathStart(url);
  const end = url.indexOf("?", start);
  return url.slice(start, end < 0 ? undefined : end);
}

/** The query without its question mark; empty for none. */
export function queryTextOf(url: string): string {
  const at = url.indexOf("?", pathStart(url));
  return at < 0 ? "" : url.slice(at + 1);
}

/** A query as it is read only, so that a request without one makes none. */
export type Query = Pick<URLSearchParams, "get" | "getAll" | "keys">;

const NO_QUERY: Query = new URLSearchParams();

/** The query's members. */
export function queryOf(url: string): Query {
  const text = queryTextOf(url);
  return text === "" ? NO_QUERY : new URLSearchParams(text);
}
