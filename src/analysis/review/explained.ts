import { issuersOf } from '../../core/model/authorization-server.ts';
import type { Refusal } from '../../core/model/refusal.ts';
import type { Config } from '../../ports/config.ts';
import { type DecisionRecord, policyName } from '../../core/model/decision.ts';
import type { EarlierCall } from '../../policy-files/policy-tests.ts';
import { knownRequests, listedKinds } from '../../core/model/mcp.ts';
import {
  type Attempt,
  type Decision,
  denialIn,
  type Explanation,
  type McpAttempt,
  type Policy,
} from '../../core/model/policy.ts';
import type { Principal } from '../../core/model/principal.ts';
import type { Route } from '../../core/model/route.ts';
import type { Decided } from './coverage.ts';
import { decideAfter } from './earlier-calls.ts';
import {
  isPolicyDecision,
  lacksPath,
  recordedAttempt,
  recordedPrincipal,
  withShownArguments,
} from './recorded-decision.ts';
import { didYouMean } from '../../core/lib/wording.ts';
import { isObject } from '../../core/lib/json/own-member.ts';
import { describeValue } from '../../core/lib/json/describe-value.ts';
import { namePattern } from '../../core/policy/pattern.ts';
import { explain } from './explanation.ts';

/** The explanation of a decision. */
export interface Explained {
  /** Undefined if the call matched no route. */
  readonly route: string | undefined;
  /** What made the decision, in words: `policy tools`. */
  readonly decidedBy: string;
  readonly policy: string | undefined;
  readonly allow: boolean;
  /** What is unknown and might still refuse the call; empty for a call that is refused. */
  readonly unknown: readonly ('arguments' | 'earlier calls' | 'approval')[];
  /** Whether the call was allowed only because the policy is in shadow mode. */
  readonly shadow: boolean;
  readonly reason: string | undefined;
  readonly detail: string | undefined;
  readonly rule: string | undefined;
  readonly neededScope: readonly string[];
  /** Unknown and outdated parts of the explanation; a sentence each. */
  readonly notes: readonly string[];
  readonly conditions: readonly Explanation[];
}

type InForce = Pick<Config, 'routes' | 'scopeHierarchy'>;

/**
 * The decision on a described call, by the policy of its route.
 *
 * @param earlier The calls before it; undefined: they are unknown.
 * @param running What only the running gateway knows of an allowed call, a sentence each.
 */
export function explainCall(
  route: Pick<Route, 'name' | 'policy'>,
  principal: Principal,
  attempt: Attempt,
  earlier?: readonly EarlierCall[],
  running: readonly string[] = [],
): Explained {
  const { policy } = route;
  const { decision, conditions } = decided(policy, principal, attempt, earlier);
  const denial = denialIn(decision);
  const unknown = unknownIn(conditions, earlier !== undefined);
  const near = policy === undefined ? [] : nearMisses(policy, principal, attempt, conditions, denial?.scope ?? []);
  return {
    route: route.name,
    decidedBy: policy === undefined ? 'no policy: any valid token' : `policy ${policy.name}`,
    policy: policy?.name,
    allow: decision.allow,
    unknown: decision.allow ? unknown : [],
    shadow: decision.allow && denial !== undefined,
    reason: denial?.reason,
    detail: denial?.detail,
    rule: denial?.rule ?? decision.rule,
    neededScope: denial?.scope ?? [],
    notes: [...unknown.map((what) => unknownNotes[what]), ...(decision.allow ? running : []), ...near],
    conditions,
  };
}

function decided(
  policy: Policy | undefined,
  principal: Principal,
  attempt: Attempt,
  earlier: readonly EarlierCall[] | undefined,
): Decided {
  if (policy === undefined) return { decision: { allow: true, rule: '' }, conditions: [] };
  return decideAfter({ policy, principal, attempt, earlier, approval: undefined });
}

const unknownNotes = {
  arguments: 'without --arguments, the conditions on them are unknown',
  'earlier calls': 'without --history, the rules over time are unknown',
  approval: 'a person must approve the call',
} as const;

/** The unknown values that the outcomes of conditions depend on. */
function unknownIn(conditions: readonly Explanation[], knowsEarlier: boolean): Explained['unknown'] {
  const open = conditions.flatMap(leaves).filter(({ outcome }) => outcome === 'unknown');
  const needsEarlier = ({ kind }: Explanation): boolean => kind === 'history' && !knowsEarlier;
  const isApproval = ({ kind }: Explanation): boolean => kind === 'approval';
  return [
    ...(open.every((each) => needsEarlier(each) || isApproval(each)) ? [] : (['arguments'] as const)),
    ...(open.some(needsEarlier) ? (['earlier calls'] as const) : []),
    ...(open.some(isApproval) ? (['approval'] as const) : []),
  ];
}

