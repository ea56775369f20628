import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compileEntries } from '../../../src/core/policy/entry.ts';
import type { PolicyFault } from '../../../src/core/policy/document.ts';
import { MAX_URI_LENGTH } from '../../../src/core/model/mcp.ts';
import { type ResourceTables, plainUri, resourceTables, uriFlaw } from '../../../src/core/policy/resources.ts';
import { decide, faultsOf, message, told } from './caller.ts';
import { words } from '../../support/words.ts';
import { wordsIn } from '../../support/words-in.ts';

function tables(names: readonly string[], faults: PolicyFault[] = []): ResourceTables {
  return resourceTables(
    compileEntries('resources', { resources: Object.fromEntries(names.map((name) => [name, {}])) }, [], faults),
    faults,
  );
}

describe.each([
  ['in order', (names: readonly string[]) => names],
  ['reversed', (names: readonly string[]) => names.toReversed()],
])('%s', (_, arrange) => {
  const names = arrange(words('p://gold p://* p://g* p://** p://a/* *x:y **x:y file:///pub/** file:///pub/../secret'));
  test.each([
    ['p://gold', 'p://gold'],
    ['p://golf', 'p://g*'],
    ['p://silver', 'p://*'],
    ['p://silver/ingot', 'p://**'],
    ['p://a/b', 'p://a/*'],
    ['p://a/b/c', 'p://**'],
    // of two with equally many literals the one whose wildcard is bounded
    ['xx:y', '*x:y'],
    ['file:///pub/a/b', 'file:///pub/**'],
    ['file:///pub/../etc', undefined],
    ['file:///pub/%2e%2e/etc', undefined],
    ['file:///pub/%2E%2E/etc', undefined],
    ['file:///pub//etc', undefined],
    [String.raw`file:///pub/..\etc`, undefined],
    ['FILE:///pub/a', undefined],
    // exactly as it is listed, whatever it is
    ['file:///pub/../secret', 'file:///pub/../secret'],
    ['q://gold', undefined],
    ['', undefined],
  ])('%j is decided by %j', (uri, name) => {
    expect(tables(names).resource(uri)?.name).toBe(name);
  });
});

