import { isDeepStrictEqual } from 'node:util';
import { printable } from '../lib/wording.ts';
import type { NeededApproval } from '../model/approval.ts';
import { isReasonBy } from '../model/reasons.ts';
import type { Config } from '../model/config.ts';
import { calledIn, type DecisionRecord } from '../model/decision.ts';
import type { Decision, Explanation, Policy } from '../model/policy.ts';
import type { Route } from '../model/route.ts';
import { lacksPath, recordedAttempt, recordedPrincipal } from './recorded-decision.ts';
import { type JudgeOverTime, openOverTime } from './replayed-calls.ts';

/** How a decision would change. `unknown`: it depends on values that are not logged. */
type Change = 'would be denied' | 'would be allowed' | 'would get another answer' | 'unknown';

/** A decision that would change, in words. */
export interface Difference {
  readonly change: Change;
  readonly route: string;
  /** The tool, or what else was called. */
  readonly called: string;
  readonly subject: string;
  readonly before: string;
  readonly after: string;
}

/** A difference, and the number of decisions that have it. */
export type CountedDifference = Difference & { count: number };

/** Adds a difference to those that were found. */
export function countDifference(rows: Map<string, CountedDifference>, difference: Difference, times = 1): void {
  const key = JSON.stringify(Object.values(difference));
  const known = rows.get(key);
  if (known === undefined) rows.set(key, { ...difference, count: times });
  else known.count += times;
}

/**
 * How the decision of `policy` differs from the recorded one on `route`; undefined if it does not.
 *
 * @param judgeOverTime Called once for each decision, in the order of the log.
 */
export function differenceOf(
  record: DecisionRecord,
  route: Pick<Route, 'protocol' | 'policy'>,
  policy: Policy | undefined,
  { scopeHierarchy, judgeOverTime = openOverTime }: ReplayParts,
): Difference | undefined {
  const before = outcome(kindOf(record.allow, record.shadow), record.reason, record.neededScope);
  // Where no policy decides by paths, differences on two paths are the same.
  const byPath = [policy, route.policy].some((each) => each?.listsRequests);
  const base = {
    route: record.route ?? '',
    called: printable(calledIn(byPath ? record : { ...record, path: undefined })),
    subject: printable(record.subject ?? record.clientId ?? ''),
    before,
  };
  if (policy === undefined) return { ...base, change: 'unknown', after: 'the policy is gone' };
  const principal = recordedPrincipal(record, scopeHierarchy);
  const attempt = recordedAttempt(record, route);
  const alone = policy.decide(principal, attempt);
  const recordedBy = route.policy?.decide(principal, attempt);
  const now = alone.plan.explain(principal, attempt);
  const then = recordedBy?.plan.explain(principal, attempt) ?? [];
  const isChanged = (kind: Explanation['kind']): boolean =>
    !isDeepStrictEqual(conditionsOf(kind, now), conditionsOf(kind, then));
  // The conditions on arguments are the same, so that the logged arguments would be denied again.
  const deniesArguments = record.reason === 'argument.denied' && !record.allow;
  const overTime = deniesArguments ? alone : judgeOverTime({ record, recordedBy, principal, attempt, decision: alone });
  const needed = alone.plan.approval(principal, attempt);
  const isOpen = needed?.isCertain === false && needed.text !== recordedBy?.plan.approval(principal, attempt)?.text;
  const decision = needed === undefined ? overTime : withApproval(overTime, needed, record);
  const unknown = lacksPath(policy, attempt)
    ? 'depends on the path, which is not in the log, or cut'
    : whatIsMissing(record, alone, isChanged('argument') || isOpen);
  if (unknown !== undefined) return { ...base, change: 'unknown', after: unknown };
  if (decision === undefined) {
    const isAsRecorded = !isChanged('history') && (record.reason === undefined || isReasonBy('history', record.reason));
    return isAsRecorded ? undefined : { ...base, change: 'unknown', after: 'depends on calls that are not logged' };
  }
  const after = deniesArguments && decision.allow ? before : outcomeOf(decision);
  return after === before ? undefined : { ...base, change: changeOf(before, after), after };
}

/** A decision with the approval that the record tells of. */
function withApproval(
  decision: Decision | undefined,
  { isCertain, isShadow, denial }: NeededApproval,
  { reason, approval }: DecisionRecord,
): Decision | undefined {
  const isMissing = isCertain
    ? approval === undefined || reason === 'approval.required'
    : reason === 'approval.required';
  if (decision?.allow !== true || decision.shadow !== undefined || !isMissing) return decision;
  return isShadow ? { ...decision, shadow: denial } : { allow: false, rule: denial.rule, denial };
}

/** What a decision of a log needs beside the policy. */
interface ReplayParts extends Pick<Config, 'scopeHierarchy'> {
  /** Default: rules over time remain open. */
  readonly judgeOverTime?: JudgeOverTime | undefined;
}

/** The values that the log lacks. They matter only if all other conditions would allow the call. */
function whatIsMissing(
  { input: { omitted = [] } }: DecisionRecord,
  decision: Decision,
  argumentsMatter: boolean,
): string | undefined {
  if (omitted.length > 0) return `depends on a claim that is too long for the log: ${omitted.join(', ')}`;
  return decision.allow && argumentsMatter ? 'depends on arguments, which are not logged' : undefined;
}

/** The conditions of a kind, without what they found. */
function conditionsOf(kind: Explanation['kind'], explanations: readonly Explanation[]): readonly unknown[] {
  return explanations
    .flatMap((each) => [each, ...each.parts])
    .filter((each) => each.kind === kind)
    .map(({ rule, wanted }) => [rule, wanted]);
}

function outcomeOf(decision: Decision): string {
  const denial = decision.allow ? decision.shadow : decision.denial;
  const kind = kindOf(decision.allow, decision.allow && decision.shadow !== undefined);
  return outcome(kind, denial?.reason, denial?.scope.join(' '));
}

type Kind = 'allow' | 'shadow deny' | 'deny';

function kindOf(allow: boolean, shadow: boolean): Kind {
  if (!allow) return 'deny';
  return shadow ? 'shadow deny' : 'allow';
}

function outcome(kind: Kind, reason: string | undefined, scope: string | undefined): string {
  if (kind === 'allow') return kind;
  return `${kind} ${reason ?? ''}${scope === undefined || scope === '' ? '' : ` (${scope})`}`;
}

function changeOf(before: string, after: string): Change {
  const [passed, passes] = [before, after].map((each) => !each.startsWith('deny'));
  if (passed === passes) return 'would get another answer';
  return passes === true ? 'would be allowed' : 'would be denied';
}
