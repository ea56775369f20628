import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';

/** An address, where an IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2) becomes the plain IPv4 address. */
export function plainAddress(address: string): string {
  const mapped = address.startsWith('::ffff:') ? address.slice(7) : '';
  return isIPv4(mapped) ? mapped : address;
}

/**
 * The addresses that count as one client: an IPv4 address, or the /64 of an IPv6 address. A subscriber gets at least a
 * /64, and may use any address in it (RFC 6177 §2). Any other text is returned unchanged.
 */
export function addressBlock(address: string): string {
  if (!address.includes(':')) return address;
  const [plain = ''] = address.split('%');
  if (!isIPv6(plain)) return address;
  const bits = addressBits(plain);
  if (isMappedIPv4(bits)) return [24n, 16n, 8n, 0n].map((shift) => (bits >> shift) & 0xffn).join('.');
  return `${[112n, 96n, 80n, 64n].map((shift) => ((bits >> shift) & 0xffffn).toString(16)).join(':')}::/64`;
}

/** Whether an address is within a list of addresses and networks. */
export type IsWithin = (address: string) => boolean;

/** Creates {@link IsWithin} for `networks`: addresses, and networks such as `10.0.0.0/8`. */
export function createIsWithin(networks: readonly string[]): IsWithin {
  const within = new BlockList();
  for (const network of networks) {
    const [address = '', prefix] = network.split('/');
    const family = isIPv4(address) ? 'ipv4' : 'ipv6';
    if (prefix === undefined) within.addAddress(address, family);
    else within.addSubnet(address, Number(prefix), family);
  }
  return (address) => isIP(address) !== 0 && within.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');
}

/** An IPv4 or IPv6 address without a zone as a number of 32 or 128 bits. */
export function addressBits(address: string): bigint {
  if (isIPv4(address)) return joined(address.split('.').map(Number), 8n);
  // The URL parser writes groups in hexadecimal throughout, and at most one `::`.
  const [before = '', after] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const [high = [], low = []] = [before, after ?? ''].map((part) => (part === '' ? [] : part.split(':')));
  const zeros = Array.from({ length: 8 - high.length - low.length }, () => '0');
  return joined(
    [...high, ...zeros, ...low].map((group) => Number.parseInt(group, 16)),
    16n,
  );
}

/** Whether the bits of an IPv6 address are those of an IPv4 address, RFC 4291 §2.5.5.2. */
export function isMappedIPv4(bits: bigint): boolean {
  return bits >> 32n === 0xffffn;
}

function joined(groups: readonly number[], width: bigint): bigint {
  return groups.reduce((sum, group) => (sum << width) | BigInt(group), 0n);
}

/**
 * The networks of the machine's own addresses, RFC 1122 §3.2.1.3, RFC 4291 §2.5.3. No page of the web can have such an
 * origin (RFC 6761 §6.3), and no code that is sent there crosses a network.
 */
export const loopbackNetworks: readonly string[] = ['127.0.0.0/8', '::1'];

/** The hosts by which programs reach their own machine, as in a URL. Programs use no other address of `127.0.0.0/8`. */
export const loopbackHosts: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

const escaped = loopbackHosts.map((host) => host.replaceAll(/[.[\]]/g, String.raw`\$&`));
/** {@link loopbackHosts}, as a part of a regular expression. */
export const loopbackHostPattern = `(?:${escaped.join('|')})`;

/** Whether an address is one of this machine's own; IPv4 in IPv6 form too. */
export const isLoopbackAddress = createIsWithin(loopbackNetworks);

/** Whether the host of a URL is this machine by its name or any of its addresses. */
export function isLoopbackUrl(url: string): boolean {
  const { hostname } = new URL(url);
  return loopbackHosts.includes(hostname) || isLoopbackAddress(hostname);
}
