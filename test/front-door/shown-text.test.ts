import { describe, expect, test } from 'vitest';
import { odditiesOf, shownText } from '../../src/front-door/approval-page.ts';

/** Without the markup around codes. */
const textOf = (text: string, most = 100): string => shownText(text, most).markup.replaceAll(/<[^>]*>/g, '|');

describe('R-314: texts that a caller chose', () => {
  test.each([
    ['plain text', 'plain text'],
    ['<b>&"', '&lt;b&gt;&amp;&quot;'],
    ['a\u200bb', 'a|U+200B|b'],
    ['\u202egnp', '|U+202E|gnp'],
    ['a\u00a0b', 'a|U+00A0|b'],
    ['a\nb', 'a|↵|\nb'],
    ['\u0000\u001b[2J', '|U+0000||U+001B|[2J'],
    ['\u{e0041}', '|U+E0041|'],
    ['pаypal', 'p|а|U+0430||ypal'],
    ['аcc', '|а|U+0430||cc'],
    ['сосо', '|с|U+0441|||о|U+043E|||с|U+0441|||о|U+043E||'],
    ['привет', 'привет'],
    ['Müller', 'Müller'],
    ['日本', '日本'],
    ['ｐａｙ', '|ｐ|U+FF50|||ａ|U+FF41|||ｙ|U+FF59||'],
    ['acc-1 привет', 'acc-1 привет'],
    ['a\u2800b', 'a|U+2800|b'],
    ['o\u0301\u0301\u0301', 'o\u0301\u0301\u0301'],
    ['o\u0301\u0301\u0301\u0301x', 'o\u0301\u0301\u0301|U+0301|x'],
  ])('%j is shown as %j', (text, shown) => {
    expect(textOf(text)).toBe(shown);
    const { hasHidden, hasLookAlikes } = odditiesOf(text);
    expect(hasHidden || hasLookAlikes).toBe(/U\+/.test(shown));
  });

  test('differ by the direction of their letters', () => {
    for (const text of ['pay א 100', 'م', '\u{1e900}']) expect(odditiesOf(text).hasRightToLeft).toBe(true);
    for (const text of ['pay 100', 'привет', '日本']) expect(odditiesOf(text).hasRightToLeft).toBe(false);
  });

  test('are cut, and say how much more there is', () => {
    expect(textOf('x'.repeat(100_000), 3)).toBe('xxx|… 99,997 more characters|');
    expect(textOf('ab😀c', 3)).toBe('ab|… 3 more characters|');
  });
});
