/**
 * Header fields that the gateway itself sends to an upstream, `docs/upstreams.md`.
 *
 * @module
 */

import { quoted } from '../../core/lib/wording.ts';
import type { Route } from '../../core/model/route.ts';
import type { Capability } from '../capability.ts';
import { hasUpstreamKey, lazilyOn } from '../lazily.ts';
import { reasons } from './reasons.ts';
import { upstreamHeaders } from './slot.ts';

export const ownHeaders: Capability = {
  name: 'headers',
  reasons,
  readsPublic: true,
  async read(root) {
    if (!hasUpstreamKey(root, 'headers')) return undefined;
    const { readUpstreamHeaders } = await import('./settings.ts');
    return (field, route) => {
      const settings = readUpstreamHeaders(field.get('upstream'), route);
      return settings && upstreamHeaders.with(settings);
    };
  },
  ownFieldsOf: (route) => upstreamHeaders.of(route),
  openProcess: lazilyOn(
    (route) => upstreamHeaders.of(route) !== undefined,
    async () => (await import('./opened.ts')).openUpstreamHeaders,
  ),
  notesOn: chosenByCaller,
};

/** An explanation knows the policy alone. */
function chosenByCaller(route: Pick<Route, 'slots'>): readonly string[] {
  return (upstreamHeaders.of(route)?.chosen ?? [])
    .filter(({ fallback }) => fallback === undefined)
    .map(
      ({ name, claim }) =>
        `${name}: the upstream's header depends on the claim ${quoted(claim)}; a caller without an entry is refused`,
    );
}
