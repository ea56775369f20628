import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { approvalPage, type ApprovalPageView, odditiesOf, shownText } from '../../src/front-door/approval-page.ts';
import { labelOf } from '../../src/front-door/identity-provider.ts';
import { runs } from '../support/runs.ts';

/** Without the markup around codes. */
const textOf = (text: string): string => shownText(text).markup.replaceAll(/<[^>]*>/g, '|');

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

  test('are marked by the letters around, also where a part is folded', () => {
    expect(shownText('pаypal', 2).markup).toBe('ypal');
    expect(shownText('paypаl', 2).markup.replaceAll(/<[^>]*>/g, '|')).toBe('yp|а|U+0430||l');
  });
});

describe('the page of an approval', () => {
  const view = (call: Partial<ApprovalPageView['call']>, more: Partial<ApprovalPageView> = {}): ApprovalPageView => ({
    status: 'pending',
    createdAt: 0,
    expiresAt: 60_000,
    digest: 'd',
    call: { route: 'tools', method: 'tools/call', name: 'pay', hidden: 0, ...call },
    caller: { subject: 'the-subject', label: undefined },
    client: { name: 'Agent', isVerified: false },
    because: undefined,
    hindrance: undefined,
    formToken: 't',
    now: 0,
    signedInAs: 'eve',
    signOutUrl: '/sign-out',
    inboxUrl: '/approvals',
    ...more,
  });
  const pageOf = (...about: Parameters<typeof view>): string => approvalPage(view(...about)).body.markup;
  /** What is shown before a person unfolds anything. */
  const atOnce = (page: string): string => {
    let depth = 0;
    return page
      .split(/(<\/?details>)/)
      .filter((part) => {
        if (part === '<details>') depth += 1;
        if (part === '</details>') depth -= 1;
        return depth === 0;
      })
      .join('');
  };

  test('R-314: has every value that is bound, whatever its depth, number and length', () => {
    let leaves: string[] = [];
    const leaf = fc.integer({ min: 0, max: 600 }).map((length) => {
      leaves.push(`leaf${leaves.length}-${'x'.repeat(length)}-end`);
      return leaves.at(-1) ?? '';
    });
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 3 },
        leaf,
        fc.array(leaf, { maxLength: 100, size: 'max' }),
        fc.array(tie('tree')),
        fc.dictionary(fc.stringMatching(/^[a-z]{1,9}$/), tie('tree')),
        tie('tree').map((inner) => ({ a: { b: { c: { d: { e: inner } } } } })),
      ),
    }));
    fc.assert(
      fc
        .property(fc.dictionary(fc.stringMatching(/^[a-z]{1,9}$/), tree, { minKeys: 1 }), (args) => {
          const found = JSON.stringify(args);
          for (const page of [pageOf({ arguments: args }), pageOf({ hidden: 1, unshown: { arguments: args } })]) {
            const text = page.replaceAll(/<[^>]*>\s*/g, '').replaceAll(/… [\d,]+ more characters/g, '');
            expect(leaves.filter((each) => found.includes(each) && !text.includes(each))).toEqual([]);
          }
          expect(atOnce(pageOf({ arguments: args })).length).toBeLessThan(200_000);
        })
        .beforeEach(() => {
          leaves = [];
        }),
      { numRuns: runs / 30 },
    );
  });

  test('folds what is long or besides, and says so before anything else', () => {
    const long = pageOf({
      arguments: { sql: `${'x'.repeat(500)} DROP TABLE`, ids: Array.from({ length: 100 }, (_, i) => i) },
    });
    expect(atOnce(long)).not.toContain('DROP TABLE');
    expect(long).toContain('DROP TABLE');
    expect(atOnce(long)).toContain('Unfold it before you decide.');
    expect(atOnce(long)).toContain('Unfold them before you decide.');
    const besides = pageOf({
      arguments: { amount: 1 },
      hidden: 2,
      unshown: { arguments: { pin: '1234' }, headers: { 'x-amount': '5\u200b' } },
    });
    expect(atOnce(besides)).not.toContain('1234');
    expect(besides).toContain('… and 2 more values');
    expect(besides).toContain('Header fields');
    expect(atOnce(besides)).toContain('It carries more than these values');
    expect(besides).toContain('U+200B');
    expect(atOnce(besides)).toContain('normally invisible');
  });

  test('names the caller by its subject too', () => {
    const page = pageOf({}, { caller: { subject: 'the-subject', label: 'alice@acme.com' } });
    expect(page).toContain('alice@acme.com');
    expect(page).toContain('the-subject');
  });
});

describe('the name by which people know a person', () => {
  test.each<[claims: object, label: string | undefined]>([
    [{ email: 'a@acme.com', email_verified: true, name: 'Alice' }, 'a@acme.com'],
    [{ email: 'ceo@acme.com', email_verified: false, name: 'Alice' }, 'Alice'],
    [{ email: 'ceo@acme.com', name: 'Alice' }, 'Alice'],
    [{ email: 'ceo@acme.com', email_verified: 'true' }, undefined],
    [{ preferred_username: 'ceo@acme.com', name: 'Alice' }, 'Alice'],
    [{ preferred_username: 'alice', name: 'Alice' }, 'alice'],
    [{ name: 'ceo@acme.com' }, undefined],
    [{ name: '' }, undefined],
  ])('%j is called %j', (claims, label) => {
    expect(labelOf(claims as Parameters<typeof labelOf>[0])).toBe(label);
  });
});
