import { describeValue } from '../lib/json/describe-value.ts';
import type { Predicate } from './predicate.ts';

/** How many elements of a list are tried. */
const MAX_TRIED = 32;

/**
 * A value that predicates were applied to, in words. If they refuse a list because they want one of its elements, it
 * names the remedy: servers send a role as a string, or as a list.
 */
export function describeFound(found: unknown, predicates: readonly Predicate[]): string {
  const words = describeValue(found);
  if (!Array.isArray(found) || accept(predicates, found)) return words;
  const isList = found.slice(0, MAX_TRIED).some((each) => typeof each === 'string' && accept(predicates, each));
  return isList ? `${words}; use contains for a list` : words;
}

function accept(predicates: readonly Predicate[], value: unknown): boolean {
  try {
    return predicates.every(({ test }) => test(value));
  } catch {
    // A value that cannot be tested. The decision is made elsewhere: an error here must not change it.
    return false;
  }
}
