import { isIPv4, isIPv6 } from 'node:net';
import { addressBits, isMappedIPv4 } from '../lib/ip-address.ts';
import { refuse } from './values.ts';

/** An address, or a network in CIDR notation (RFC 4632 §3.1, RFC 4291 §2.3), in lower case. */
export function network(text: string): string {
  const [address = '', prefix, ...rest] = text.toLowerCase().split('/');
  const size = isIPv4(address) ? 32 : 128;
  if (rest.length > 0 || !(isIPv4(address) || (isIPv6(address) && !address.includes('%')))) {
    refuse('is neither an address nor a network such as 10.0.0.0/8');
  }
  // Peers are compared in the form of IPv4, however the socket gives them.
  if (size === 128 && isMappedIPv4(addressBits(address))) refuse('is an address of IPv4: write it as one');
  if (prefix === undefined) return address;
  if (!/^(?:0|[1-9][0-9]{0,2})$/.test(prefix) || Number(prefix) > size) refuse(`has a prefix that is not 0 to ${size}`);
  // `10.1.2.3/8`: one address or sixteen million? Trusting is nothing to guess at.
  if ((addressBits(address) & ((1n << BigInt(size - Number(prefix))) - 1n)) !== 0n) {
    refuse('has bits beyond its prefix: give the network’s own address, or the address without prefix');
  }
  return `${address}/${prefix}`;
}
