import { describe, expect, test } from 'vitest';
import { describeFound } from '../../src/policy/describe-found.ts';
import type { ValueDocument } from '../../src/policy/document.ts';
import { compilePredicates } from '../../src/policy/predicate.ts';

const describedBy = (value: ValueDocument, found: unknown): string =>
  describeFound(found, compilePredicates(value, [], []));

describe('a list with an element that the condition wants', () => {
  test.each<[ValueDocument, unknown, string]>([
    ['trader', ['x', 'trader'], 'an array of 2; use contains for a list'],
    [{ matches: '^ops-' }, ['ops-1'], 'an array of 1; use contains for a list'],
    [['a', 'b'], ['b'], 'an array of 1; use contains for a list'],
    ['trader', ['x'], 'an array of 1'],
    [{ one_of: ['a', 'b'], matches: '^b' }, ['a'], 'an array of 1'],
    ['trader', [], 'an array of 0'],
    ['trader', [['trader']], 'an array of 1'],
    ['trader', 'x', '"x"'],
    ['trader', { 0: 'trader' }, 'an object of 1'],
    [{ contains: 'trader' }, ['trader'], 'an array of 1'],
    [{ present: true }, ['trader'], 'an array of 1'],
    // No element of a list is compared as a number by `contains`.
    [{ below: 50 }, [1, 2], 'an array of 2'],
  ])('%j, %j: %s', (value, found, words) => {
    expect(describedBy(value, found)).toBe(words);
  });

  test('is searched in its first 32 elements only', () => {
    const padding = Array.from({ length: 31 }, () => 'x');
    expect(describedBy('trader', [...padding, 'trader'])).toBe('an array of 32; use contains for a list');
    expect(describedBy('trader', ['x', ...padding, 'trader'])).toBe('an array of 33');
  });

  test('never turns a denial into an error', () => {
    expect(describedBy({ matches: 'x' }, ['x'.repeat(5000)])).toBe('an array of 1');
  });
});
