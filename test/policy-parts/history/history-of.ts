import type { Attempt } from '../../../src/core/model/policy.ts';
import type { Principal } from '../../../src/core/model/principal.ts';
import type { PolicyDocument } from '../../../src/core/policy/document.ts';
import { compilePolicy } from '../../../src/policy-parts/compile.ts';
import type { CallHistory } from '../../../src/policy-parts/history/call-history.ts';
import { historyKey } from '../../../src/policy-parts/history/key.ts';
import { alice } from '../../core/policy/caller.ts';

/** What rules over time make of a call. */
export function historyOf(
  document: PolicyDocument,
  attempt: Attempt,
  principal: Principal = alice,
  exact?: () => unknown,
): CallHistory | undefined {
  return historyKey
    .inPlan(compilePolicy('test', document).decide(principal, attempt).plan)
    ?.of(principal, attempt, exact);
}
