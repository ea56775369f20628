import { addressBlock } from '../lib/address-block.ts';
import type { Call } from '../model/call.ts';

/** Addresses that are remembered at most: clients write the header themselves, and must not fill the log. */
const MAX_ADDRESSES = 100;

/**
 * Creates the warning that the address of a call, which exceeded `limits.failures`, may be a proxy of our own: it sends
 * `X-Forwarded-For`, which does not count. All its callers share one limit then. Each address is warned of once.
 */
export function createUnlistedProxyWarning(warn: (address: string) => void): (call: Call) => void {
  const warned = new Set<string>();
  return ({ client, peer, fields }) => {
    if (client !== peer || !fields.names.includes('x-forwarded-for')) return;
    const address = addressBlock(peer);
    if (warned.size >= MAX_ADDRESSES || warned.has(address)) return;
    warned.add(address);
    warn(peer);
  };
}
