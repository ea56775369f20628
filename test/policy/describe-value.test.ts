import { expect, test } from 'vitest';
import { describeValue } from '../../src/policy/describe-value.ts';

test.each([
  [undefined, 'nothing'],
  [null, 'null'],
  [true, 'true'],
  [1.5, '1.5'],
  [Number.POSITIVE_INFINITY, 'Infinity'],
  ['', '""'],
  ['72', '"72"'],
  ['a"b', String.raw`"a\"b"`],
  ['two\nlines', String.raw`"two\nlines"`],
  ['\u001B[31m', String.raw`"\u001b[31m"`],
  ['\u007F\u0085', String.raw`"\u{7f}\u{85}"`],
  ['a\u202Eb\u2028', String.raw`"a\u{202e}b\u{2028}"`],
  ['x'.repeat(64), `"${'x'.repeat(64)}"`],
  ['x'.repeat(65), `"${'x'.repeat(64)}…"`],
  [['secret', 'secret'], 'an array of 2'],
  [{ secret: 'secret' }, 'an object of 1'],
])('%j as %s', (value, expected) => {
  expect(describeValue(value)).toBe(expected);
});
