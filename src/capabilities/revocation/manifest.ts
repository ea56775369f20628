/**
 * Rights that end before tokens expire, `docs/revocation.md`.
 *
 * @module
 */

import type { Violation } from '../../core/config/schema.ts';
import type { Config } from '../../ports/config.ts';
import type { RevocationState } from '../../ports/revocation.ts';
import type { Capability } from '../capability.ts';
import { joinedRevocation, revocationAnswers } from './questions.ts';
import { insecureIssuer } from '../../tokens/servers/settings.ts';
import { revocationSettings } from './slot.ts';
import type { RevocationSettings } from './sources.ts';

export const revocation: Capability = {
  name: 'revocation',
  revocation: {
    settingsOf: (config) => revocationSettings.of(config),
    open: async (parts) =>
      revocationSettings.of(parts.config) && (await import('./revocations.ts')).Revocations.open(parts),
    answers: revocationAnswers,
    follow: async (config, parts) => (await import('./told.ts')).followRevocations(config, parts),
  },
  async readSection(root, referents) {
    const field = root.get('revocation').given();
    if (field === undefined) return undefined;
    const { readRevocation } = await import('./settings.ts');
    return revocationSettings.with(readRevocation(field, referents));
  },
  restarts: { 'revocation.file': { slot: revocationSettings, member: 'file' } },
  joinStates: (states: readonly { readonly revocation?: RevocationState }[]) => ({
    revocation: joinedRevocation(states.flatMap((each) => each.revocation ?? [])),
  }),
  openAdmin: async (parts) => (await import('./pages.ts')).revocationPages(parts),
  warningsOf: flawsOf,
  needsShared: (config) => (revocationSettings.of(config) === undefined ? [] : ['it has revocation']),
};

function flawsOf(config: Pick<Config, 'shared' | 'slots'>): readonly Violation[] {
  const settings = revocationSettings.of(config);
  if (settings === undefined) return [];
  return [...forgottenRevocations(settings, config), ...insecureSources(settings)];
}

function forgottenRevocations(settings: RevocationSettings, { shared }: Pick<Config, 'shared'>): readonly Violation[] {
  if (shared === undefined && settings.file === undefined) {
    const message = 'keeps revocations in memory, and a restart forgets them: set revocation.file, or shared';
    return [{ path: ['revocation'], part: 'key', message }];
  }
  if (shared === undefined || settings.file === undefined) return [];
  const message = 'has no effect with shared, which keeps revocations: remove it';
  return [{ path: ['revocation', 'file'], part: 'value', message }];
}

function insecureSources({ sources }: RevocationSettings): readonly Violation[] {
  return Array.from(sources).flatMap(([name, { issuer }]) => insecureIssuer(['revocation', 'events', name], issuer));
}
