import { describe, expect, test } from 'vitest';
import {
  distinguishedTexts,
  integerAutomaton,
  listedAutomaton,
  type TextAutomaton,
  Undecidable,
} from '../../../src/analysis/prove/text-automaton.ts';
import { patternAutomaton } from '../../../src/analysis/prove/pattern-automaton.ts';
import { wordsIn } from '../../support/words-in.ts';

function classOf({ step, classOf }: TextAutomaton, text: string): string {
  return classOf(Array.from(text).reduce((state, character) => step(state, character.codePointAt(0) ?? 0), 0));
}

const texts = ['', 'a', 'b', 'ab', 'ba', 'aab', 'c', '5', '55', 'a\nb', '💡', 'A', 'abc', 'bc', 'ac', 'cab'];

describe('the automaton of a pattern says what JavaScript says', () => {
  test.each([
    ...wordsIn`
      a ^a b$ ^a$ ^$ a|b ^(?:a|b)c$ (?:^a|b)c$ a*b ^a+$ ^a?b?$ (a|b)*c ^a{2}b ^a{1,2}$ a{2,} [^a] . ^.$ \d \p{Lu}
      ^(?:)*$ (?:a|^)b ^^a$$ $^ a(?:)b (?:){9999999} ^(?:a{0}b)+$ (?:$|a)b \u{1F4A1} [\s\S]{2}$
    `,
    '',
  ])('%s', (source) => {
    const automaton = patternAutomaton(source);
    const expression = new RegExp(source, 'u');
    expect(texts.map((text) => classOf(automaton, text))).toEqual(texts.map((text) => String(expression.test(text))));
  });

  test.each([
    ['a(?=b)', 'the look-around (?=b)'],
    ['(?<!a)b', 'the look-around (?<!a)'],
    ['\\bfoo', 'the word boundary \\b'],
    ['(a)\\1', 'the back-reference \\1'],
    ['(?i:a)', 'the modifiers of (?i:a)'],
    ['a{5001}', 'more than 5000 characters with all repetitions'],
  ])('except %s', (source, why) => {
    expect(() => patternAutomaton(source)).toThrow(new Undecidable(why));
  });
});

describe('the automaton of integers', () => {
  const automaton = integerAutomaton([5, 50, -7, 0]);
  const alike = (...each: readonly string[]): boolean =>
    new Set(each.map((text) => classOf(automaton, text))).size === 1;
  test('reads them without regard to zeros in front', () => {
    expect(alike('5', '05', '0005')).toBe(true);
    expect(alike('0', '00')).toBe(true);
    expect(alike('-7', '-007')).toBe(true);
  });
  test('distinguishes those below, at and above each point', () => {
    const classes = ['-8', '-7', '-6', '0', '3', '5', '6', '50', '51', 'x'].map((text) => classOf(automaton, text));
    expect(new Set(classes).size).toBe(10);
    expect([alike('51', '99', '100', '12345678901234567890'), alike('8', '49', '10'), alike('1', '4')]).toEqual([
      true,
      true,
      true,
    ]);
  });
  test('puts all other texts in one class', () => {
    expect(alike('', '-', '--5', '5-', 'x', '5x', '+5', '5.0')).toBe(true);
  });
});

test('the automaton of listed texts gives each a class of its own', () => {
  const automaton = listedAutomaton(['ab', 'abc', '', '💡']);
  const classes = ['ab', 'abc', '', '💡', 'a', 'abcd', 'x'].map((text) => classOf(automaton, text));
  expect(new Set(classes).size).toBe(5);
  expect(new Set(classes.slice(4)).size).toBe(1);
});

describe('the shortest text of each set', () => {
  test('is found for patterns together', () => {
    const both = distinguishedTexts([patternAutomaton('^ops-'), patternAutomaton('-x$'), listedAutomaton(['ops-'])]);
    expect(both.toSorted()).toEqual(['', '-x', 'ops-', 'ops-a', 'ops-x']);
  });
  test('reads well where any character will do', () => {
    expect(distinguishedTexts([patternAutomaton('^.$')])).toEqual(['', 'x']);
    expect(distinguishedTexts([patternAutomaton('^[^x]$')])).toEqual(['', 'a']);
    expect(distinguishedTexts([patternAutomaton('^[\\u0000-\\u001f\\u00e4]$')])).toEqual(['', 'ä']);
  });
  test('has no surrogates that would become another character', () => {
    const found = distinguishedTexts([patternAutomaton('^[\\ud800-\\udbff][\\udc00-\\udfff]$')]);
    expect(found).toEqual(['']);
  });
  test('is not looked for without end', () => {
    const automata = ['a.{9}b', 'c.{8}d', 'e.{7}f', 'g.{6}h'].map(patternAutomaton);
    expect(() => distinguishedTexts(automata)).toThrow(/too many states/);
  });
});
