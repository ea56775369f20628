/**
 * Tokens that the gateway gets for upstreams: token exchange, RFC 8693, phantom tokens, and its own, RFC 6749 §4.4.
 *
 * @module
 */

import type { Capability } from '../capability.ts';
import { hasUpstreamKey, lazilyOn } from '../lazily.ts';
import { reasons } from './reasons.ts';
import { upstreamToken } from './slot.ts';

export const exchange: Capability = {
  name: 'exchange',
  reasons,
  readsPublic: true,
  async read(root, { servers }) {
    if (!hasUpstreamKey(root, 'token', 'exchange', 'client_credentials')) return undefined;
    const { readUpstreamToken } = await import('./settings.ts');
    return (field, route) => {
      const token = readUpstreamToken(field.get('upstream'), route, servers);
      return token && upstreamToken.with(token);
    };
  },
  openProcess: lazilyOn(
    (route) => upstreamToken.of(route) !== undefined,
    async () => (await import('./opened.ts')).openExchange,
  ),
  examine: async (config) => (await import('./doctor.ts')).examineExchanges(config),
};
