/**
 * What the admin listener asks of processes about approvals. All processes have one book: the one that did something
 * answers for all.
 *
 * @module
 */

import { type Answered, noAnswer, type OperatorAnswer, Question } from '../admin.ts';
import type { ApprovalDecision, WaitingApprovals } from '../operator-approvals.ts';

export const approvalList = new Question<undefined, OperatorAnswer>('approvals', { join: ofOneBook });
/** One request by its id. */
export const oneApproval = new Question<string, OperatorAnswer>('approval', { join: ofOneBook });
/** Each process is asked; the first decides. */
export const decideApproval = new Question<
  { readonly id: string; readonly decision: ApprovalDecision },
  OperatorAnswer
>('decideApproval', { join: ofOneBook });
export const waitingApprovals = new Question<undefined, WaitingApprovals>('waiting', {
  join: (answers) =>
    answers.find(({ problem }) => problem === undefined) ??
    answers[0] ?? { count: 0, oldest: [], problem: noAnswer.body },
});

function ofOneBook(answers: readonly OperatorAnswer[]): OperatorAnswer {
  const [best] = answers.toSorted((one, other) => one.status - other.status);
  return best ?? noAnswer;
}

/** Requests for approvals, for the operator. Never rejects. */
export interface OperatorApprovals {
  list(): Promise<OperatorAnswer>;
  find(id: string): Promise<OperatorAnswer>;
  waiting(): Promise<WaitingApprovals>;
  /** Answers with the object of the request. */
  decide(id: string, decision: ApprovalDecision): Promise<OperatorAnswer>;
}

const noApprovals: OperatorAnswer = { status: 404, body: 'The gateway has no `approvals` in its configuration.' };

/** How a process answers the admin listener. @param approvals Undefined without `approvals`. */
export function operatorAnswers(approvals: () => OperatorApprovals | undefined): readonly Answered[] {
  return [
    approvalList.by(async () => (await approvals()?.list()) ?? noApprovals),
    oneApproval.by(async (id) => (await approvals()?.find(id)) ?? noApprovals),
    decideApproval.by(async ({ id, decision }) => (await approvals()?.decide(id, decision)) ?? noApprovals),
    waitingApprovals.by(async () => (await approvals()?.waiting()) ?? { count: 0, oldest: [] }),
  ];
}
