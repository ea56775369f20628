import type { Decision } from '../../model/policy.ts';
import type { PossibleDecision } from '../prove/decisions.ts';
import { type Formula, and, not, or } from '../prove/formula.ts';

/** How the decisions of two policies on one call of one caller differ, gravest first. */
export const decisionKinds = [
  'newly allowed',
  'newly refused',
  'refused for another reason',
  'asked for other scopes',
] as const;

/** One of {@link decisionKinds}. */
export type DecisionKind = (typeof decisionKinds)[number];

/** For each kind of difference, when two policies differ by it. At most one of them holds. */
export type Differences = Readonly<Record<DecisionKind, Formula>>;

/** When the decisions that two policies can make on calls of one kind differ. */
export function differencesBetween(
  before: readonly PossibleDecision[],
  after: readonly PossibleDecision[],
): Differences {
  const allowedBefore = isMade(before, undefined);
  const allowedAfter = isMade(after, undefined);
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
    'newly allowed': and([allowedAfter, not(allowedBefore)]),
    'newly refused': and([allowedBefore, not(allowedAfter)]),
    'refused for another reason': otherReason,
    'asked for other scopes': and([
      isMade(before, 'scope.insufficient'),
      isMade(after, 'scope.insufficient'),
      otherScopes,
    ]),
  };
}

/** Holds if two policies differ in any way. */
export function differAtAll(differences: Differences): Formula {
  return or(decisionKinds.map((kind) => differences[kind]));
}

/** Holds where a policy decides for a reason; undefined: where it allows the call. */
function isMade(decisions: readonly PossibleDecision[], wanted: PossibleDecision['reason']): Formula {
  return or(decisions.map(({ reason, when }) => (reason === wanted ? when : false)));
}

/** Holds where a challenge of a policy names a scope. */
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
export function needsDiffer(before: readonly PossibleDecision[], after: readonly PossibleDecision[]): Formula {
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

/** How two decisions differ; undefined if they do not. In shadow mode the decision that would be enforced counts. */
export function kindBetween(before: Decision, after: Decision): DecisionKind | undefined {
  const was = denialIn(before);
  const now = denialIn(after);
  if (was === undefined) return now === undefined ? undefined : 'newly refused';
  if (now === undefined) return 'newly allowed';
  if (was.reason !== now.reason) return 'refused for another reason';
  return isSameSet(was.scope, now.scope) ? undefined : 'asked for other scopes';
}

function isSameSet(one: readonly string[], other: readonly string[]): boolean {
  return one.every((each) => other.includes(each)) && other.every((each) => one.includes(each));
}

/** The denial of a decision, or the one that shadow mode withheld. */
export function denialIn(decision: Decision): Extract<Decision, { allow: false }>['denial'] | undefined {
  return decision.allow ? decision.shadow : decision.denial;
}
