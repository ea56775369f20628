import type { Config } from '../../model/config.ts';
import { type Refusal, refusals } from '../../model/reasons.ts';
import { createChallenges } from '../../pipeline/respond/challenge.ts';
import { explainRecord, remediesIn } from '../../review/explained.ts';
import { recordedDecision } from '../../review/recorded-decision.ts';
import { decisionLine } from '../../telemetry/decision-line.ts';
import type { CallerSummary, DecisionSummary } from '../../telemetry/decision-summary.ts';
import { asDecided } from './as-decided.ts';
import type { DecisionDetail, TokenView } from './messages.ts';
import { rowOf } from './process-source.ts';
import type { InForce } from './status.ts';
import { testOf } from './test-example.ts';

/** A kept decision with its explanation by the configuration in force. */
export function detailOf({ config, since }: InForce, decision: DecisionSummary): DecisionDetail {
  const record = recordedDecision(decisionLine(decision));
  if (record === undefined) throw new TypeError('a decision line is a decision');
  const { decidedBy, notes, conditions: found } = explainRecord(config, record);
  const conditions = decision.at >= since ? asDecided(found, decision) : found;
  const { requestId, method, policy, traceId, durationMs, caller } = decision;
  return {
    ...rowOf(decision),
    requestId,
    method,
    policy,
    traceId,
    durationMs,
    token: caller && tokenOf(caller, decision.at),
    answer: answerTo(decision, config),
    decidedBy,
    notes,
    remedies: decision.kind === 'allowed' ? [] : remediesIn(conditions),
    conditions,
    test: testOf(
      record,
      conditions.some((each) => each.kind === 'history'),
    ),
  };
}

function tokenOf({ form, issuer, scope, expiresAt, input }: CallerSummary, at: number): TokenView {
  const secondsLeft = expiresAt === undefined ? undefined : Math.round(expiresAt - at / 1000);
  return { form, issuer, scope, secondsLeft, claims: input?.claims ?? {} };
}

/** The answer to a refused call: its status, and its challenges as for a client that uses Bearer. */
function answerTo(
  { kind, reason, neededScope, route: name }: DecisionSummary,
  config: Config,
): DecisionDetail['answer'] {
  if (reason === undefined || kind === 'shadow') return undefined;
  const refusal: Refusal = refusals[reason];
  const route = config.routes.find((each) => each.name === name);
  const denial = { reason, scope: neededScope?.split(' ') ?? [] };
  const challenges =
    route && createChallenges(route, config.publicUrl)({ fields: { authorization: undefined } }, refusal, denial);
  return { status: refusal.status, challenges: challenges === undefined ? [] : [challenges].flat() };
}
