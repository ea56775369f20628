import { isIP } from 'node:net';
import { isLoopbackAddress } from '../lib/ip-address.ts';

/**
 * The kind of a Host: this machine (`loopback`), another name of the admin listener, which an attacker cannot bind to
 * its address (`own`), or anything else (`foreign`).
 */
export type HostKind = 'loopback' | 'own' | 'foreign';

/** RFC 9110 §7.2: an IPv6 address in brackets, or a name or IPv4 address, perhaps with a trailing dot; then a port. */
const shape = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9_.-]*[a-z0-9_-])(\.?))(?::[0-9]{0,5})?$/;

/**
 * The kind of a Host header's value. By DNS rebinding, an attacker's page gets an origin at this listener's address and
 * may read its answers. The Host is then a name that the attacker registered. Addresses, `localhost` (RFC 6761 §6.3)
 * and single labels cannot be registered. With a trailing dot a single label is a top-level domain, which can.
 *
 * @param hosts Other names of the listener, in lower case.
 */
export function hostKind(host: string, hosts: readonly string[]): HostKind {
  const [, bracketed, plain, dot] = shape.exec(host.toLowerCase()) ?? [];
  const name = bracketed ?? plain;
  if (name === undefined) return 'foreign';
  if (isIP(name) !== 0) return isLoopbackAddress(name) ? 'loopback' : 'own';
  if (bracketed !== undefined) return 'foreign';
  if (name === 'localhost' || name.endsWith('.localhost')) return 'loopback';
  return hosts.includes(name) || (!name.includes('.') && dot === '') ? 'own' : 'foreign';
}
