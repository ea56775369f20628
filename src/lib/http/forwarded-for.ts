import { isIP } from 'node:net';
import { type IsWithin, plainAddress } from '../ip-address.ts';

/** The most hops of `X-Forwarded-For` that are followed. */
const MAX_HOPS = 32;

/**
 * The hops of a request, from the client to `peer`. Each address was seen by the trusted proxy after it. An entry
 * counts only if every address after it is trusted: the client could have written the others.
 */
export function hopsBefore(peer: string, forwardedFor: string, isTrusted: IsWithin): readonly string[] {
  const hops = [peer];
  for (const entry of forwardedFor.split(',').toReversed()) {
    const address = addressIn(entry.trim());
    if (address === undefined || hops.length > MAX_HOPS) break;
    hops.unshift(address);
    if (!isTrusted(address)) break;
  }
  return hops;
}

/** An address as proxies write it: some add a port, and put IPv6 in brackets. */
function addressIn(entry: string): string | undefined {
  const [, bracketed, dotted] = /^(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+))(?::[0-9]{1,5})?$/.exec(entry) ?? [];
  const address = bracketed ?? dotted ?? entry;
  // A zone (`fe80::1%eth0`) has a meaning on one machine only.
  return isIP(address) === 0 || address.includes('%') ? undefined : plainAddress(address.toLowerCase());
}
