import { describe, expect, test } from 'vitest';
import { compatible, folded, plainName, withoutInvisible } from '../../../src/core/lib/look-alike.ts';
import { cpuTime } from '../../support/cpu-time.ts';

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

describe('each character that some case mapping makes ASCII folds to the same as that', () => {
  // UnicodeData.txt maps each character to one; the tables of Java, Go and C have these, and JavaScript lacks the first.
  test.each([
    ['İ', 'i'],
    ['K', 'k'],
    ['ı', 'I'],
    ['ſ', 'S'],
  ])('by Unicode, %s to %s', (character, mapped) => {
    expect(character).not.toMatch(/[ -~]/);
    expect(folded(`x${character}y`)).toBe(folded(`x${mapped}y`));
  });

  test('by JavaScript, in any language', () => {
    const others: string[] = [];
    for (let code = 0x80; code <= 0x10ffff; code += 1) {
      const character = String.fromCodePoint(code);
      if (!/\p{Changes_When_Casemapped}/u.test(character)) continue;
      const mapped = [undefined, 'tr', 'az', 'lt'].flatMap((language) => [
        character.toLocaleLowerCase(language),
        character.toLocaleUpperCase(language),
      ]);
      const ascii = mapped.find((each) => /^[ -~]+$/.test(each));
      if (ascii !== undefined && folded(character) !== folded(ascii)) others.push(character);
    }
    expect(others).toEqual([]);
  });

  test.each(['İ', 'i\u0307', 'I\u0307\u0307', 'PAYİ', 'İ\u200B\u0307'])(
    '%s folds to itself once it is folded',
    (name) => {
      expect(folded(folded(name))).toBe(folded(name));
    },
  );
});
