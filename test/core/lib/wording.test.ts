import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { didYouMean, quoted, withoutQuery } from '../../../src/core/lib/wording.ts';
import { runs } from '../../support/runs.ts';
import { property } from '../../support/property.ts';

const words = ['name', 'path', 'policy', 'policies', 'upstream', 'listen'];

test.each<[string, string | undefined, string]>([
  ['listn', 'listen', 'a letter is missing'],
  ['nmae', 'name', 'two letters are swapped'],
  ['upstraem', 'upstream', 'swapped in a longer word'],
  ['polcies', 'policies', 'the nearest of two'],
  ['upstream', 'upstream', 'it is the word'],
  ['rate', undefined, 'two slips are too many for a short word'],
  ['x', undefined, 'nothing is near one letter'],
  ['__proto__', undefined, 'nothing like it'],
])('%s → %s: %s', (written, word) => {
  expect(didYouMean(written, words)).toBe(word);
});

test('quotes an issuer whole, and nothing longer than 200 characters', () => {
  const issuer = `https://login.example/${'a-tenant-with-a-long-name/'.repeat(3)}v2.0`;
  expect(quoted(issuer)).toBe(`"${issuer}"`);
  expect(quoted('x'.repeat(200))).toBe(`"${'x'.repeat(200)}"`);
  expect(quoted('x'.repeat(201))).toBe(`"${'x'.repeat(200)}…"`);
});

property(
  'of any URL the query is not shown, and the rest is',
  [fc.webUrl({ withQueryParameters: true, withFragments: true }), fc.stringMatching(/^[A-Z]{8}$/)],
  (url, key) => {
    const { origin, pathname } = new URL(url);
    expect(withoutQuery(`${origin}${pathname}?key=${key}\n${key}`)).toBe(`${origin}${pathname}?…`);
  },
  { numRuns: runs },
);
