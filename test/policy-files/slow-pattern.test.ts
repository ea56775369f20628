import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { maxTestsPerCharacter, slowPart } from '../../src/policy-files/slow-pattern.ts';
import { testsOf } from '../core/policy/patterns/backtracking.ts';
import { property } from '../support/property.ts';
import { runs } from '../support/runs.ts';
import { wordsIn } from '../support/words-in.ts';

describe('refuses a pattern that takes more than linear time on some text', () => {
  test.each([
    // Exponential: a loop in a loop, alternatives that overlap, optional parts in a row.
    ['^([\\w-]+\\.?)+$', 3, '[\\w-]+'],
    ['^(a*)*$', 3, 'a*'],
    ['^((a+)+)+$', 4, 'a+'],
    ['(x+x+)+y', 2, 'x+'],
    ['^(([a-z])+.)+[A-Z]([a-z])+$', 3, '([a-z])+'],
    ['^(?:a+){2,}$', 5, 'a+'],
    ['^(a|a)*$', 2, '(a|a)*'],
    ['^(a|ab|b)*c$', 2, '(a|ab|b)*'],
    ['^(\\w|\\d)+$', 2, '(\\w|\\d)+'],
    ['^(.|\\s)*$', 2, '(.|\\s)*'],
    ['(a?){30}b', 2, 'a?'],
    ['^(?:a{0,20}){0,20}$', 5, 'a{0,20}'],
    ['^(?:|){30}x', 11, 'x'],
    ['(?:|){30}$', 1, '(?:|){30}$'],
    ['^(?:a|(?:|){30})*x', 18, 'x'],
    // Polynomial: loops one after another.
    ['^.*a.*b$', 5, '.*'],
    ['^\\s*(.*?)\\s*$', 10, '\\s*'],
    ['x*x*x*y', 5, 'x*'],
    ['^(?!.*.*x)a', 7, '.*'],
    ['^(?=(?:|){30}$)', 1, '^(?=(?:|){30}$)'],
    // Quadratic: the search begins anew at each character.
    ['a+$', 1, 'a+'],
    ['[a-z]+@x', 1, '[a-z]+'],
    ['(?=.*x)', 4, '.*'],
    ['.*\\.pdf$', 1, '.*'],
    // Also where another alternative, which would end the search, rests on an assertion that fails there.
    ['^\\s+|\\s+$', 6, '\\s+'],
    ['(?!a)a|a+$', 8, 'a+'],
    ['b(?:\\ba|c)+|c+$', 13, 'c+'],
  ])('%s: from character %i, %s', (source, character, text) => {
    expect(slowPart(source)).toMatchObject({ character, text });
  });

  test.each([
    ['^([a-z]+)\\1$', '\\1', 'backreference'],
    ['(?<!a)b', '(?<!a)', 'lookbehind'],
    ['^(?i:a)', '(?i:a)', 'flags'],
    ['^(a{1,100}){1,100}$', 'a{1,100}', 'more than 5000 characters'],
    ['a{1000000000}', 'a{1000000000}', 'more than 5000 characters'],
    ['^(?:a|b)*a(?:a|b){25}$', '(?:a|b)*', 'too many ways'],
  ])('refuses %s, for which no bound is known', (source, text, why) => {
    expect(slowPart(source)).toMatchObject({ text, why: expect.stringContaining(why) as string });
  });

  test('names a remedy', () => {
    expect(slowPart('a+$')?.why).toContain('begin the pattern with `^`');
    expect(slowPart('^(a+)+$')?.why).toContain('list the values with `one_of`');
    expect(slowPart('(a)\\1')?.why).toContain('write it without');
  });
});

test.each([
  ...wordsIn`
    ^ ops ^ops- @example\.com$ ^[a-z]+@example\.com$ ^[\w.-]+@[\w.-]+$ ^https://[^/]+\.example\.com/
    ^\d{1,3}(\.\d{1,3}){3}$ ^\w+(\s\w+)*$ ^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$ ^.{1,4000}$ ^.*foo$ ^(?!admin)
    ^(?=.*a)(?=.*b)[ab]+$ ^(?:a|b)-.*$ (?:^a|^b)c+$ ^[a-z]+$|-[0-9]$ [0-9]+ [a-z]* -[0-9]+$ \.(?:pdf|docx?|txt)$
    ^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,}$ (?:){1000000000}
  `,
  '',
  '^SE\\d{2}( ?\\d{4}){5}$',
  '^\\p{Lu}\\p{L}+(?:[ -]\\p{Lu}\\p{L}+)*$',
  '(', // Not slow: no pattern at all, which `matches` says better.
])('accepts %s', (source) => expect(slowPart(source)).toBeUndefined());

const atom = fc.constantFrom('a', 'b', 'ab', '.', '[ab]', '[^a]', '\\w', '', '$', '(?=a)', '(?!b)', '(?=a*b)');
const { pattern } = fc.letrec<Record<'alternative' | 'part' | 'pattern' | 'sequence', string>>((tie) => ({
  part: fc.oneof(
    { maxDepth: 4 },
    atom,
    fc
      .tuple(tie('sequence'), tie('sequence'), fc.constantFrom('', '?', '*', '+', '+?', '*?', '{2}', '{0,3}', '{2,}'))
      .map(([one, other, times]) => `(?:${one}${other === '' ? '' : `|${other}`})${times}`),
    fc
      .tuple(fc.constantFrom('a', 'b', '.', '[ab]'), fc.constantFrom('?', '*', '+', '{0,4}'))
      .map((both) => both.join('')),
  ),
  sequence: fc.array(tie('part'), { maxLength: 3 }).map((parts) => parts.join('')),
  alternative: fc
    .tuple(fc.constantFrom('', '^', '(?!b)'), tie('sequence'), fc.constantFrom('', '$', 'c'))
    .map((parts) => parts.join('')),
  pattern: fc.array(tie('alternative'), { minLength: 1, maxLength: 2 }).map((parts) => parts.join('|')),
}));

describe('properties', () => {
  test('an accepted pattern stays within the limit of tests on any text', () => {
    let taken = 0;
    fc.assert(
      fc.property(pattern, fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 40 }), (source, characters) => {
        if (slowPart(source) !== undefined) return;
        taken += 1;
        const text = characters.join('');
        const most = maxTestsPerCharacter * (text.length + 1);
        expect(testsOf(source, text, most)).toBeLessThanOrEqual(most);
      }),
      { numRuns: runs },
    );
    expect(taken).toBeGreaterThan(runs / 20);
  });

  property(
    'an accepted pattern with repeated loops takes time that grows no faster than the text',
    [pattern, fc.constantFrom('a', 'b', 'ab', 'aab'), fc.constantFrom('', 'c')],
    (source, unit, end) => {
      if (slowPart(source) !== undefined) return;
      const text = unit.repeat(200 / unit.length) + end;
      const most = maxTestsPerCharacter * (text.length + 1);
      expect(testsOf(source, text, most)).toBeLessThanOrEqual(most);
    },
    { numRuns: runs / 2 },
  );
});
