/**
 * Approvals of calls by persons, `docs/approvals.md`.
 *
 * @module
 */

import { approvalsKey } from '../../policy-parts/approvals/key.ts';
import type { Capability } from '../capability.ts';
import { approvalCommands } from './commands.ts';
import { approvalMetrics } from './metrics.ts';
import { type ApprovalState, openApprovals } from './opened.ts';
import { reasons } from './reasons.ts';

export const approvals: Capability = {
  name: 'approvals',
  reasons,
  metrics: approvalMetrics,
  needsShared({ routes }) {
    const policies = new Set(routes.flatMap(({ policy }) => (policy && approvalsKey.inPolicy(policy) ? policy : [])));
    return [...policies].map(({ name }) => `the policy ${name} has approvals`);
  },
  commands: { after: 'compare', of: approvalCommands },
  openProcess: openApprovals,
  joinStates: ([first]: readonly ApprovalState[]) => ({ hasApprovals: first?.hasApprovals }),
  openAdmin: async (parts) => (await import('./pages.ts')).approvalPages(parts),
};