describe('a URI that a server may read as another one', () => {
  test.each<[readonly string[], string, string | undefined]>([
    [['stock://*'], 'stock://AAPL', 'stock://*'],
    [['stock://*'], 'stock://aapl', 'stock://*'],
    [['stock://A*', 'stock://**'], 'stock://AAPL', 'stock://A*'],
    [['stock://*/Quote'], 'stock://AAPL/Quote', 'stock://*/Quote'],
    [['stock://*/Quote'], 'stock://AAPL/quote', undefined],
    // A server that ignores case would take it for one that another entry decides.
    [['stock://aapl', 'stock://*'], 'stock://AAPL', undefined],
    [['stock://AAPL', 'stock://*'], 'stock://aapl', undefined],
    [['stock://AAPL', 'stock://*'], 'stock://Aapl', undefined],
    [['stock://aapl', 'stock://*'], 'stock://Aapl', undefined],
    [['stock://aapl', 'stock://*'], 'stock://aaPL', undefined],
    [['stock://AAPL', 'stock://*'], 'stock://AAPL', 'stock://AAPL'],
    [['stock://AAPL', 'stock://*'], 'stock://MSFT', 'stock://*'],
    [['stock://AAPL/*', 'stock://**'], 'stock://aapl/quote', undefined],
    [['stock://aapl/*', 'stock://**'], 'stock://AAPL/quote', undefined],
    // A file system that ignores case would as well, and one that drops dots, spaces and invisible characters.
    [['x:?u=http://A', 'x:**', 'stock://A'], 'x:?u=http://a', undefined],
    [['file:///secret', 'file:///*'], 'file:///SECRET', undefined],
    [['file:///secret', 'file:///*'], 'file:///secret.', undefined],
    [['file:///secret', 'file:///*'], 'file:///secret%20', undefined],
    [['file:///secret', 'file:///*'], 'file:///%20secret', undefined],
    [['file:///secret', 'file:///*'], 'file:///%20%20secret', undefined],
    [['file:///secret', 'file:///*'], 'file:///%C2%A0secret', undefined],
    [['file:///secret/**', 'file:///**'], 'file:///%20secret/a', undefined],
    [['file:///secret', 'file:///*'], 'file:///%C5%BFecret', undefined],
    [['file:///secret', 'file:///*'], 'file:///secret%E2%80%8B', undefined],
    [['file:///secret/**', 'file:///**'], 'file:///secret./a', undefined],
    [['file:///secret/**', 'file:///**'], 'file:///secret.../a', undefined],
    [['file:///Secret', 'file:///*'], 'file:///secret', undefined],
    [['file:///Secret', 'file:///*'], 'file:///Secret', 'file:///Secret'],
    [['file:///secret', 'file:///*'], 'file:///Other', 'file:///*'],
    [['file:///secret', 'file:///*'], 'file:///other.', 'file:///*'],
    [['file:///secret', 'file:///*'], 'file:///caf%C3%A9', 'file:///*'],
    [['search://*'], 'search://a%3Fb', 'search://*'],
    [['A:*', 'a:*'], 'a:x', 'a:*'],
    [['**AAPL'], 'stock://AAPL', '**AAPL'],
    [['**aapl'], 'stock://aapl', '**aapl'],
    // On the network it has one spelling.
    [['file:///pub/**'], 'file:///pub/.%E2%80%8B./key', undefined],
    [['file:///pub/**'], 'file:///pub/..%20/key', undefined],
    [['file:///pub/**'], 'file:///pub/%EF%BB%BF../key', undefined],
    [['file:///pub/**', 'file:///pub/key'], 'file:///pub/key::$DATA', undefined],
    [['file:///pub/**', 'file:///pub/key/*'], 'file:///pub/key:$i30:$INDEX_ALLOCATION/a', undefined],
    [['file:///pub/**', 'file:///pub/key'], 'file:///pub/keys::$DATA', 'file:///pub/**'],
    [['arn:aws:s3:::*'], 'arn:aws:s3:::bucket', 'arn:aws:s3:::*'],
    [['https://*/x'], 'https://API.example/x', undefined],
    [['https://*/x'], 'https://api.example/x', 'https://*/x'],
  ])('%j: %s is decided by %j', (names, uri, name) => {
    expect(tables(names).resource(uri)?.name).toBe(name);
  });
});

describe('a query or fragment, which file servers drop', () => {
  const files = ['file:///pub/**', 'file:///pub/key.pem', 'file:///pub/*.crt'];
  const rows = ['db://**', 'db://rows?of=*', 'db://views?of=all'];
  test.each<[readonly string[], string, string | undefined]>([
    [files, 'file:///pub/key.pem?x', undefined],
    [files, 'file:///pub/key.pem#x', undefined],
    [files, 'file:///pub/key.pem?', undefined],
    [files, 'file:///pub/key.pem?x#y?', undefined],
    [files, 'file:///pub/KEY.pem?x', undefined],
    [files, 'file:///pub/a.crt?x=/y', undefined],
    [files, 'file:///pub/a.txt?x', 'file:///pub/**'],
    [[...files, 'file:///pub/key.pem?x'], 'file:///pub/key.pem?x', 'file:///pub/key.pem?x'],
    [rows, 'db://rows?of=a', 'db://rows?of=*'],
    [rows, 'db://rows?by=a', 'db://**'],
    [rows, 'db://views?of=all', 'db://views?of=all'],
    // What is left without it is listed nowhere.
    [['db://**/all'], 'db://rows?of=/all', 'db://**/all'],
    [['search://?q=**', 'search://x'], 'search://?q=X', 'search://?q=**'],
  ])('%j: %s is decided by %j', (names, uri, name) => {
    expect(tables(names).resource(uri)?.name).toBe(name);
  });
});

