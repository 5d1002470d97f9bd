/** The one short hexadecimal way of writing an IPv6 address (RFC 5952, without the dotted form); its zone is left out. */
export function canonicalV6(address: string): string {
  const withoutZone = address.split("%", 1)[0] ?? "";
  return new URL(`http://[${withoutZone}]`).hostname.slice(1, -1);
}

/** The IPv4 address inside `::ffff:a.b.c.d` (RFC 4291 §2.5.5.2), however it is written. */
export function mappedV4(address: string): string | undefined {
  const parts = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(canonicalV6(address));
  if (!parts) return undefined;
  const high = Number.parseInt(parts[1] ?? "", 16);
  const low = Number.parseInt(parts[2] ?? "", 16);
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}
