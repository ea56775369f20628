import { unknownArguments, type Attempt, type Explanation, type McpAttempt } from '../model/policy.ts';
import type { Principal } from '../model/principal.ts';
import type { AllCondition } from './conditions/all.ts';
import { explainCondition, outcomeOf } from './conditions/condition.ts';
import type { Rules } from './decide.ts';
import { type ArgumentCondition, type Entry, takesArguments } from './entry.ts';
import { explainHistory } from './history.ts';
import { type Listing, entriesFor } from './listing.ts';
import { describeFound, wantedBy } from './predicate.ts';
import { describeValue } from '../lib/json/describe-value.ts';

/**
 * Every condition that applies to a call, with what it wanted and what it found. It walks all of them, where `decide`
 * stops at the first that denies. The code that decides judges each of them.
 */
export function explain(rules: Rules, principal: Principal, attempt: Attempt): readonly Explanation[] {
  const { condition, listing, past } = rules;
  const own = partsOf(condition, principal);
  if (attempt.kind === 'http' || listing === undefined) return own;
  return [...own, ...ofListing(listing, past, principal, attempt)];
}

function ofListing(
  listing: Listing,
  past: Rules['past'],
  principal: Principal,
  attempt: McpAttempt,
): readonly Explanation[] {
  const entries = entriesFor(listing, attempt);
  if ('reason' in entries) {
    const { rule, wanted, found } = entries;
    return [{ rule, kind: 'listed', outcome: 'fails', wanted, found, parts: [] }];
  }
  const history = past === undefined ? [] : explainHistory(past, entries, principal, attempt);
  return [...entries.map((entry) => ofEntry(entry, principal, attempt)), ...history];
}

function ofEntry(entry: Entry, principal: Principal, attempt: McpAttempt): Explanation {
  const conditions = takesArguments(attempt) ? entry.arguments : [];
  const parts = [
    ...partsOf(entry.condition, principal),
    ...conditions.map((argument) => ofArgument(argument, attempt.arguments)),
  ];
  return {
    rule: entry.rule,
    kind: 'listed',
    outcome: worst(parts),
    wanted: 'all of its conditions',
    found: describeValue(entry.name),
    parts,
  };
}

/** The conditions of an `all`, one by one. */
function partsOf({ parts }: AllCondition, principal: Principal): readonly Explanation[] {
  return parts.map((part) => explainCondition(part, principal));
}

function ofArgument({ rule, pointer, read, predicates }: ArgumentCondition, found: unknown): Explanation {
  const wanted = `argument ${pointer}: ${wantedBy(predicates)}`;
  const wants = { rule, kind: 'argument', reads: pointer, wanted, parts: [] } as const;
  if (found === unknownArguments) return { ...wants, outcome: 'unknown', found: 'unknown' };
  return {
    ...wants,
    outcome: outcomeOf(() => predicates.every(({ test }) => test(read(found)))),
    found: describeFound(
      safely(() => read(found)),
      predicates,
    ),
  };
}

function safely(read: () => unknown): unknown {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function worst(parts: readonly Explanation[]): Explanation['outcome'] {
  const outcomes = new Set(parts.map(({ outcome }) => outcome));
  return (['error', 'fails', 'unknown'] as const).find((each) => outcomes.has(each)) ?? 'holds';
}
