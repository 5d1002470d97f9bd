/** The bytes of an HTTP/1.1 request with a body. */
export function requestBytes(
  path: string,
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array,
): Buffer<ArrayBuffer> {
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  const lines = Object.entries({ host: "127.0.0.1", ...headers, "content-length": String(bytes.length) });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return Buffer.concat([Buffer.from(`POST ${path} HTTP/1.1\r\n${head}\r\n`), bytes]);
}

/** A POST of JSON, with an API key where one is given. */
export function jsonRequest(path: string, body: unknown, key?: string): Buffer<ArrayBuffer> {
  const authorization: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  return requestBytes(path, { ...authorization, "content-type": "application/json" }, JSON.stringify(body));
}
