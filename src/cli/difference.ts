import { isDeepStrictEqual } from 'node:util';
import { printable } from '../config/problems.ts';
import type { Config } from '../model/config.ts';
import type { Attempt, Decision, Policy } from '../model/policy.ts';
import type { Principal } from '../model/principal.ts';
import type { Route } from '../model/route.ts';
import { recordedAttempt, recordedPrincipal, type RecordedDecision } from './decision-log.ts';

/** What a decision would be now. `unknown`: it depends on something that is not logged. */
type Change = 'would be denied' | 'would be allowed' | 'would be told otherwise' | 'unknown';

/** One decision that would fall otherwise, in words. */
export interface Difference {
  readonly change: Change;
  readonly route: string;
  /** The tool, or what else was called. */
  readonly called: string;
  readonly subject: string;
  readonly before: string;
  readonly after: string;
}

/** What `policy` would decide otherwise than was recorded on `route`; undefined where it would decide the same. */
export function differenceOf(
  record: RecordedDecision,
  route: Route,
  policy: Policy | undefined,
  hierarchy: Config['scopeHierarchy'],
): Difference | undefined {
  const before = outcome(kindOf(record.allow, record.shadow), record.reason, record.neededScope);
  const base = {
    route: record.route,
    called: printable(record.tool ?? record.input.targets?.[0]?.name ?? record.method ?? ''),
    subject: printable(record.subject ?? record.clientId ?? ''),
    before,
  };
  if (policy === undefined) return { ...base, change: 'unknown', after: 'the policy is gone' };
  const principal = recordedPrincipal(record, hierarchy);
  const attempt = recordedAttempt(record, route);
  const decision = policy.decide(principal, attempt);
  const unknown = whatIsMissing(record, decision, argumentsChanged(policy, route.policy, principal, attempt));
  if (unknown !== undefined) return { ...base, change: 'unknown', after: unknown };
  // Still asked the same, they would still be refused: a decision without them cannot tell.
  const after = !record.allow && record.reason === 'argument.denied' && decision.allow ? before : outcomeOf(decision);
  return after === before ? undefined : { ...base, change: changeOf(before, after), after };
}

/** What no log has decides only where everything else would let the call pass. */
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
  if (passed === passes) return 'would be told otherwise';
  return passes === true ? 'would be allowed' : 'would be denied';
}
