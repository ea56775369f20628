import type { DecisionRecord } from '../../model/decision.ts';
import { explainRecord, remediesIn } from '../../review/explained.ts';
import { asDecided } from './as-decided.ts';
import type { DecisionDetail, TokenView } from './messages.ts';
import { rowOf } from './process-source.ts';
import type { InForce } from './status.ts';
import { testOf } from './test-example.ts';

/** A kept decision with its explanation by the configuration in force. */
export function detailOf({ config, since }: InForce, decision: DecisionRecord): DecisionDetail {
  const { decidedBy, notes, conditions: found } = explainRecord(config, decision);
  const conditions = decision.at >= since ? asDecided(found, decision) : found;
  const { requestId, method, policy, traceId, durationMs, answer } = decision;
  const row = rowOf(decision);
  return {
    ...row,
    requestId,
    method,
    policy,
    traceId,
    durationMs,
    token: tokenOf(decision),
    answer,
    decidedBy,
    notes,
    remedies: row.kind === 'allowed' ? [] : remediesIn(conditions),
    conditions,
    test: testOf(
      decision,
      conditions.some((each) => each.kind === 'history'),
      config.routes.find(({ name }) => name === row.route)?.policy?.listsRequests,
    ),
  };
}

function tokenOf({ form, issuer, scope, expiresAt, input, claims, at }: DecisionRecord): TokenView | undefined {
  if (form === undefined || issuer === undefined) return undefined;
  const secondsLeft = expiresAt === undefined ? undefined : Math.round(expiresAt - at / 1000);
  return { form, issuer, scope, secondsLeft, claims: { ...claims, ...input.claims } };
}
