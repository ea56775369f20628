import { expect, test } from 'vitest';
import { and, atom, type Formula, holds, not, or, search, Variables } from '../../../src/analysis/prove/formula.ts';

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

/** The statement that a variable with two classes has the second one. */
function yes(index: number): Formula {
  return atom({ index, all: 3n }, 2n);
}

function no(index: number): Formula {
  return not(yes(index));
}

/** The classes that a search leaves to each of `variables`, all of which have two classes; undefined: it finds none. */
function found(formula: Formula, variables: number, steps = 10_000): string | undefined {
  const words = ['', 'no', 'yes', 'open'];
  const domains = Array.from({ length: variables }, () => 3n);
  return search(formula, domains, { steps })
    ?.map((each) => words[Number(each)])
    .join(' ');
}

/** A statement that only tries can refute: each pair of two variables is excluded. */
function impossible(one: number, other: number): Formula {
  return and([
    or([yes(one), yes(other)]),
    or([yes(one), no(other)]),
    or([no(one), yes(other)]),
    or([no(one), no(other)]),
  ]);
}

test('what must hold narrows what else may', () => {
  expect(found(and([yes(0), or([no(0), yes(1)]), or([no(1), no(2)])]), 4)).toBe('yes yes no open');
  expect(found(and([yes(0), no(0)]), 1)).toBeUndefined();
  expect(found(and([yes(0), or([no(0), yes(1)]), no(1)]), 2)).toBeUndefined();
});

test('after an alternative that fails, the next one is tried with the first excluded', () => {
  expect(found(or([impossible(0, 1), yes(2)]), 3)).toBe('no no yes');
  expect(found(or([impossible(0, 1), impossible(1, 2)]), 3)).toBeUndefined();
});

test.each<[string, readonly Formula[], string]>([
  ['before a longer one', [or([no(1), yes(0)]), or([yes(1), yes(2), yes(3)])], 'open no yes open'],
  ['after a longer one', [or([yes(1), yes(2), yes(3)]), or([no(1), yes(0)])], 'open no yes open'],
  ['before one as short', [or([no(1), yes(0)]), or([yes(1), yes(2)])], 'open no yes open'],
])('the shortest choice is tried first: %s', (_what, choices, classes) => {
  expect(found(and(choices), 4)).toBe(classes);
});

test('a choice is made once, however long the choices inside it are', () => {
  const inside = and([or([yes(0), yes(1), yes(2)]), or([yes(3), yes(4), yes(5)])]);
  expect(found(or([inside, yes(6)]), 7, 100)).toBe('yes open open yes open open open');
});

test('a part that several groups share is looked at once', () => {
  let shared = or([yes(0), yes(1)]);
  for (let index = 2; index < 40; index += 2) {
    shared = or([and([shared, yes(index)]), and([shared, yes(index + 1)])]);
  }
  expect(found(shared, 40, 20_000)).toBeDefined();
});

test('a group is left at the part that decides it', () => {
  const long = or(Array.from({ length: 100 }, () => yes(1)));
  expect(search(and([yes(0), long]), [1n, 3n], { steps: 2 })).toBeUndefined();
});

test('a search takes exactly the steps that it may', () => {
  const formula = and([or([yes(0), yes(1)]), no(0)]);
  const budget = { steps: 1000 };
  expect(search(formula, [3n, 3n], budget)).toEqual([1n, 2n]);
  expect(found(formula, 2, 1000 - budget.steps)).toBe('no yes');
  expect(() => found(formula, 2, 999 - budget.steps)).toThrow('too many combinations');
});
