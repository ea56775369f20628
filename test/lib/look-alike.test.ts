import { expect, test } from 'vitest';
import { compatible, folded, plainName, withoutInvisible } from '../../src/lib/look-alike.ts';
import { cpuTime } from '../support/cpu-time.ts';

// ICU sorts the marks of a letter in quadratic time: 500,000 of them take minutes.
test.each([
  ['of two classes', '\u0300\u0316'],
  ['of which halfwidth forms are made', '\uFF9E\u0300'],
])('marks %s take linear time', (_, marks) => {
  const text = `x${marks.repeat(250_000)}`;
  for (const read of [compatible, folded, withoutInvisible, plainName])
    expect(cpuTime(() => read(text))).toBeLessThan(2_000);
});

test('thirty marks are put in order, and of more each thirty', () => {
  const [above, below] = ['\u0300'.repeat(15), '\u0316'.repeat(15)];
  expect(compatible(`x${above}${below}`)).toBe(`x${below}${above}`);
  expect(compatible(`x${above}${below}${below}`)).toBe(`x${below}${above}\u034F${below}`);
});
