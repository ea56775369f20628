import type { PolicyReason } from '../../model/reasons.ts';
import type { HistoryRule } from '../history-rules.ts';
import { countingOf } from './counting.ts';
import { type Formula, and, atom, or } from './formula.ts';
import type { Space } from './space.ts';

/** What earlier calls may make of rules over time: any of them may be the first that refuses, or none. */
export interface Histories {
  /** Holds where all rules are met. */
  readonly met: Formula;
  /** For each rule where it is the first that refuses. */
  readonly refusals: readonly { readonly reason: PolicyReason; readonly rule: string; readonly when: Formula }[];
  /** Holds where there can be such earlier calls. */
  readonly constraint: Formula;
  /** Holds where a rule is the first that refuses; undefined: where all are met. */
  readonly refusedBy: (rule: HistoryRule | undefined) => Formula;
  /** The first rule that refuses, where each variable has one class; undefined: all are met. */
  readonly refusing: (classes: readonly number[]) => HistoryRule | undefined;
}

/** Earlier calls are not looked at: every rule over time is met. */
export const noHistories: Histories = {
  met: true,
  refusals: [],
  constraint: true,
  refusedBy: () => true,
  refusing: () => undefined,
};

/** All that earlier calls may make of some rules, in the order in which they are judged. */
export function historiesOf(rules: readonly HistoryRule[], space: Space): Histories {
  if (rules.length === 0) return noHistories;
  // Without earlier calls, the first `after` refuses: the simplest class.
  const withoutCalls = rules.find(({ kind }) => kind === 'after');
  const outcomes = [withoutCalls, ...[...rules, undefined].filter((each) => each !== withoutCalls)];
  const variable = space.variables.add(outcomes.length);
  const refusedBy = (rule: HistoryRule | undefined): Formula => atom(variable, 1n << BigInt(outcomes.indexOf(rule)));
  const comparable = (rule: HistoryRule): Formula => and(countingOf(rule).comparable.map((each) => space.metBy(each)));
  // `after` needs a value that can be the same in order to be met, and all others in order to refuse.
  const possible = (refusing: HistoryRule | undefined): Formula => {
    const earlier = rules.slice(0, refusing === undefined ? rules.length : rules.indexOf(refusing));
    const met = earlier.filter(({ kind }) => kind === 'after').map(comparable);
    return and(refusing === undefined || refusing.kind === 'after' ? met : [...met, comparable(refusing)]);
  };
  return {
    met: refusedBy(undefined),
    refusals: rules.map((rule) => ({ reason: rule.denial.reason, rule: rule.rule, when: refusedBy(rule) })),
    constraint: or(outcomes.map((refusing) => and([refusedBy(refusing), possible(refusing)]))),
    refusedBy,
    refusing: (classes) => outcomes[classes[variable.index] ?? 0],
  };
}
