import { type Decision, denialIn } from '../../core/model/policy.ts';
import { allOf } from '../../core/policy/conditions/groups.ts';
import type { Condition } from '../../core/policy/conditions/condition.ts';
import type { Rules } from '../../core/policy/decide.ts';
import type { Entry } from '../../core/policy/entry.ts';
import { type CallKind, planFor } from '../../core/policy/plan.ts';
import type { PossibleCall } from '../prove/calls.ts';
import type { PossibleDecision } from '../prove/decisions.ts';
import { type Examination, examine } from '../prove/examination.ts';
import { and, type Budget, type Formula, not, or } from '../prove/formula.ts';
import type { Setting } from '../prove/space.ts';

/** The differences between the decisions of two policies on one call of one caller, gravest first. */
export const decisionKinds = [
  'newly allowed',
  'approval changed',
  'newly refused',
  'refused for another reason',
  'asked for other scopes',
] as const;

const asking = ['scope.insufficient', 'authentication.insufficient'] as const;

/** One of {@link decisionKinds}. */
export type DecisionKind = (typeof decisionKinds)[number];

/** For each kind of difference, when two policies differ by it. At most one of them holds. */
type Differences = Readonly<Record<DecisionKind, Formula>>;

/** When the decisions that two policies can make on calls of one kind differ. */
export function differencesBetween(
  before: readonly PossibleDecision[],
  after: readonly PossibleDecision[],
): Differences {
  const allowedBefore = isMade(before, undefined);
  const allowedAfter = isMade(after, undefined);
  const heldBefore = isMade(before, 'approval.required');
  const heldAfter = isMade(after, 'approval.required');
  const reasons = new Set([...before, ...after].flatMap(({ reason }) => reason ?? []));
  const otherReason = or(
    [...reasons].flatMap((reason) =>
      [...reasons]
        .filter((other) => other !== reason)
        .map((other) => and([isMade(before, reason), isMade(after, other)])),
    ),
  );
  const asked = scopesIn([...before, ...after]);
  const otherScopes = or(asked.map((scope) => differ(asksFor(scope, before), asksFor(scope, after))));
  return {
    'newly allowed': and([allowedAfter, not(allowedBefore), not(heldBefore)]),
    'approval changed': or([and([allowedBefore, heldAfter]), and([heldBefore, allowedAfter])]),
    'newly refused': and([allowedBefore, not(allowedAfter), not(heldAfter)]),
    'refused for another reason': otherReason,
    'asked for other scopes': and([
      or(asking.map((reason) => and([isMade(before, reason), isMade(after, reason)]))),
      otherScopes,
    ]),
  };
}

/** Holds if two policies differ in any way. */
export function differAtAll(differences: Differences): Formula {
  return or(decisionKinds.map((kind) => differences[kind]));
}

function isMade(decisions: readonly PossibleDecision[], wanted: PossibleDecision['reason']): Formula {
  return or(decisions.map(({ reason, when }) => (reason === wanted ? when : false)));
}

function asksFor(scope: string, decisions: readonly PossibleDecision[]): Formula {
  return or(
    decisions.map(({ when, asked }) =>
      and([when, or(asked.map((mention) => (mention.scope === scope ? mention.when : false)))]),
    ),
  );
}

function scopesIn(decisions: readonly PossibleDecision[]): readonly string[] {
  return [...new Set(decisions.flatMap(({ asked }) => asked.map(({ scope }) => scope)))];
}

/** Holds where two policies need different scopes, even of a caller that has them. */
function needsDiffer(before: readonly PossibleDecision[], after: readonly PossibleDecision[]): Formula {
  const scopes = scopesIn([...before, ...after]);
  return or(scopes.map((scope) => differ(isNeeded(scope, before), isNeeded(scope, after))));
}

function isNeeded(wanted: string, decisions: readonly PossibleDecision[]): Formula {
  // All challenges of a policy name the scopes that the same conditions need.
  const mentions = decisions.find(({ asked }) => asked.length > 0)?.asked ?? [];
  return or(mentions.map(({ scope, when }) => (scope === wanted ? when : false)));
}

function differ(one: Formula, other: Formula): Formula {
  return or([and([one, not(other)]), and([other, not(one)])]);
}

/**
 * The difference between two decisions; undefined if they are alike. In shadow mode the decision that would be enforced
 * counts.
 */
export function kindBetween(before: Decision, after: Decision): DecisionKind | undefined {
  const was = denialIn(before);
  const now = denialIn(after);
  if (was === undefined && now === undefined) return undefined;
  if (was === undefined) return now?.reason === 'approval.required' ? 'approval changed' : 'newly refused';
  if (now === undefined) return was.reason === 'approval.required' ? 'approval changed' : 'newly allowed';
  if (was.reason !== now.reason) return 'refused for another reason';
  return isSameSet(was.scope, now.scope) ? undefined : 'asked for other scopes';
}

