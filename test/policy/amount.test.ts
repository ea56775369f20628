import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { amountOf, unitsFor } from '../../src/policy/amount.ts';
import { runs } from '../support/runs.ts';

describe('an amount', () => {
  test.each<[unknown, boolean, number]>([
    [0, false, 0],
    [-0, false, -0],
    [0.1, false, 0.1],
    [1e300, false, 1e300],
    [7, true, 7],
    ['7', true, 7],
    ['007', true, 7],
    [2 ** 53 - 1, true, 2 ** 53 - 1],
  ])('%j with integer %s is %d', (value, isInteger, amount) => {
    expect(amountOf(value, isInteger)).toBe(amount);
  });

  test.each<[unknown, boolean]>([
    [undefined, false],
    [null, false],
    [true, false],
    ['5', false],
    [[5], false],
    [{}, false],
    [-1, false],
    [-1e-300, false],
    [Infinity, false],
    [-Infinity, false],
    [Number.NaN, false],
    [1.5, true],
    [2 ** 53, true],
    ['-1', true],
    ['+1', true],
    ['1.0', true],
    ['1e3', true],
    ['0x10', true],
    [' 1', true],
    ['1\n', true],
    ['', true],
    ['٣', true],
    ['9007199254740992', true],
    [['7'], true],
  ])('%j with integer %s is none', (value, isInteger) => {
    expect(amountOf(value, isInteger)).toBeUndefined();
  });
});

describe('units', () => {
  test('three times 0.1 is not above 0.3, and ten times 0.07 not above 0.7', () => {
    const tenths = unitsFor(0.3, false);
    expect(3 * (tenths?.of(0.1) ?? Infinity)).toBe(tenths?.limit);
    const hundredths = unitsFor(0.7, false);
    expect(10 * (hundredths?.of(0.07) ?? Infinity)).toBe(hundredths?.limit);
  });

  test('amounts are rounded up, so that no amount above 0 counts as 0', () => {
    expect(unitsFor(5000, false)?.of(1e-300)).toBe(1);
    expect(unitsFor(5000, false)?.of(0.000_000_1)).toBe(1);
    expect(unitsFor(5000, false)?.of(1.000_000_1)).toBe(1_000_001);
    expect(unitsFor(5000, false)?.of(0)).toBe(0);
    expect(unitsFor(20, true)?.of(1)).toBe(1);
  });

  test.each<[number, boolean, number, number]>([
    [5000, false, 5_000_000_000, 6],
    [0.000_001, false, 1, 6],
    [4_499_999_999, false, 4_499_999_999_000_000, 6],
    [4_500_000_000, false, 450_000_000_000_000, 5],
    [4_499_999_999_999_999, false, 4_499_999_999_999_999, 0],
    [20, true, 20, 0],
    [1e-6, false, 1, 6],
    [2.5e3, false, 2_500_000_000, 6],
  ])('a limit of %d, integer %s, is %d units of %d decimal places', (most, isInteger, limit, decimals) => {
    expect(unitsFor(most, isInteger)).toMatchObject({ limit, decimals });
  });

  test.each<[number, boolean]>([
    [4_500_000_000_000_000, false],
    [4_500_000_000_000_000, true],
    [Infinity, false],
    [Number.NaN, false],
    [0.000_000_1, false],
    [1.000_000_1, false],
    [1.5, true],
    [4_503_599_628.123_456, false],
  ])('a limit of %d, integer %s, cannot be summed exactly', (most, isInteger) => {
    expect(unitsFor(most, isInteger)).toBeUndefined();
  });

  test('a sum of amounts within the limit is exact, and never below what the upstream sums up', () => {
    const cents = fc.integer({ min: 0, max: 100_000 });
    fc.assert(
      fc.property(fc.array(cents, { maxLength: 20 }), (amounts) => {
        const units = unitsFor(5000, false);
        const summed = amounts.map((each) => units?.of(each / 100) ?? 0).reduce((sum, each) => sum + each, 0);
        expect(summed).toBe(amounts.reduce((sum, each) => sum + each, 0) * 10_000);
      }),
      { numRuns: runs },
    );
  });
});