/**
 * The decision of a record as it was made. If a policy decided, each condition of the current policy is evaluated with
 * the recorded values.
 *
 * @param refusals By their reasons; a record that was read from a log does not have the answer.
 */
export function explainRecord(
  config: InForce,
  record: DecisionRecord,
  refusals: Readonly<Record<string, Refusal>> = {},
): Explained {
  const { allow, shadow, reason, detail, rule, neededScope, policy } = record;
  const route = config.routes.find(({ name }) => name === record.route);
  return {
    route: record.route,
    decidedBy: decidedBy(record),
    policy,
    allow,
    unknown: [],
    shadow,
    reason,
    detail,
    rule,
    neededScope: neededScope?.split(' ') ?? [],
    ...(isPolicyDecision(record)
      ? underCurrentPolicy(record, route, config)
      : { notes: otherStageNotes(record, route, refusals), conditions: [] }),
  };
}

function decidedBy(record: DecisionRecord): string {
  if (!record.allow && !isPolicyDecision(record)) return 'not refused by a policy';
  return record.policy === undefined ? 'no policy' : `policy ${policyName(record)}`;
}

function otherStageNotes(
  { allow, reason = '', answer: recorded }: DecisionRecord,
  route: Route | undefined,
  refusals: Readonly<Record<string, Refusal>>,
): readonly string[] {
  if (allow) return ['the route is public, or has no policy'];
  const status = recorded?.status ?? (Object.hasOwn(refusals, reason) ? refusals[reason]?.status : undefined);
  const answer = status === undefined ? '' : `the client got ${status}; `;
  const explained = `${answer}docs/reasons.md explains ${reason} and its remedy`;
  return reason.startsWith('token.') && route !== undefined ? [explained, ...tokenNotes(route)] : [explained];
}

/** The tokens that a route accepts now: the log says what it accepted then. */
function tokenNotes({ audiences, authorizationServers, tokens }: Route): readonly string[] {
  const quoted = (values: Iterable<string>): string => [...values].map((each) => JSON.stringify(each)).join(', ');
  const issuers = quoted(authorizationServers.flatMap(issuersOf));
  return [
    `the route accepts the audience ${quoted(audiences)}`,
    `the route accepts ${[...tokens].join(' and ')} tokens of ${issuers}`,
  ];
}

const recordedNotes = {
  arguments: 'arguments are not logged: the conditions on them are unknown',
  'earlier calls': 'the rules over time depend on earlier calls: sallyport replay decides them again from a whole log',
  approval: 'a person must approve the call, if the arguments do not spare it',
} as const;

function underCurrentPolicy(
  record: DecisionRecord,
  route: Route | undefined,
  config: InForce,
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
  const attempt = withShownArguments(recordedAttempt(record, route), record, principal, [policy]);
  const now = policy.decide(principal, attempt);
  const alone = explain(now.plan, principal, attempt);
  const isOpen = lacksPath(policy, attempt);
  const conditions = isOpen ? [] : alone.map((each) => asRefused(each, record));
  const { omitted = [] } = record.input;
  const notes = [
    ...unknownIn(conditions, false).map((what) => recordedNotes[what]),
    ...omitted.map((name) => `claim ${name} was too long for the log: the conditions on it are unknown`),
    ...(isOpen ? ['the path is not in the log, or cut: the conditions are unknown'] : []),
    ...(isOpen ? [] : changeNotes(record, now, unknownIn(alone, false).length + omitted.length > 0)),
    ...nearMisses(policy, principal, attempt, conditions, now.allow ? [] : now.denial.scope),
  ];
  return { notes, conditions };
}

/** A rule over time or an approval as the recorded refusal found it, if it still wants what it wanted then. */
function asRefused(condition: Explanation, { rule, detail }: DecisionRecord): Explanation {
  const { kind, outcome, wanted } = condition;
  const words = `wanted ${wanted}, found `;
  const isOfCall = kind === 'history' || kind === 'approval';
  if (!isOfCall || outcome !== 'unknown' || rule !== condition.rule) return condition;
  return detail?.startsWith(words) === true
    ? { ...condition, outcome: 'fails', found: detail.slice(words.length) }
    : condition;
}

/** Notes that the current policy decides otherwise. A decision that depends on unknown values is not compared. */
function changeNotes(record: DecisionRecord, now: Decision, isUnknown: boolean): readonly string[] {
  const denial = now.allow ? now.shadow : now.denial;
  if (now.allow === record.allow && denial?.reason === record.reason) return [];
  if (isUnknown && now.allow) return [];
  const words = now.allow ? 'would allow the call' : `would deny the call: ${now.denial.reason}`;
  return [`the current policy ${words}`];
}

/** The remedies of a caller, to be allowed: one line for each condition that fails. */
export function remediesIn(conditions: readonly Explanation[]): readonly string[] {
  return conditions.flatMap(failing);
}

