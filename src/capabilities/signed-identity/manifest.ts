/**
 * Signed identities for upstreams, `docs/upstream-identity.md`.
 *
 * @module
 */

import { claimPathMistake } from '../../policy-files/claim-path.ts';
import type { Violation } from '../../core/config/schema.ts';
import type { Config } from '../../ports/config.ts';
import type { Capability } from '../capability.ts';
import { hasUpstreamKey, lazilyOn } from '../lazily.ts';
import { signedIdentity } from './slot.ts';

export const signedIdentities: Capability = {
  name: 'signed',
  async read(root) {
    if (!hasUpstreamKey(root, 'identity')) return undefined;
    const { readSignedIdentity } = await import('./settings.ts');
    return (field, route) => {
      const settings = readSignedIdentity(field.get('upstream').get('identity'), route.upstream);
      return settings && signedIdentity.with(settings);
    };
  },
  statementOf: (route) => signedIdentity.of(route),
  warningsOf: claimPaths,
  openProcess: lazilyOn(
    (route) => signedIdentity.of(route) !== undefined,
    async () => (await import('./opened.ts')).openSignedIdentity,
  ),
};

/** Names of claims that are written as paths. */
function claimPaths({ routes }: Pick<Config, 'routes'>): readonly Violation[] {
  return routes.flatMap((route, index) =>
    (signedIdentity.of(route)?.claims ?? []).flatMap((claim, at) => {
      const message = claimPathMistake(claim);
      if (message === undefined) return [];
      return { path: ['routes', index, 'upstream', 'identity', 'signed', 'claims', at], part: 'value', message };
    }),
  );
}
