import { BlockList, isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Returns IPv6 as in RFC 5952, IPv4-mapped IPv6 as IPv4, without a zone; undefined for other text. */
export function canonicalAddress(text: string): string | undefined {
  const bare = text.replace(/%.*$/, '');
  const family = isIP(bare);
  if (family !== 6) return family === 4 ? bare : undefined;
  const address = ipaddr.IPv6.parse(bare);
  return address.isIPv4MappedAddress() ? address.toIPv4Address().toString() : address.toRFC5952String();
}

/** Returns the network that rate limits count as one client: an IPv4 address, or an IPv6 /64, usually one customer's. */
export function networkOfClient(ip: string): string {
  if (!ip.includes(':')) return ip;
  const { parts } = ipaddr.IPv6.parse(ip);
  return `${parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}

/** Returns `networkOfClient` of an address, and any other text unchanged: another system may have stored it. */
export function networkOfText(ip: string): string {
  return isIP(ip) === 0 ? ip : networkOfClient(ip);
}

/** Returns an address's wider network, which a provider assigns to one place: /24, IPv6 /48. */
export function wideNetworkOf(ip: string): string {
  if (!ip.includes(':')) return ip.replace(/\.\d+$/, '.0/24');
  const { parts } = ipaddr.IPv6.parse(ip);
  return `${parts
    .slice(0, 3)
    .map((part) => part.toString(16))
    .join(':')}::/48`;
}

/** Matches networks such as `10.0.0.1`, `10.0.0.0/8` or `fd00::/8`. @throws Error for any other entry */
export function createNetworkMatcher(networks: readonly string[]): (ip: string) => boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(network) ?? [];
    if (bits === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(bits), familyOf(address));
  }
  return (ip) => list.check(ip, familyOf(ip));
}

/** Reports whether a text is an IP address or a network. */
export function isNetwork(text: string): boolean {
  try {
    createNetworkMatcher([text]);
    return true;
  } catch {
    return false;
  }
}

function familyOf(ip: string): 'ipv4' | 'ipv6' {
  return isIP(ip) === 6 ? 'ipv6' : 'ipv4';
}
