/**
 * Bounds on the calls that an upstream has at a time, `docs/upstreams.md`.
 *
 * @module
 */

import type { Violation } from '../../core/config/schema.ts';
import type { Config } from '../../ports/config.ts';
import type { Capability } from '../capability.ts';
import { lazilyOn } from '../lazily.ts';
import { metrics } from './metrics.ts';
import { reasons } from './reasons.ts';
import { concurrencyOf } from './settings.ts';

export const concurrency: Capability = {
  name: 'concurrency',
  reasons,
  metrics,
  readsPublic: true,
  read: () => (field) => {
    const settings = field.get('upstream').get('concurrency').settings();
    return settings && concurrencyOf.with(settings);
  },
  warningsOf: inEachReplica,
  openProcess: lazilyOn(
    (route) => concurrencyOf.of(route) !== undefined,
    async () => (await import('./opened.ts')).openConcurrency,
  ),
};

/** Replicas that share a store, and do not share these counts. */
function inEachReplica({ routes, shared }: Pick<Config, 'routes' | 'shared'>): readonly Violation[] {
  if (shared === undefined) return [];
  return routes.flatMap((route, index) => {
    const { calls } = concurrencyOf.of(route) ?? {};
    if (calls === undefined) return [];
    const message = `each process counts for itself: with N replicas or workers the upstream gets N × ${calls} calls`;
    return { path: ['routes', index, 'upstream', 'concurrency'], part: 'key', message };
  });
}
