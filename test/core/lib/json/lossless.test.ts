import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseToRewrite } from '../../../../src/core/lib/json/lossless.ts';
import { cpuTime } from '../../../support/cpu-time.ts';

describe('a text that is parsed and serialized again', () => {
  test.each([
    '9007199254740993',
    '1e400',
    '-0',
    '1.0',
    '0.10',
    '1E5',
    '-12345678901234567890',
    ' 1e400',
    '[1e400]',
    '[0,\n9007199254740993]',
    '{"a":{"id": 9007199254740993}}',
    '{"a":"looks like: 1e400, or [1.0","b":1.50}',
  ])('%s keeps its digits', (text) => {
    expect(JSON.stringify(parseToRewrite(text)).replaceAll(/\s/g, '')).toBe(text.replaceAll(/\s/g, ''));
  });

  test('takes linear time', () => {
    // V8 compiles a pattern that is often used, and tries it in another order.
    for (let i = 0; i < 200; i += 1) parseToRewrite(`{"a":[${'1,'.repeat(500)}1],"b":":::::"}`);
    const space = ' '.repeat(100_000);
    for (const text of [`{"a":${space}1.5}`, `{"a":${space}true}`, `{"a":"${' -'.repeat(100_000)}"}`])
      expect(cpuTime(() => parseToRewrite(text))).toBeLessThan(500);
  });

  test.each([
    ['{"a":1.0,"a":1}', '{"a":1}'],
    ['{"a":1,"a":1.0}', '{"a":1.0}'],
    ['{"a":1.0,"a":1.00}', '{"a":1.00}'],
    ['{"a":1.0,"a":"x"}', '{"a":"x"}'],
    ['{"a":[1.0],"a":[2]}', '{"a":[2]}'],
    ['{"a":[1.0],"a":[1]}', '{"a":[1]}'],
    ['{"a":[1.0,{"b":2.0}],"a":{"b":[1]}}', '{"a":{"b":[1]}}'],
    ['{"a":{"length":1.0},"a":[5]}', '{"a":[5]}'],
    ['{"a":{"length":1.0},"a":"x"}', '{"a":"x"}'],
    ['{"a":[1.0],"a":null}', '{"a":null}'],
    ['{"a":1.0,"\\u0061":2}', '{"a":2}'],
    ['{"\\u0061":1.0}', '{"a":1.0}'],
    ['{"__proto__":1.0}', '{"__proto__":1.0}'],
    ['{"__proto__":{"x":1.0}}', '{"__proto__":{"x":1.0}}'],
    ['{"constructor":{"x":1.0}}', '{"constructor":{"x":1.0}}'],
    ['[[],{},"[1.0",[[1.0]],{"a":[{}, 1.0]}, 1.0]', '[[],{},"[1.0",[[1.0]],{"a":[{},1.0]},1.0]'],
  ])('%s is read as JSON.parse reads it', (text, written) => {
    expect(JSON.stringify(parseToRewrite(text))).toBe(written);
  });

  test('a value without such numbers is what JSON.parse makes of it', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const other = parseToRewrite(`[1.0,${text},1.0]`) as unknown[];
        const isLossy = JSON.stringify(JSON.parse(text)) !== text;
        expect(isLossy ? undefined : other[1]).toEqual(isLossy ? undefined : JSON.parse(text));
      }),
    );
  });

  test.each(['1.0', '{"a":1.0}', '[1.0]', '"x",1.50'])(
    'a list of %s takes no more than linear time: at most thirty times that of JSON.parse',
    (item) => {
      const text = `[${`${item},`.repeat(100_000)}0]`;
      const best = (read: (text: string) => unknown): number =>
        Math.min(...Array.from({ length: 5 }, () => cpuTime(() => read(text))));
      expect(best(parseToRewrite)).toBeLessThan(30 * best(JSON.parse) + 20);
    },
  );

  test('every number keeps its digits', () => {
    const digits = fc.stringMatching(/^-?(?:0|[1-9][0-9]{0,20})(?:\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,4})?$/);
    const space = fc.stringMatching(/^[ \t\r\n]{0,3}$/);
    const around = fc.constantFrom(
      (number: string) => number,
      (number: string) => `[${number}]`,
      (number: string) => `[true,${number},"x"]`,
      (number: string) => `{"a":{"b":${number}},"c":"d: 1"}`,
    );
    fc.assert(
      fc.property(digits, space, space, around, (number, before, after, within) => {
        const written = JSON.stringify(parseToRewrite(within(before + number + after)));
        expect(written).toBe(within(number));
      }),
    );
  });
});
