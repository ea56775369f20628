/**
 * Proofs of possession, `docs/sender-constrained-tokens.md`.
 *
 * @module
 */

import type { Capability } from '../capability.ts';
import { lazilyOn } from '../lazily.ts';
import { reasons } from './reasons.ts';
import { dpop, readDpop } from './settings.ts';

export const possession: Capability = {
  name: 'dpop',
  reasons,
  read: () => (field) => {
    const settings = readDpop(field.get('dpop'), field.get('upstream'));
    return settings && dpop.with(settings);
  },
  proofsOf: (route) => dpop.of(route),
  needsShared: ({ routes }) =>
    routes.filter((route) => dpop.of(route) !== undefined).map(({ name }) => `the route ${name} takes DPoP proofs`),
  openProcess: lazilyOn(
    (route) => dpop.of(route) !== undefined,
    async () => (await import('./opened.ts')).openPossession,
  ),
};
