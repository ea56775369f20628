import { keysOf } from '../../core/lib/json/pointer.ts';
import type { PolicyDenial } from '../../core/model/denial.ts';
import { argumentsOf, type Attempt } from '../../core/model/policy.ts';
import type { Principal } from '../../core/model/principal.ts';
import type { Entry } from '../../core/policy/entry.ts';
import type { EntryPart } from '../../core/policy/entry-part.ts';
import type { LanguagePart, PartOfCall, PartStep } from '../../core/policy/part.ts';
import { callHistory, checkPast, countingDenial, explainRule, joinedHistory, ownerDenial } from './counting.ts';
import { historyKey, type PlanHistory, type PolicyHistory } from './key.ts';
import { compileHistory, type HistoryRule, type PastRule, readBy } from './rules.ts';

interface EntryHistory extends EntryPart {
  readonly history: readonly HistoryRule[];
}

function historyIn({ parts }: Pick<Entry, 'parts'>): readonly HistoryRule[] {
  return (parts.get(historyKey) as EntryHistory | undefined)?.history ?? [];
}

/** Rules over time in the policy language. */
export const historyPart: LanguagePart<PolicyHistory> = {
  key: historyKey,
  keys: ['after', 'never_after', 'quota'],
  compile(document, context): EntryHistory | undefined {
    const history = compileHistory(document, context);
    if (history.length === 0) return undefined;
    return {
      history,
      rules: history.map(({ rule }) => rule),
      conditions: [],
      bindsArguments: history.some((rule) => rule.kind === 'quota' || rule.same.length > 0),
      values: [],
      asks: [],
      owners: history.flatMap(({ owner: { by, claim } }) => (claim === undefined ? [] : [{ name: by, read: claim }])),
    };
  },
  open(listing, _isShadow, faults) {
    const rules = listing.entries.flatMap(historyIn);
    checkPast(listing, historyIn, faults);
    return rules.length === 0 ? undefined : { past: rules.filter((rule) => rule.kind !== 'quota') };
  },
  plan(policy, { entries, isShadow, known }): PlanHistory {
    const own = entries.flatMap(historyIn);
    const past = (known as readonly PastRule[] | undefined) ?? policy.past;
    const owners = past.filter((rule) => !own.includes(rule));
    return {
      own,
      owners,
      steps: [...own.map(countingStep), ...owners.map(ownerStep)],
      argumentsRead: (attempt) =>
        [...own, ...past.filter(({ covers }) => covers(attempt))]
          .flatMap(readBy)
          .map(({ pointer }) => keysOf(pointer) ?? []),
      of: (principal, attempt, exact, isInner) =>
        callHistory({ own, past, isShadow, isInner }, principal, attempt, exact),
      join: joinedHistories,
    };
  },
};

function joinedHistories(calls: readonly PartOfCall[]): PlanHistory {
  const parts = calls.map(({ part, attempt, tool }) => ({ part: part as PlanHistory, attempt, tool }));
  return {
    own: parts.flatMap(({ part }) => part.own),
    owners: parts.flatMap(({ part }) => part.owners),
    steps: [],
    argumentsRead: () => [[]],
    of: (principal, _attempt, exact) =>
      joinedHistory(
        parts.flatMap(({ part, attempt, tool }) => {
          const isInner = tool !== undefined;
          const numbers = isInner && attempt.kind === 'mcp' ? attempt.exactArguments : exact;
          const history = part.of(principal, attempt, numbers, isInner);
          return history === undefined ? [] : [{ history, tool }];
        }),
      ),
  };
}

function countingStep(rule: HistoryRule): PartStep {
  return {
    on: 'part',
    part: historyKey,
    because: rule.because,
    judge: (principal, call) => countingDenial(rule, principal, argumentsOf(call)) ?? 'met',
    explain: (principal, call) => [explainRule(rule, principal, argumentsOf(call))],
  };
}

/** A call that a rule looks back at must have an owner. */
function ownerStep(rule: PastRule): PartStep {
  const denialOf = (principal: Principal, call: Attempt): PolicyDenial | undefined =>
    rule.covers(call) ? ownerDenial(rule, principal) : undefined;
  return {
    on: 'part',
    part: historyKey,
    because: rule.because,
    judge: (principal, call) => denialOf(principal, call) ?? 'met',
    explain: (principal, call) =>
      denialOf(principal, call) === undefined ? [] : [explainRule(rule, principal, argumentsOf(call))],
  };
}
