import type { Config } from '../model/config.ts';
import { refusals } from '../model/denial.ts';
import type { Decision, Explanation } from '../model/policy.ts';
import type { Route } from '../model/route.ts';
import { decisionsIn, recordedAttempt, recordedPrincipal, wasPolicys, type RecordedDecision } from './decision-log.ts';
import type { Explained } from './explanation-table.ts';
import { UsageError } from './usage-error.ts';

/**
 * Explains a logged decision: what was decided and why as the log says it, and, where a policy decided, each condition of
 * the policy as it is now with what the log knows.
 *
 * @param id of the decision, or of its request.
 * @param log A file, or `-` for stdin.
 * @throws {UsageError} for an id that the log does not have.
 */
export async function explainDecision(config: Config, id: string, log: string): Promise<Explained> {
  for await (const record of decisionsIn(log)) {
    if (record?.decision === id || record?.requestId === id) return explained(config, record);
  }
  throw new UsageError(`${log} has neither a decision nor a request ${id}`);
}

/** Whether the outcome of any of the conditions is unknown. */
export function hasUnknown(conditions: readonly Explanation[]): boolean {
  return conditions.some(({ outcome, parts }) => outcome === 'unknown' || hasUnknown(parts));
}

function explained(config: Config, record: RecordedDecision): Explained {
  const { allow, shadow, reason, detail, rule, neededScope, policy } = record;
  const route = config.routes.find(({ name }) => name === record.route);
  return {
    route: record.route === '' ? undefined : record.route,
    decidedBy: decidedBy(record),
    policy,
    allow,
    shadow,
    reason,
    detail,
    rule,
    neededScope: neededScope?.split(' ') ?? [],
    ...(wasPolicys(record) ? byPolicy(record, route, config) : { notes: elsewhere(record), conditions: [] }),
  };
}

function decidedBy(record: RecordedDecision): string {
  if (!record.allow && !wasPolicys(record)) return 'not refused by a policy';
  return record.policy === undefined ? 'no policy' : `policy ${record.policy}`;
}

/** What refused a call where no policy did. */
function elsewhere({ allow, reason = '' }: RecordedDecision): readonly string[] {
  if (allow) return ['the route is public, or has no policy'];
  const status = Object.hasOwn(refusals, reason) ? refusals[reason as keyof typeof refusals].status : undefined;
  const answer = status === undefined ? '' : `the client got ${status}; `;
  return [`${answer}docs/reasons.md says what ${reason} means, and what mends it`];
}

function byPolicy(
  record: RecordedDecision,
  route: Route | undefined,
  config: Config,
): Pick<Explained, 'notes' | 'conditions'> {
  if (route === undefined) {
    return { notes: ['the configuration no longer has this route: its conditions are unknown'], conditions: [] };
  }
  const { policy } = route;
  if (policy === undefined) {
    const notes = record.policy === undefined ? ['any valid token may call'] : ['the route no longer has a policy'];
    return { notes, conditions: [] };
  }
  const principal = recordedPrincipal(record, config.scopeHierarchy);
  const attempt = recordedAttempt(record, route);
  const conditions = policy.explain(principal, attempt);
  const { omitted = [] } = record.input;
  const unknown = hasUnknown(conditions);
  const notes = [
    ...(unknown ? ['arguments are not logged: what the policy asks of them is unknown'] : []),
    ...omitted.map((name) => `claim ${name} was too long for the log: what the policy asks of it is unknown`),
    ...changed(record, policy.decide(principal, attempt), unknown || omitted.length > 0),
  ];
  return { notes, conditions };
}

/** Says where the policy has changed since. What depends on something unknown may still be as it was. */
function changed(record: RecordedDecision, now: Decision, isUnknown: boolean): readonly string[] {
  const denial = now.allow ? now.shadow : now.denial;
  if (now.allow === record.allow && denial?.reason === record.reason) return [];
  if (isUnknown && now.allow) return [];
  const words = now.allow ? 'would let the call pass' : `would refuse the call: ${now.denial.reason}`;
  return [`the policy as it is now ${words}`];
}
