import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { maxUriLength, plainUri, uriFlaw } from '../../src/policy/canonical-uri.ts';

test.each([
  'prices://gold',
  'stock://AAPL/quote',
  'stock://AAPL.',
  'stock://x:80/y',
  'file:///srv/pub/a%20b.txt',
  'https://api.example/v1/users/7?fields=name#top',
  'https://api.example:8443/',
  'https://user@api.example/',
  'http://[::1]:8080/x',
  'urn:isbn:0451450523',
  'mailto:alice@example.com',
  'notes:/a/.hidden/..x/x../a.b/...',
  'x:/caf%C3%A9',
  "x:/a-b_c~d!$&'()*+,;=:@/",
  'git+ssh://host/repo.git',
  'x:?u=http://y',
  'x:?u=http://a:b@API.example:443//c',
  'prices://',
  'x:',
])('%s is canonical', (uri) => {
  expect(uriFlaw(uri)).toBeUndefined();
});

describe.each([
  ['scheme', ['', 'gold', '/gold', '//gold', 'Prices://gold', 'PRICES://gold', '1x:y', ':x', ' x:y', '%61:b']],
  [
    'character',
    [
      'x:a b',
      String.raw`x:\a`,
      'x:/é',
      'x:/a\n',
      'x:/\0',
      'x:/a\u007F',
      'x:{a}',
      'x:"',
      'x:<a>',
      'x:a|b',
      'x:^',
      'x:`',
      'x:\u2024',
    ],
  ],
  ['digits', ['x:%', 'x:%2', 'x:%zz', 'x:%2f', 'x:%c3%a9', 'x:%u002e']],
  [
    'encoded',
    [
      'x:%2F',
      'x:%5C',
      'x:%2E%2E',
      'x:%41',
      'x:%5A',
      'x:%61',
      'x:%7A',
      'x:%30',
      'x:%39',
      'x:%2D',
      'x:%5F',
      'x:%7E',
      'x:%25',
      'x:%252E',
    ].concat(['x:%00', 'x:%0A', 'x:%1F', 'x:%7F', 'x:%C0%AE', 'x:%E0%80%AE', 'x:%F0%80%80%AE']),
  ],
  [
    'dot segment',
    [
      'x:/a/../b',
      'x:/a/./b',
      'x:/..',
      'x:/.',
      'x:..',
      'x://..',
      'x://../a',
      'x:/..?a',
      'x:/..#a',
      'x:/..;p/b',
      'x:?f=../b',
      'x:?a&../b',
      'x:#..',
    ],
  ],
  ['empty segment', ['x:/a//b', 'x://a//b', 'file:////etc', 'x:/a//', 'x:a//b']],
  [
    'authority',
    [
      'x://@a',
      'x://:@a',
      'x://a:@b',
      'x://a@b@c',
      'x://a;@b',
      'x://[a',
      'x://a]',
      'x://a:b',
      'x://a:',
      'http://x:/',
      'http://x:080/',
      'x://a:0',
    ],
  ],
  [
    'host',
    [
      'https://API.example/',
      'file://Host/x',
      'https://api.example./',
      'https://api.example.',
      'https://api.example:443/',
      'http://api.example:80',
      'http://x.:8080/',
      'file://localhost/x',
      'wss://A',
      'ws://A',
    ],
  ],
])('not canonical: %s', (what, uris) => {
  test.each(uris)('%j', (uri) => {
    expect(uriFlaw(uri)).toContain(what);
  });
});

test('a URI has a greatest length', () => {
  expect(uriFlaw(`x:${'a'.repeat(maxUriLength - 2)}`)).toBeUndefined();
  expect(uriFlaw(`x:${'a'.repeat(maxUriLength - 1)}`)).toBe('excessive length');
});

describe('as a careless server sees it', () => {
  test.each([
    ['file:///Secret', 'file:///secret'],
    ['file:///secret.', 'file:///secret'],
    ['file:///secret.%20./a', 'file:///secret/a'],
    ['x:/caf%C3%89', 'x:/café'],
    ['x:/a%E2%80%8Bb', 'x:/ab'],
    // What is not UTF-8 stays as it is written.
    ['x:/A%80', 'x:/a%80'],
  ])('%s is %s', (uri, plain) => expect(plainUri(uri)).toBe(plain));
});

/** The parser also adds the slash of an empty path, which is no other resource. */
function plain(uri: string): string {
  return uri.replace(/^(https?:\/\/[^/?#]*)\/?(?=[?#]|$)/, '$1').replace(/[?#]+$/, '');
}

test('what is canonical stays as it is in the parser of the web', () => {
  const part = fc.constantFrom(
    'a',
    'B',
    '.',
    '..',
    '/',
    '//',
    '?',
    '#',
    '%2E',
    '%2f',
    '%41',
    '%C3%A9',
    '%20',
    ':',
    ':80',
    '\\',
    '@',
    '[::1]',
    ' ',
    ';',
  );
  const uri = fc.tuple(
    fc.constantFrom('https://a', 'http://a/', 'file:///', 'x://a/', 'x:/'),
    fc.array(part, { maxLength: 6 }),
  );
  fc.assert(
    fc.property(uri, ([start, parts]) => {
      const text = start + parts.join('');
      if (uriFlaw(text) !== undefined || !URL.canParse(text)) return;
      expect(plain(new URL(text).href)).toBe(plain(text));
    }),
    { numRuns: 20_000 },
  );
});
