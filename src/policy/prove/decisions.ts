import type { McpAttempt } from '../../model/policy.ts';
import type { PolicyReason } from '../../model/reasons.ts';
import type { Condition } from '../conditions/condition.ts';
import type { Rules } from '../decide.ts';
import { type Entry, takesArguments } from '../entry.ts';
import { ownRules } from '../history.ts';
import type { HistoryRule, PastRule } from '../history-rules.ts';
import type { Unlisted } from '../listing.ts';
import { countingOf } from './counting.ts';
import { type Formula, and, not } from './formula.ts';
import type { Histories } from './histories.ts';
import { mentionsIn } from './needed-scopes.ts';
import { refusalsBy } from './refusals.ts';
import type { Space } from './space.ts';
import { verdictsOn, verdictsOnAll } from './verdicts.ts';

/** A kind of calls on which a policy decides by the same entries. */
export interface CallKind {
  readonly attempt: { readonly kind: 'http' } | Omit<McpAttempt, 'arguments'>;
  /** What the policy lists for such a call; undefined where it needs no entry. */
  readonly entries: readonly Entry[] | Unlisted | undefined;
  /** The rules over time of other calls that look back at such a call. */
  readonly covering: readonly PastRule[];
}

/** One decision that a policy can make on a kind of calls. */
export interface PossibleDecision {
  /** Undefined: the call is allowed. */
  readonly reason: PolicyReason | undefined;
  /** The rule that refuses it. */
  readonly rule: string | undefined;
  /** When it is made. Of all decisions on a kind of calls, exactly one is. */
  readonly when: Formula;
  /** Where the scopes of the challenge come from; empty for a decision without one. */
  readonly asked: ReturnType<typeof mentionsIn>;
}

/** The entries that apply to a kind of calls. */
export function appliedEntries({ entries }: CallKind): readonly Entry[] {
  return entries === undefined || 'reason' in entries ? [] : entries;
}

/** The conditions on arguments that apply to a kind of calls. */
export function appliedArguments(kind: CallKind): readonly Entry['arguments'][number][] {
  const { attempt } = kind;
  if (attempt.kind === 'http' || !takesArguments({ ...attempt, arguments: undefined })) return [];
  return appliedEntries(kind).flatMap((entry) => entry.arguments);
}

/** The rules over time of the entries that apply to a kind of calls. */
export function appliedHistory(kind: CallKind): readonly HistoryRule[] {
  return kind.attempt.kind === 'http' ? [] : ownRules(appliedEntries(kind), kind.attempt);
}

/** All rules over time that count calls of a kind. */
export function countingRules(kind: CallKind): readonly HistoryRule[] {
  return [...appliedHistory(kind), ...kind.covering];
}

/** Every decision that `decide` (`policy/decide.ts`) and rules over time can make on a kind of calls, in order. */
export function decisionsOn(
  { condition }: Rules,
  kind: CallKind,
  space: Space,
  histories: Histories,
): readonly PossibleDecision[] {
  const { entries } = kind;
  const own = verdictsOn(condition, space);
  const decisions: PossibleDecision[] = [...refused([condition], 'refused', space, true)];
  if (entries === undefined) {
    return [...decisions, ...passing([condition], own, space, { guard: true, histories })];
  }
  const guards: Formula[] = [not(own.refused)];
  if ('reason' in entries) {
    return [...decisions, { reason: entries.reason, rule: entries.rule, when: and(guards), asked: [] }];
  }
  for (const entry of entries) {
    decisions.push(...refused([entry.condition], 'refused', space, and(guards)));
    guards.push(not(verdictsOn(entry.condition, space).refused));
  }
  for (const argument of appliedArguments(kind)) {
    const met = space.metBy(argument);
    decisions.push({ reason: 'argument.denied', rule: argument.rule, when: and([...guards, not(met)]), asked: [] });
    guards.push(met);
  }
  const rules = appliedHistory(kind);
  for (const [index, counting] of countingRules(kind).entries()) {
    const { owner, countable } = countingOf(counting);
    const needs = [
      ...(owner === undefined ? [] : [['claim.denied', space.met(owner)] as const]),
      // A rule that only looks back at the call needs no arguments of it.
      ...(index < rules.length ? countable : []).map((each) => ['argument.denied', space.metBy(each)] as const),
    ];
    for (const [reason, met] of needs) {
      decisions.push({ reason, rule: counting.rule, when: and([...guards, not(met)]), asked: [] });
      guards.push(met);
    }
  }
  const conditions = [condition, ...entries.map((entry) => entry.condition)];
  const all = verdictsOnAll(conditions.map((each) => verdictsOn(each, space)));
  const guard = and(guards);
  return [...decisions, ...passing(conditions, all, space, { guard, histories })];
}

/** The decisions on a call that nothing refuses whatever the token. */
function passing(
  conditions: readonly Condition[],
  { met }: { readonly met: Formula },
  space: Space,
  { guard, histories }: { readonly guard: Formula; readonly histories: Histories },
): readonly PossibleDecision[] {
  return [
    { reason: undefined, rule: undefined, when: and([guard, met, histories.met]), asked: [] },
    ...histories.refusals.map((each) => ({ ...each, when: and([guard, met, each.when]), asked: [] })),
    ...refused(conditions, 'scope', space, guard),
    ...refused(conditions, 'lifetime', space, guard),
  ];
}

function refused(
  conditions: readonly Condition[],
  verdict: 'refused' | 'scope' | 'lifetime',
  space: Space,
  guard: Formula,
): readonly PossibleDecision[] {
  const verdicts = verdictsOnAll(conditions.map((each) => verdictsOn(each, space)));
  const together = and([guard, verdicts[verdict]]);
  return refusalsBy(conditions, verdict, space).map(({ reason, rule, when }) => ({
    reason,
    rule,
    when: and([together, when]),
    asked: reason === 'scope.insufficient' ? mentionsIn(conditions, space) : [],
  }));
}
