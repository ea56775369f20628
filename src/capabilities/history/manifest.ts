/**
 * Rules over time, `docs/over-time.md`: the gate that judges and counts, and what it counts in.
 *
 * @module
 */

import { historyKey } from '../../policy-parts/history/key.ts';
import type { Capability } from '../capability.ts';
import { lazilyOn } from '../lazily.ts';
import { reasons } from './reasons.ts';

export const history: Capability = {
  name: 'history',
  reasons,
  needsShared({ routes }) {
    const policies = new Set(routes.flatMap(({ policy }) => (policy && historyKey.inPolicy(policy) ? policy : [])));
    return [...policies].map(({ name, rules }) => {
      const hasQuotas = rules.some((rule) => /\.quota\[\d+\]$/.test(rule));
      return `the policy ${name} has ${hasQuotas ? 'quotas' : 'rules over time'}`;
    });
  },
  openProcess: lazilyOn(
    ({ policy }) => policy !== undefined && historyKey.inPolicy(policy) !== undefined,
    async () => (await import('./opened.ts')).openHistory,
  ),
};
