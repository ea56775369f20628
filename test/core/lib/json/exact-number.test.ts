import { expect, test } from 'vitest';
import { compareNumbers, exactInteger, isExactNumber } from '../../../../src/core/lib/json/exact-number.ts';
import { parseExactly } from '../../../../src/core/lib/json/lossless.ts';

/** A number as it is written, with its digits where JavaScript would change them. */
function numberOf(text: string): unknown {
  return ((parseExactly(`[${text}]`) ?? JSON.parse(`[${text}]`)) as readonly unknown[])[0];
}

test.each([
  ['1', '1.0', 0],
  ['1e22', '10000000000000000000000', 0],
  ['-0', '0.00', 0],
  ['9007199254740992', '9007199254740993', -1],
  ['-9007199254740992', '-9007199254740993', 1],
  ['0.1', '0.10000000000000000000001', -1],
  ['-0.1', '-0.10000000000000000000001', 1],
  ['1.7e308', '1.7000000000000000000000001e308', -1],
  ['10000000000000000000001', '10000000000000000000010', -1],
  ['2', '10', -1],
])('%s and %s: %d', (one, other, expected) => {
  const [first, second] = [one, other].map(numberOf);
  if (!isExactNumber(first) || !isExactNumber(second)) throw new TypeError('not a number');
  expect([compareNumbers(first, second), compareNumbers(second, first)].map(Math.sign)).toEqual(
    [expected, expected === 0 ? 0 : -expected].map((sign) => sign + 0),
  );
});

test.each(['1e400', '-1e400', '1e-400', '"1"', 'null', '[1]', '{}'])(
  '%s is no number that a double can hold',
  (text) => {
    expect(isExactNumber(numberOf(text))).toBe(false);
  },
);

test.each([
  ['7', 7],
  ['7.0', 7],
  ['7.00000000000000000000001', undefined],
  ['7.5', undefined],
  ['9007199254740993', undefined],
])('the integer %s: %s', (text, expected) => {
  const number = numberOf(text);
  expect(isExactNumber(number) ? exactInteger(number) : 'none').toBe(expected);
});
