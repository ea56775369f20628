/**
 * Decisions for proxies that forward requests themselves, `docs/forward-auth.md`.
 *
 * @module
 */

import type { Capability } from '../capability.ts';
import { reasons } from './reasons.ts';
import { forwardAuth, readForwardAuth } from './settings.ts';

export const proxiesThatAsk: Capability = {
  name: 'forward_auth',
  reasons,
  readSection(root, referents) {
    const settings = readForwardAuth(root.get('forward_auth'), referents);
    return settings && forwardAuth.with(settings);
  },
  restarts: { 'forward_auth.listen': { slot: forwardAuth, member: 'listen', others: { trusted: [] } } },
  async openListener(config) {
    const settings = forwardAuth.of(config);
    return settings && (await import('./forward-auth.ts')).createListener(settings.listen);
  },
};