function isSameSet(one: readonly string[], other: readonly string[]): boolean {
  return one.every((each) => other.includes(each)) && other.every((each) => one.includes(each));
}

/** Two policies, or what they decide a call by: before an edit, and after it. */
export type Edited<Value> = readonly [before: Value, after: Value];

interface Suspect {
  readonly kind: DecisionKind;
  /** The rule that causes it: an entry, a key that lists entries, or `policy` for the policy's own conditions. */
  readonly rule: string;
  /**
   * The last one holds where there is such a difference. The others hold for witnesses that read better: at most one
   * condition of the new policy is not met, and best one of an entry.
   */
  readonly goals: readonly Formula[];
}

/** Every difference that may exist between calls of one kind, and a way to find examples. */
export function suspectsAmong(
  call: PossibleCall,
  policies: Edited<Rules>,
  kinds: Edited<CallKind>,
  setting: Setting,
  budget: Budget,
): Pick<Examination, 'find'> & { readonly suspects: readonly Suspect[] } {
  const withoutOwn = policies.map((each) => withCondition(each, []));
  const targetsOnly = kinds.map(onlyTargets);
  const [, after] = policies;
  const conditions = planFor(after, kinds[1]).conditions.flatMap(({ parts }) => parts);
  const single = conditions.map((each) => withCondition(after, [each]));
  const ownOnly = { ...kinds[1], entries: undefined };
  const { decisions, find } = examine(
    { when: call.when, kinds: [...kinds, ownOnly, ownOnly, ...kinds, ...targetsOnly, ...single.map(() => ownOnly)] },
    [...policies, ...policies, ...withoutOwn, ...withoutOwn, ...single],
    {},
    setting,
    budget,
  );
  const [was = [], is = [], ownBefore = [], ownAfter = [], ...others] = decisions;
  const [listedBefore = [], listedAfter = [], targetBefore = [], targetAfter = [], ...met] = others;
  const differences = differencesBetween(was, is);
  const byOwn = or([differAtAll(differencesBetween(ownBefore, ownAfter)), needsDiffer(ownBefore, ownAfter)]);
  const byEntry = differAtAll(differencesBetween(listedBefore, listedAfter));
  const byTarget = differAtAll(differencesBetween(targetBefore, targetAfter));
  const isMet = met.map((each) => or(each.map(({ reason, when }) => (reason === undefined ? when : false))));
  const isMetButOne = isMet.map((_, unmet) => and(isMet.toSpliced(unmet, 1)));
  const own = after.condition.parts.length;
  const causes = [
    { rule: ruleOf(kinds), where: or([byTarget, and([not(byEntry), not(byOwn)])]) },
    { rule: methodOf(kinds) ?? ruleOf(kinds), where: and([not(byTarget), byEntry]) },
    { rule: 'policy', where: and([not(byTarget), not(byEntry), byOwn]) },
  ];
  const suspects = causes.flatMap(({ rule, where }) =>
    decisionKinds.map((kind) => {
      const goal = and([differences[kind], where]);
      const plain = [or(isMetButOne.slice(own)), or(isMetButOne)].map((each) => and([goal, each]));
      return { kind, rule, goals: [...plain, goal] };
    }),
  );
  return { find, suspects };
}

function withCondition(rules: Rules, conditions: readonly Condition[]): Rules {
  return { ...rules, condition: allOf('', conditions) };
}

function onlyTargets(kind: CallKind): CallKind {
  const { entries } = kind;
  if (entries === undefined || 'reason' in entries) return kind;
  return { ...kind, entries: entries.filter(({ key }) => key !== 'methods') };
}

/** The rule that decides about calls of a kind: that of the new policy, or one that it no longer has. */
export function ruleOf([before, after]: Edited<CallKind>): string {
  return entryRules(after)[0] ?? entryRules(before)[0] ?? keyOf(after) ?? keyOf(before) ?? 'policy';
}

function methodOf(kinds: Edited<CallKind>): string | undefined {
  return kinds
    .toReversed()
    .flatMap(entryRules)
    .find((rule) => rule.startsWith('methods.'));
}

function entryRules(kind: CallKind): readonly string[] {
  return entriesOf(kind).map(({ rule }) => rule);
}

function entriesOf({ entries }: CallKind): readonly Entry[] {
  return entries === undefined || 'reason' in entries ? [] : entries;
}

/** The key of the policy that does not list such a call. */
function keyOf({ entries }: CallKind): string | undefined {
  return entries !== undefined && 'reason' in entries ? entries.rule : undefined;
}
