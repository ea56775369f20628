import { isIPv6 } from 'node:net';

/**
 * What one person has of the Internet: an IPv4 address, or the /64 of an IPv6 address (RFC 6177 §2: a subscriber gets no
 * less, and may use any address in it). What is no address stays as it is.
 */
export function addressBlock(address: string): string {
  if (!address.includes(':')) return address;
  const [plain = ''] = address.split('%');
  if (!isIPv6(plain)) return address;
  // The URL parser writes RFC 5952's one form of it.
  const text = new URL(`http://[${plain}]`).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(text) ?? [];
  if (high !== undefined && low !== undefined) return dotted(parseInt(high, 16), parseInt(low, 16));
  const [head = '', tail] = text.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: tail === undefined ? 0 : 8 - left.length - right.length }, () => '0');
  return `${[...left, ...zeros, ...right].slice(0, 4).join(':')}::/64`;
}

/** RFC 4291 §2.5.5.2: an IPv4 address as a socket of both families shows it. */
function dotted(high: number, low: number): string {
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}