describe('templates', () => {
  test.each<[readonly string[], string, string | undefined]>([
    [['p://{symbol}'], 'p://{symbol}', 'p://{symbol}'],
    [['p://{symbol}'], 'p://{other}', 'p://{symbol}'],
    [['p://{symbol}'], 'p://{a}/{b}', undefined],
    [['p://*'], 'p://{symbol}', 'p://*'],
    [['p://*'], 'p://{a}-{b}', 'p://*'],
    [['p://*'], 'p://{a}/{b}', undefined],
    [['p://*/*'], 'p://{a}/{b}', 'p://*/*'],
    [['p://a/**'], 'p://a/{b}/c', 'p://a/**'],
    // What may go on beyond a segment needs **.
    [['p://*'], 'p://{+path}', undefined],
    [['p://*'], 'p://{#path}', undefined],
    [['p://*'], 'p://x{/path}', undefined],
    [['p://*'], 'p://x{?query}', undefined],
    [['p://**'], 'p://{+path}', 'p://**'],
    [['p://**'], 'p://x{?a,b}', 'p://**'],
    // It may expand to that, and to others.
    [['p://gold'], 'p://{symbol}', undefined],
    [['p://x', 'p://x*'], 'p://{symbol}', undefined],
    [['p://x*'], 'p://{symbol}x', undefined],
    [['p://**'], 'p://a/../{x}', undefined],
    [['p://**'], 'p://{', undefined],
    [['p://**'], 'p://{a{b}}', undefined],
  ])('%j: %s is decided by %j', (names, template, name) => {
    expect(tables(names).template(template)?.name).toBe(name);
  });

  test('a template is not listed as a URI', () => {
    expect(tables(['p://*']).resource('p://{symbol}')).toBeUndefined();
  });
});

test('reports equal patterns, and patterns that match nothing', () => {
  const faults: PolicyFault[] = [];
  const mistaken = ['a:**', 'a:***', 'A:*', 'a:/../*', 'https://API.example/*', 'a:{+x}*', 'a:%41*'];
  const sound = ['A:b', '*A:b*', 'a:/b/*/c', 'a:/b/**/d'];
  tables([...mistaken, ...sound], faults);
  expect(faults).toEqual([
    { path: ['resources', 'a:***'], message: 'matches the same resources as "a:**"; only one of them can apply' },
    ...[
      ['A:*', 'a scheme in lower case is missing'],
      ['a:/../*', 'a dot segment'],
      ['https://API.example/*', 'a host in upper case, with a final dot or with a default port'],
      ['a:{+x}*', 'a character that URIs do not have'],
      ['a:%41*', 'an encoded character that must be plain or absent'],
    ].map(([name, flaw]) => ({
      path: ['resources', name],
      message: `matches nothing: ${flaw}; only exact entries cover such a URI`,
    })),
  ]);
});

