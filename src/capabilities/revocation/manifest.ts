/**
 * Rights that end before tokens expire, `docs/revocation.md`.
 *
 * @module
 */

import type { Violation } from '../../core/config/schema.ts';
import type { Config } from '../../core/model/config.ts';
import type { RevocationState } from '../../core/model/revocation.ts';
import type { Capability } from '../capability.ts';
import { joinedRevocation, revocationAnswers } from './questions.ts';
import { readRevocation } from './settings.ts';

export const revocation: Capability = {
  name: 'revocation',
  revocation: {
    read: readRevocation,
    open: async (parts) => (await import('./revocations.ts')).Revocations.open(parts),
    answers: revocationAnswers,
    follow: async (config, parts) => (await import('./told.ts')).followRevocations(config, parts),
  },
  joinStates: (states: readonly { readonly revocation?: RevocationState }[]) => ({
    revocation: joinedRevocation(states.flatMap((each) => each.revocation ?? [])),
  }),
  openAdmin: async (parts) => (await import('./pages.ts')).revocationPages(parts),
  warningsOf: forgottenRevocations,
  needsShared: (config) => (config.revocation === undefined ? [] : ['it has revocation']),
};

function forgottenRevocations({
  revocation: settings,
  shared,
}: Pick<Config, 'shared' | 'revocation'>): readonly Violation[] {
  if (settings === undefined) return [];
  if (shared === undefined && settings.file === undefined) {
    const message = 'keeps revocations in memory, and a restart forgets them: set revocation.file, or shared';
    return [{ path: ['revocation'], part: 'key', message }];
  }
  if (shared === undefined || settings.file === undefined) return [];
  const message = 'has no effect with shared, which keeps revocations: remove it';
  return [{ path: ['revocation', 'file'], part: 'value', message }];
}
