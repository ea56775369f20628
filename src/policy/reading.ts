/**
 * How a value of another type than a predicate compares is read. `direct`: it fails the predicate. `negated`, under an
 * odd number of `not`: it counts as excluded, so that it fails the `not` too. `literal`: it fails the predicate under
 * `not` as well, so that `not` is the exact complement. Policies are direct, properties are literal.
 */
export type Reading = 'direct' | 'negated' | 'literal';

/** The reading under one more `not`. */
export function underNot(reading: Reading): Reading {
  if (reading === 'literal') return reading;
  return reading === 'direct' ? 'negated' : 'direct';
}
