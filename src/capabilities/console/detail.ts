import { type DecisionRecord, policyName } from '../../core/model/decision.ts';
import { explainRecord, remediesIn } from '../../analysis/review/explained.ts';
import type { DecisionDetail, TokenView } from './messages.ts';
import type { InForce } from '../admin.ts';
import { type FoundDecision, rowOf } from './questions.ts';
import { isReasonBy } from '../../analysis/review/policy-reasons.ts';
import type { Explanation } from '../../core/model/policy.ts';
import { flowYaml } from '../../analysis/review/flow-yaml.ts';
import { isPolicyDecision, recordedAttempt, recordedClaims } from '../../analysis/review/recorded-decision.ts';

/** A kept decision with its explanation by the configuration in force. */
export function detailOf({ config, since }: InForce, { decision, list }: FoundDecision): DecisionDetail {
  const { decidedBy, notes, conditions: found } = explainRecord(config, decision);
  const conditions = decision.at >= since ? asDecided(found, decision) : found;
  const { requestId, method, traceId, durationMs, answer } = decision;
  const row = rowOf(decision);
  return {
    ...row,
    requestId,
    method,
    policy: policyName(decision),
    version: decision.policy,
    actors: decision.actors,
    inner: decision.inner,
    list,
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
  return { form, issuer, scope, secondsLeft, lifetime: input.lifetime, claims: { ...claims, ...input.claims } };
}

/**
 * Conditions with the outcomes that a decision tells. Arguments and earlier calls are not kept, but a call that was
 * allowed met all conditions on them, and a refusal names the one that it did not meet.
 */
function asDecided(conditions: readonly Explanation[], decision: DecisionRecord): readonly Explanation[] {
  const refusing = conditions.findIndex(({ kind, rule }) => kind === 'history' && rule === decision.rule);
  return conditions.map((each, index) =>
    each.kind === 'history' ? overTime(each, decision, Math.sign(index - refusing)) : byArguments(each, decision),
  );
}

/** @param order Of the rule against the one that refused: it is judged before (-1), is that one (0), or later (1). */
function overTime(condition: Explanation, { allow, reason, detail }: DecisionRecord, order: number): Explanation {
  if (condition.outcome !== 'unknown') return condition;
  const isRefusedOverTime = reason !== undefined && isReasonBy('history', reason);
  if ((allow && reason === undefined) || reason === 'history.full' || (isRefusedOverTime && order < 0)) {
    return { ...condition, outcome: 'holds', found: 'not kept; this rule was met' };
  }
  if (!isRefusedOverTime) return { ...condition, found: 'not kept; the call was refused for another reason' };
  if (order > 0) return { ...condition, found: 'not kept; another rule over time refused the call first' };
  return { ...condition, outcome: 'fails', found: detail?.split(', found ').at(-1) ?? '' };
}

function byArguments(condition: Explanation, decision: DecisionRecord): Explanation {
  const parts = condition.parts.map((part) => byArguments(part, decision));
  if (condition.outcome !== 'unknown') return { ...condition, parts };
  const found = 'not kept';
  if (parts.length > 0) return { ...condition, parts, outcome: outcomeOf(condition, parts) };
  if (decision.allow && decision.reason === undefined) return { ...condition, outcome: 'holds', found };
  const isCause =
    (decision.reason === 'argument.denied' || decision.reason === 'approval.required') &&
    decision.rule === condition.rule;
  return isCause ? { ...condition, outcome: 'fails', found } : { ...condition, found };
}

function outcomeOf({ kind, outcome }: Explanation, parts: readonly Explanation[]): Explanation['outcome'] {
  if (kind !== 'listed' && kind !== 'all') return outcome;
  if (parts.some((part) => part.outcome === 'fails')) return 'fails';
  return parts.every((part) => part.outcome === 'holds') ? 'holds' : outcome;
}

/**
 * A decision as an example for the policy's test file; undefined if the record lacks what a test needs.
 *
 * @param isOverTime Whether the call was under rules over time.
 * @param listsRequests Whether the policy decides by method and path.
 */
export function testOf(record: DecisionRecord, isOverTime: boolean, listsRequests = false): string | undefined {
  const { input, scope, policy } = record;
  if (policy === undefined || !isPolicyDecision(record) || input.omitted !== undefined) return undefined;
  const attempt = recordedAttempt(record, { protocol: listsRequests ? 'http' : 'mcp' });
  const request = attempt.kind === 'http' ? attempt.request : undefined;
  if (listsRequests && request === undefined) return undefined;
  const claims = recordedClaims(record);
  const given = {
    ...(scope !== undefined && { scope }),
    ...(Object.keys(claims).length > 0 && { claims }),
    ...(input.lifetime !== undefined && { lifetime: `${input.lifetime}s` }),
  };
  const takesArguments = record.tool !== undefined || input.targets?.[0]?.kind === 'prompt';
  return [
    `- name: ${flowYaml(`${record.subject ?? record.clientId ?? 'a caller'} ${wordsOf(record)}`)}`,
    `  given: ${flowYaml(given)}`,
    ...(takesArguments ? ['  # Arguments are not recorded: add those that matter.'] : []),
    ...(isOverTime ? ['  # Earlier calls are not recorded: add those that matter to given, as history.'] : []),
    `  when: ${flowYaml(request === undefined ? whenOf(record) : { request })}`,
    `  then: ${flowYaml(thenOf(record))}`,
    '',
  ].join('\n');
}

function wordsOf({ tool, method }: DecisionRecord): string {
  return tool === undefined ? `sends ${method}` : `calls ${tool}`;
}

function whenOf({ tool, input, method }: DecisionRecord): Readonly<Record<string, string>> {
  if (tool !== undefined) return { tool };
  const [target] = input.targets ?? [];
  if (target !== undefined) return { [target.kind]: target.name };
  // The methods of MCP have a slash, but for a few; those of HTTP are in capitals.
  return method === undefined || /^[A-Z]+$/.test(method) ? {} : { method };
}

function thenOf({ allow, shadow, reason, neededScope }: DecisionRecord): unknown {
  if (allow) return shadow ? 'shadow' : 'allow';
  return { deny: reason, ...(neededScope !== undefined && { challenge: neededScope }) };
}
