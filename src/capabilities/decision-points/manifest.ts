/**
 * External decision points, `docs/decision-points.md`.
 *
 * @module
 */

import type { Violation } from '../../core/config/schema.ts';
import { entryOf } from '../../core/config/values.ts';
import { isLoopbackUrl } from '../../core/lib/ip-address.ts';
import { quoted } from '../../core/lib/wording.ts';
import type { Config } from '../../ports/config.ts';
import type { Capability } from '../capability.ts';
import { lazilyOn } from '../lazily.ts';
import { reasons } from './reasons.ts';
import { decisionPoint } from './settings.ts';

export const decisionPoints: Capability = {
  name: 'decision_points',
  reasons,
  read(root) {
    const entries = root.get('decision_points').entries();
    const named = new Map(entries.map(([name, field]) => [name, { name, ...field.settings() }]));
    return (route) => {
      const settings = route.get('decision_point').read(entryOf(named, 'is not in decision_points'));
      return settings && decisionPoint.with(settings);
    };
  },
  warningsOf: insecurePoints,
  openProcess: lazilyOn(
    (route) => decisionPoint.of(route) !== undefined,
    async () => (await import('./opened.ts')).openDecisionPoints,
  ),
  examine: async (config) => (await import('./doctor.ts')).examineDecisionPoints(config),
};

function insecurePoints({ routes }: Pick<Config, 'routes'>): readonly Violation[] {
  const risk =
    'is http and not on loopback: a party on the way can decide in its place, and reads its token; use https';
  return [...new Set(routes.flatMap((route) => decisionPoint.of(route) ?? []))]
    .filter(({ url }) => url.startsWith('http:') && !isLoopbackUrl(url))
    .map(({ name, url }) => ({
      path: ['decision_points', name, 'url'],
      part: 'value',
      message: `${quoted(url)} ${risk}`,
    }));
}
