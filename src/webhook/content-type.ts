/** A media type: lower-case `type/subtype` and the two parameters that decide how a body is read. */
export type ContentType = {
  readonly essence: string;
  readonly charset: string | undefined;
  readonly boundary: string | undefined;
};

const ESSENCE = /^\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+\/[!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*(?:;|$)/;
const PARAMETER = /;\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)=(?:"((?:[^"\\]|\\.)*)"|([^;]*))/g;

/** Reads a `Content-Type` header; null where there is none or it names no type (WHATWG MIME Sniffing, 4.4). */
export function parseContentType(header: string | undefined): ContentType | null {
  const essence = header === undefined ? undefined : ESSENCE.exec(header)?.[1];
  if (header === undefined || essence === undefined) return null;
  const parameters = new Map<string, string>();
  if (header.includes(";")) {
    for (const [, name = "", quoted, bare = ""] of header.matchAll(PARAMETER)) {
      const value = quoted === undefined ? bare.trim() : quoted.replace(/\\(.)/g, "$1");
      // Of a repeated parameter the first counts.
      if (!parameters.has(name.toLowerCase())) parameters.set(name.toLowerCase(), value);
    }
  }
  return {
    essence: essence.toLowerCase(),
    charset: parameters.get("charset"),
    boundary: parameters.get("boundary"),
  };
}

/** JSON by its type: `application/json`, another `…/json`, or the suffix `+json` (RFC 6839). */
export function isJsonType({ essence }: ContentType): boolean {
  return essence.endsWith("/json") || essence.endsWith("+json");
}

/** XML by its type: `…/xml` or the suffix `+xml` (RFC 7303). */
export function isXmlType({ essence }: ContentType): boolean {
  return essence.endsWith("/xml") || essence.endsWith("+xml");
}

/** Text by its type: `text/…` and XML. */
export function isTextType(type: ContentType): boolean {
  return type.essence.startsWith("text/") || isXmlType(type);
}
