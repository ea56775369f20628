import type { Condition } from './condition.ts';
import type { Rules } from './decide.ts';
import type { Entry } from './entry.ts';
import type { MemberReader } from '../json/pointer.ts';

/** The path of every rule that a decision can name or rest on: conditions, each alternative's too, and what is listed. */
export function rulesOf({ condition }: Rules, entries: readonly Entry[]): readonly string[] {
  const listed = new Set<string>(entries.map(({ key }) => key));
  return [
    ...rulesIn(condition),
    ...entries.flatMap((entry) => [
      entry.rule,
      ...rulesIn(entry.condition),
      ...entry.arguments.map(({ rule }) => rule),
    ]),
    ...listed,
  ];
}

/** What rules read of a token, by claim as written. */
export function claimReaders({ condition }: Rules, entries: readonly Entry[]): ReadonlyMap<string, MemberReader> {
  const conditions = [condition, ...entries.map((entry) => entry.condition)].flatMap(leaves);
  return new Map(conditions.flatMap((leaf) => (leaf.kind === 'claim' ? [[leaf.name, leaf.read] as const] : [])));
}

/** A group that must hold whole is told by its parts. */
function rulesIn(condition: Condition): readonly string[] {
  switch (condition.kind) {
    case 'all':
      return condition.conditions.flatMap(rulesIn);
    case 'any':
      return [condition.rule, ...condition.alternatives.flatMap(rulesIn)];
    case 'not':
    case 'scope':
    case 'claim':
    case 'lifetime':
      return [condition.rule];
  }
}

function leaves(condition: Condition): readonly Condition[] {
  switch (condition.kind) {
    case 'all':
      return condition.conditions.flatMap(leaves);
    case 'any':
      return condition.alternatives.flatMap(leaves);
    case 'not':
      return leaves(condition.condition);
    case 'scope':
    case 'claim':
    case 'lifetime':
      return [condition];
  }
}
