/**
 * What leads to this machine. No page of the web can have such an origin, RFC 6761 §6.3, and no code that goes there
 * crosses a network.
 *
 * @module
 */

import { createIsWithin } from './ip-address.ts';

/** The networks of the machine's own addresses, RFC 1122 §3.2.1.3, RFC 4291 §2.5.3. */
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
