import type { Predicate } from '../predicate.ts';
import type { Variable } from './formula.ts';
import type { Variables } from './variables.ts';

/** An element that an array may contain. */
export interface PossibleElement {
  readonly value: unknown;
  /** Class 0: the array does not contain it. */
  readonly variable: Variable;
}

/**
 * The elements that predicates on arrays can tell apart, each with a variable of its own: an array may have any of
 * them together. `contains` holds as soon as it holds for one element, so that arrays of one element say it all.
 */
export function elementsOf(containing: readonly Predicate[], variables: Variables): readonly PossibleElement[] {
  if (containing.length === 0) return [];
  const listed = containing.flatMap(({ operand }) => (operand.kind === 'element' ? [operand.element] : []));
  const told = new Map<string, unknown>();
  for (const value of [...listed, ...others(listed)]) {
    const holding = containing.map(({ test }) => test([value]));
    const key = holding.join(' ');
    if (holding.includes(true) && !told.has(key)) told.set(key, value);
  }
  return [...told.values()].map((value) => ({ value, variable: variables.add(2) }));
}

/** A value of each type that is not listed. There are no more than two truth values. */
function others(listed: readonly unknown[]): readonly unknown[] {
  let text = 'x';
  while (listed.includes(text)) text += 'x';
  let number = 1;
  while (listed.includes(number)) number += 1;
  return [text, number, true, false, null];
}
