import { BlockList, isIP } from "node:net";
import { canonicalV6, mappedV4 } from "./ip.ts";

/** A network: an address of it and how many leading bits count. */
export type Cidr = { family: 4 | 6; address: string; prefix: number };

/**
 * Parses `192.168.1.0/24`, `fd00::/8` or one address alone. Bits after the prefix are ignored, as in a routing table.
 * A network of IPv4 addresses mapped into IPv6 (`::ffff:10.0.0.0/104`) is that IPv4 network. Undefined: not a network.
 */
export function parseCidr(text: string): Cidr | undefined {
  const parts = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text);
  if (!parts) return undefined;
  const [, written = "", digits] = parts;
  const kind = isIP(written);
  if (kind === 0) return undefined;
  const prefix = digits === undefined ? (kind === 4 ? 32 : 128) : Number(digits);
  if (prefix > (kind === 4 ? 32 : 128)) return undefined;
  if (kind === 4) return { family: 4, address: written, prefix };
  const mapped = mappedV4(written);
  if (mapped !== undefined && prefix >= 96) return { family: 4, address: mapped, prefix: prefix - 96 };
  return { family: 6, address: canonicalV6(written), prefix };
}

/**
 * A set of networks. An IPv4 address mapped into IPv6, as a dual-stack listener reports its peers, is that IPv4
 * address. The families are kept in lists of their own: in one `BlockList`, `::/0` would hold every IPv4 address too.
 */
export class CidrSet {
  readonly #v4 = new BlockList();
  readonly #v6 = new BlockList();

  constructor(networks: Iterable<Cidr>) {
    for (const { family, address, prefix } of networks) {
      if (family === 4) this.#v4.addSubnet(address, prefix, "ipv4");
      else this.#v6.addSubnet(address, prefix, "ipv6");
    }
  }

  /** True if one of the networks holds the address. What is not an IP address is in none. */
  contains(address: string): boolean {
    const kind = isIP(address);
    if (kind === 0) return false;
    if (kind === 4) return this.#v4.check(address, "ipv4");
    const mapped = mappedV4(address);
    if (mapped !== undefined) return this.#v4.check(mapped, "ipv4");
    return this.#v6.check(canonicalV6(address), "ipv6");
  }
}

/** The set of networks written in a checked list of the configuration. */
export function cidrSet(texts: readonly string[]): CidrSet {
  return new CidrSet(texts.map((text) => parseCidr(text)).filter((cidr) => cidr !== undefined));
}