describe('the canonical form of a URI', () => {
  test.each([
    ...wordsIn`
      prices://gold stock://AAPL/quote stock://AAPL. stock://x:80/y file:///srv/pub/a%20b.txt
      https://api.example/v1/users/7?fields=name#top https://api.example:8443/ https://user@api.example/
      http://[::1]:8080/x urn:isbn:0451450523 mailto:alice@example.com notes:/a/.hidden/..x/x../a.b/... x:/caf%C3%A9
      x:/a-b_c~d!$&'()*+,;=:@/ git+ssh://host/repo.git x:?u=http://y x:?u=http://a:b@API.example:443//c prices:// x:
    `,
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
        ...wordsIn`x:/é x:{a} x:" x:<a> x:a|b x:^`,
        'x:\u2024',
        'x:/a\n',
        'x:/\0',
        'x:/a\u007F',
        'x:`',
      ],
    ],
    ['digits', ['x:%', 'x:%2', 'x:%zz', 'x:%2f', 'x:%c3%a9', 'x:%u002e']],
    [
      'encoded',
      wordsIn`
        x:%2F x:%5C x:%2E%2E x:%41 x:%5A x:%61 x:%7A x:%30 x:%39 x:%2D x:%5F x:%7E x:%25 x:%252E x:%00 x:%0A x:%1F x:%7F
        x:%C0%AE x:%E0%80%AE x:%F0%80%80%AE
      `,
    ],
    [
      'dot segment',
      [
        ...wordsIn`
          x:/a/../b x:/a/./b x:/.. x:/. x:.. x://.. x://../a x:/..?a x:/..#a x:/..;p/b x:?f=../b x:?a&../b x:#..
        `,
      ],
    ],
    ['empty segment', ['x:/a//b', 'x://a//b', 'file:////etc', 'x:/a//', 'x:a//b']],
    [
      'authority',
      [
        ...wordsIn`
          x://@a x://:@a x://a:@b x://a@b@c x://a;@b x://[a x://a] x://a:b x://a: http://x:/ http://x:080/ x://a:0
        `,
      ],
    ],
    [
      'host',
      [
        ...wordsIn`
          https://API.example/ file://Host/x https://api.example./ https://api.example. https://api.example:443/
          http://api.example:80 http://x.:8080/ file://localhost/x wss://A ws://A
        `,
      ],
    ],
  ])('not canonical: %s', (what, uris) => {
    test.each(uris)('%j', (uri) => {
      expect(uriFlaw(uri)).toContain(what);
    });
  });

  test('a URI longer than the limit has a flaw', () => {
    expect(uriFlaw(`x:${'a'.repeat(MAX_URI_LENGTH - 2)}`)).toBeUndefined();
    expect(uriFlaw(`x:${'a'.repeat(MAX_URI_LENGTH - 1)}`)).toBe('excessive length');
  });

  describe('as a lenient server reads it', () => {
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

  test('the WHATWG parser leaves a canonical URI unchanged', () => {
    const part = fc.constantFrom(...wordsIn`a B . .. / // ? # %2E %2f %41 %C3%A9 %20 : :80 @ [::1] ;`, '\\', ' ');
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
});

describe('a dot segment that only invisible characters or spaces hide is covered by no pattern', () => {
  const decided = (uri: string): string =>
    told(decide({ resources: { 'x://a/**': {} } }, {}, message('resources/read', `resource ${uri}`)));

  test.each([
    '%20../b',
    '..%20/b',
    '%20.',
    '.%E2%80%8B./b',
    '%E2%80%8B.',
    '%E2%80%8B../b',
    '%E2%80%8B.?q',
    'b?%20..&c',
  ])('x://a/%s', (rest) => {
    expect(decided(`x://a/${rest}`)).toBe('deny resource.unlisted resources');
  });

  test.each(['%20.x', 'b%20../c', '%C3%A9..', '%E2%80%8B..b', 'b%E2%80%8B..', '%E2%80%8B.x?q', '%E2%80%8B...'])(
    'but x://a/%s has none',
    (rest) => {
      expect(decided(`x://a/${rest}`)).toBe('allow resources.x://a/**');
    },
  );
});

test('a template that is listed as it is written has its own entry', () => {
  const resources = { 'x://a/{?q}': {}, 'x://**': {} };
  const decided = (template: string): string =>
    told(decide({ resources }, {}, message('completion/complete', `template ${template}`)));
  expect(decided('x://a/{?q}')).toBe('allow resources.x://a/{?q}');
  expect(decided('x://a/{?r}')).toBe('allow resources.x://**');
});

test('a fault of variables has the place of its key', () => {
  const faults = (uri: string): readonly string[] => faultsOf({ resources: { [uri]: {} } });
  expect(faults('x://{a}/{a}')).toEqual(['resources.x://{a}/{a}: has the variable {a} twice']);
  expect(faults('x://{a}{b}')).toEqual([
    'resources.x://{a}{b}: has a variable beside another wildcard; ' +
      'write a character between them that says where it ends',
  ]);
});
