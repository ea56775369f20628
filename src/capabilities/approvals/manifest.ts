/**
 * Approvals of calls by persons, `docs/approvals.md`.
 *
 * @module
 */

import { join } from 'node:path';
import type { Config } from '../../ports/config.ts';
import { FRONT_DOOR } from '../../ports/front-door.ts';
import { approvalSettings } from '../../ports/approval-settings.ts';
import { approvalsKey } from '../../policy-parts/approvals/key.ts';
import type { Capability, InProcess, ProcessParts } from '../capability.ts';
import { lazily } from '../lazily.ts';
import { approvalCommands } from './commands.ts';
import { approvalMetrics } from './metrics.ts';
import { type OperatorApprovals, operatorAnswers } from './questions.ts';
import { reasons } from './reasons.ts';

export const approvals: Capability = {
  name: 'approvals',
  reasons,
  metrics: approvalMetrics,
  read:
    (root, { folderLabel }) =>
    (route, { policy }) => {
      const field = route.get('policy');
      // Without them no person could approve, and no stage would ask.
      if (policy && approvalsKey.inPolicy(policy) !== undefined && !root.get('approvals').present)
        field.addProblem(
          `${join(folderLabel, field.source())}.yaml has approval, which needs approvals in gateway.yaml`,
        );
      return undefined;
    },
  async readSection(root, referents) {
    const field = root.get('approvals').given();
    if (field === undefined) return undefined;
    const { readApprovals } = await import('./settings.ts');
    return approvalSettings.with(readApprovals(field, referents));
  },
  policyProblems: openApprovers,
  needsShared({ routes }) {
    const policies = new Set(routes.flatMap(({ policy }) => (policy && approvalsKey.inPolicy(policy) ? policy : [])));
    return [...policies].map(({ name }) => `the policy ${name} has approvals`);
  },
  commands: { after: 'compare', of: approvalCommands },
  openProcess,
  joinStates: ([first]: readonly ApprovalState[]) => ({ hasApprovals: first?.hasApprovals }),
  openAdmin: async (parts) => (await import('./pages.ts')).approvalPages(parts),
};

/** The members of the state of a process. */
interface ApprovalState {
  readonly hasApprovals: boolean;
}

function openProcess(parts: ProcessParts): InProcess {
  let operator = (): OperatorApprovals | undefined => undefined;
  const isUsed = (config: Partial<Pick<Config, 'slots'>>): boolean => approvalSettings.of(config) !== undefined;
  const inProcess = lazily(isUsed, async () => {
    const { openApprovals } = await import('./opened.ts');
    return (about) => {
      const opened = openApprovals(about);
      operator = () => opened.operator();
      return opened;
    };
  });
  return {
    ...inProcess(parts),
    answers: operatorAnswers(() => operator()),
    state: (): ApprovalState => ({ hasApprovals: operator() !== undefined }),
  };
}

/** Approvals that any person with a sign-in could give: the page of the front door makes a token with all scopes. */
function openApprovers(
  config: Pick<Config, 'routes' | 'slots'>,
): ReturnType<NonNullable<Capability['policyProblems']>> {
  const settings = approvalSettings.of(config);
  if (settings?.route.authorizationServers.some(({ name }) => name === FRONT_DOOR) !== true) return [];
  const why = 'no claim restricts it, and every person who can sign in at the front door has all scopes on its page';
  const message = `${why}: add claims, or write {} to let any person approve`;
  const policies = new Set(config.routes.flatMap(({ policy }) => policy ?? []));
  return [...policies].flatMap((policy) =>
    (approvalsKey.inPolicy(policy)?.openApprovers ?? []).map(
      (path) => ({ policy: policy.name, path, part: 'value', message }) as const,
    ),
  );
}
