import { describe, expect, test } from 'vitest';
import { unreachable } from '../../../../src/core/lib/json/pointer.ts';
import { describeValue, kindOf } from '../../../../src/core/lib/json/describe-value.ts';

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

describe('shows an issuer whole, so that operators can compare two', () => {
  test.each([
    'https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47/v2.0',
    'https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_AbCdEfGhI-and-then-some-more',
    `http://[2001:db8::7]:8080/${'realm/'.repeat(20)}`,
    `https://${'a'.repeat(63)}.example/`,
    `https://h/${'x'.repeat(64)}`,
    `https://h${`/${'x'.repeat(63)}`.repeat(7)}`,
    `https://h/${'x/'.repeat(251)}`,
  ])('%s', (issuer) => {
    expect(describeValue(issuer)).toBe(`"${issuer}"`);
  });
});

describe('cuts text that may carry a token', () => {
  const jwt = `eyJhbGciOiJSUzI1NiJ9.${'eyJzdWIiOiJhIn0'.repeat(8)}.c2ln`;
  test.each([
    ['a JWT', jwt],
    ['a JWT in a path', `https://h/${jwt}`],
    ['a JWT as a host', `https://${jwt}`],
    ['a segment one character too long', `https://h/${'x'.repeat(65)}`],
    ['a query', `https://h/?${'x'.repeat(64)}`],
    ['a fragment', `https://h/#${'x'.repeat(64)}`],
    ['a user', `https://user:${'x'.repeat(52)}@h/`],
    ['another scheme', `ftp://h/${'x'.repeat(60)}`],
    ['text around a URL', `see https://h/${'x'.repeat(60)}`],
    ['text after a URL', `https://h/${'x'.repeat(60)} and more`],
    ['a URL with a line break', `https://h/${'x'.repeat(60)}\n`],
    ['characters of base64 that no issuer has', `https://h/${'x/+'.repeat(20)}`],
    ['a URL of 513 characters', `https://h/${'x/'.repeat(251)}y`],
  ])('%s', (_title, text) => {
    expect(text.length).toBeGreaterThan(64);
    expect(describeValue(text)).toBe(`${JSON.stringify(text.slice(0, 64)).slice(0, -1)}…"`);
  });
});

test('says of a place that no pointer reaches why, also without values', () => {
  for (const words of [describeValue, kindOf]) {
    expect(words(unreachable)).toBe('a value on the way to it that is not an object');
  }
});
