import { expect, test } from 'vitest';
import { Variables, and, atom, holds, not, or } from '../../../src/policy/prove/formula.ts';

const variable = { index: 0, all: 7n };
const [first, second] = [atom(variable, 1n), atom({ index: 1, all: 3n }, 1n)];

test('a statement that no class meets is false, and one that every class meets is true', () => {
  expect(atom(variable, 0n)).toBe(false);
  expect(atom(variable, 7n)).toBe(true);
  expect(atom(variable, 5n)).toEqual({ kind: 'atom', variable, accepts: 5n });
});

test('a group of one part is that part', () => {
  expect(and([true, first])).toBe(first);
  expect(or([first, false])).toBe(first);
});

test('a group is negated once, so that formulas share the negation', () => {
  const both = and([first, second]);
  expect(not(both)).toBe(not(both));
  expect(holds(not(both), [0, 1])).toBe(true);
  expect(holds(not(both), [0, 0])).toBe(false);
});

test('a variable has as many classes as were asked for, of which some may stand for nothing real', () => {
  const variables = new Variables();
  expect(variables.add(3)).toEqual({ index: 0, all: 7n });
  expect(variables.add(2, (index) => index === 1)).toEqual({ index: 1, all: 3n });
  expect(variables.all).toEqual([7n, 3n]);
  expect(variables.real).toEqual([7n, 2n]);
});
