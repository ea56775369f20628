import { isIPv4, isIPv6 } from 'node:net';
import { refuse } from './values.ts';

/** An address, or a network in CIDR notation (RFC 4632 §3.1, RFC 4291 §2.3), in lower case. */
export function network(text: string): string {
  const [address = '', prefix, ...rest] = text.toLowerCase().split('/');
  const size = isIPv4(address) ? 32 : 128;
  if (rest.length > 0 || !(isIPv4(address) || (isIPv6(address) && !address.includes('%')))) {
    refuse('is neither an address nor a network such as 10.0.0.0/8');
  }
  // Peers are compared in the form of IPv4, however the socket gives them.
  if (size === 128 && bits(address) >> 32n === 0xffffn) refuse('is an address of IPv4: write it as one');
  if (prefix === undefined) return address;
  if (!/^(?:0|[1-9][0-9]{0,2})$/.test(prefix) || Number(prefix) > size) refuse(`has a prefix that is not 0 to ${size}`);
  // `10.1.2.3/8`: one address or sixteen million? Trusting is nothing to guess at.
  if ((bits(address) & ((1n << BigInt(size - Number(prefix))) - 1n)) !== 0n) {
    refuse('has bits beyond its prefix: give the network’s own address, or the address without prefix');
  }
  return `${address}/${prefix}`;
}

/** An address as a number. */
function bits(address: string): bigint {
  if (isIPv4(address)) return join(address.split('.').map(Number), 8n);
  // The URL parser writes groups in hexadecimal throughout, and at most one `::`.
  const [before = '', after] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const [high, low] = [before, after ?? ''].map((part) => (part === '' ? [] : part.split(':')));
  const zeros = Array.from({ length: 8 - (high?.length ?? 0) - (low?.length ?? 0) }, () => '0');
  return join(
    [...(high ?? []), ...zeros, ...(low ?? [])].map((group) => Number.parseInt(group, 16)),
    16n,
  );
}

function join(groups: readonly number[], width: bigint): bigint {
  return groups.reduce((sum, group) => (sum << width) | BigInt(group), 0n);
}
