import { isDeepStrictEqual } from 'node:util';
import { printable } from '../config/wording.ts';
import type { Config } from '../model/config.ts';
import type { Attempt, Decision, Policy } from '../model/policy.ts';
import type { Principal } from '../model/principal.ts';
import type { Route } from '../model/route.ts';
import { calledIn, recordedAttempt, type RecordedDecision, recordedPrincipal } from './recorded-decision.ts';

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

/** How the decision of `policy` differs from the recorded one on `route`; undefined if it does not. */
export function differenceOf(
  record: RecordedDecision,
  route: Pick<Route, 'protocol' | 'policy'>,
  policy: Policy | undefined,
  hierarchy: Config['scopeHierarchy'],
): Difference | undefined {
  const before = outcome(kindOf(record.allow, record.shadow), record.reason, record.neededScope);
  const base = {
    route: record.route,
    called: printable(calledIn(record)),
    subject: printable(record.subject ?? record.clientId ?? ''),
    before,
  };
  if (policy === undefined) return { ...base, change: 'unknown', after: 'the policy is gone' };
  const principal = recordedPrincipal(record, hierarchy);
  const attempt = recordedAttempt(record, route);
  const decision = policy.decide(principal, attempt);
  const unknown = whatIsMissing(record, decision, argumentsChanged(policy, route.policy, principal, attempt));
  if (unknown !== undefined) return { ...base, change: 'unknown', after: unknown };
  // The conditions on arguments are the same, so that the logged arguments would be denied again.
  const after = !record.allow && record.reason === 'argument.denied' && decision.allow ? before : outcomeOf(decision);
  return after === before ? undefined : { ...base, change: changeOf(before, after), after };
}

/** The values that the log lacks. They matter only if all other conditions would allow the call. */
function whatIsMissing(
  { input: { omitted = [] } }: RecordedDecision,
  decision: Decision,
  argumentsMatter: boolean,
): string | undefined {
  if (omitted.length > 0) return `depends on a claim that is too long for the log: ${omitted.join(', ')}`;
  return decision.allow && argumentsMatter ? 'depends on arguments, which are not logged' : undefined;
}

function argumentsChanged(policy: Policy, before: Policy | undefined, principal: Principal, attempt: Attempt): boolean {
  const asked = (of: Policy | undefined): readonly unknown[] =>
    (of?.explain(principal, attempt) ?? [])
      .flatMap(({ parts }) => parts)
      .filter(({ kind }) => kind === 'argument')
      .map(({ rule, wanted }) => [rule, wanted]);
  return !isDeepStrictEqual(asked(policy), asked(before));
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