function failing({ kind, outcome, wanted, rule, parts }: Explanation): readonly string[] {
  if (outcome === 'holds' || outcome === 'unknown') return [];
  if (kind === 'any') return [`one of: ${parts.map((part) => failing(part).join(' and ')).join(', or ')}`];
  if (kind === 'not') return [`${rule}: that its conditions do not all hold`];
  if (parts.length > 0) return parts.flatMap(failing);
  return [wanted];
}

/**
 * Names of a call that resemble names of the policy, a sentence each: a typing error, or another spelling, is the
 * likeliest cause of a refusal.
 *
 * @param conditions The policy's explanation of the call.
 * @param neededScope All scopes that the call needs.
 */
export function nearMisses(
  policy: Policy,
  principal: Principal,
  attempt: Attempt,
  conditions: readonly Explanation[],
  neededScope: readonly string[],
): readonly string[] {
  const failing = conditions.flatMap(leaves).filter(({ outcome }) => outcome === 'fails');
  const missing = [...policy.scope, ...neededScope].filter((scope) => !principal.scopes.has(scope));
  const isUnlisted = failing.some(({ kind }) => kind === 'listed');
  const notes = [
    ...(isUnlisted && attempt.kind === 'mcp' ? unlisted(policy, attempt) : []),
    ...(isUnlisted && attempt.kind === 'http' ? unlistedRequest(policy, attempt.request) : []),
    ...missing.flatMap((scope) => nearScope(scope, principal)),
    ...absent(failing, 'claim', principal.claims),
    ...absent(failing, 'argument', attempt.kind === 'mcp' ? attempt.arguments : undefined),
  ];
  return [...new Set(notes)];
}

function leaves(explanation: Explanation): readonly Explanation[] {
  const { parts } = explanation;
  return parts.length === 0 ? [explanation] : parts.flatMap(leaves);
}

function unlisted({ listed }: Policy, { method, targets }: McpAttempt): readonly string[] {
  const names = (key: string): readonly string[] => listed.filter((entry) => entry.key === key).map(({ name }) => name);
  const known = targets.length === 0 ? [...names('methods'), ...knownRequests.keys()] : [];
  return [
    ...targets.flatMap(({ kind, name }) => resembling(kind, name, names(listedKinds[kind].key))),
    ...(method.name === undefined ? [] : resembling('method', method.name, known)),
  ];
}

function unlistedRequest({ listed }: Policy, request: string | undefined): readonly string[] {
  if (request === undefined) return [];
  const method = request.slice(0, request.indexOf(' ') + 1);
  const names = listed.filter(({ key, name }) => key === 'requests' && name.startsWith(method)).map(({ name }) => name);
  return resembling('request', request, names);
}

function nearScope(missing: string, { grantedScopes }: Principal): readonly string[] {
  const joined = grantedScopes.find((scope) => scope.split(',').includes(missing));
  if (joined !== undefined) return [`${describeValue(joined)} is one scope: separate scopes by spaces`];
  return grantedScopes.filter((scope) => resembles(scope, missing)).map((scope) => sentence('scope', scope, missing));
}

function absent(failing: readonly Explanation[], kind: 'claim' | 'argument', object: unknown): readonly string[] {
  const wanted = failing.filter((each) => each.kind === kind && each.found === 'nothing');
  const names = isObject(object) ? namesIn(object) : [];
  return wanted.flatMap(({ reads = '' }) =>
    names.filter((name) => resembles(name, reads)).map((name) => sentence(kind, name, reads)),
  );
}

function namesIn(object: Readonly<Record<string, unknown>>): readonly string[] {
  const inner = Object.entries(object).flatMap(([name, value]) =>
    isObject(value) ? Object.keys(value).map((each) => `/${name}/${each}`) : [],
  );
  return [...Object.keys(object), ...inner];
}

function resembling(kind: string, name: string, listed: readonly string[]): readonly string[] {
  return listed.filter((pattern) => resembles(name, pattern)).map((pattern) => sentence(kind, name, pattern));
}

function sentence(kind: string, found: string, wanted: string): string {
  return `the ${kind} ${describeValue(found)} resembles ${describeValue(wanted)}, which the policy names`;
}

/** Whether a name is probably meant by a name or pattern that it does not match. */
function resembles(name: string, pattern: string): boolean {
  if (covers(pattern, name)) return false;
  if (covers(bareName(pattern), bareName(name))) return true;
  const [head = '', ...tail] = pattern.split('*');
  if (tail.length === 0) return didYouMean(name, [pattern]) !== undefined;
  return head !== '' && didYouMean(name.slice(0, head.length), [head]) !== undefined;
}

function covers(pattern: string, name: string): boolean {
  return pattern === name || (pattern.includes('*') && namePattern(pattern).matches(name));
}

/** A name without case and separators: `getSum`, `get-sum` and `get_sum` are alike. */
function bareName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_./: ]/g, '');
}
