import { describe, expect, test } from 'vitest';
import { compileEntries } from '../../src/policy/entry.ts';
import type { PolicyFault } from '../../src/policy/policy-error.ts';
import { type ResourceTables, resourceTables } from '../../src/policy/resources.ts';

function tables(names: readonly string[], faults: PolicyFault[] = []): ResourceTables {
  return resourceTables(
    compileEntries('resources', Object.fromEntries(names.map((name) => [name, {}])), faults),
    faults,
  );
}

describe.each([
  ['in order', (names: readonly string[]) => names],
  ['reversed', (names: readonly string[]) => names.toReversed()],
])('%s', (_, arrange) => {
  const names = arrange([
    'p://gold',
    'p://*',
    'p://g*',
    'p://**',
    'p://a/*',
    '*x:y',
    '**x:y',
    'file:///pub/**',
    'file:///pub/../secret',
  ]);
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

describe('a spelling that a server may read as another', () => {
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
    [['https://*/x'], 'https://API.example/x', undefined],
    [['https://*/x'], 'https://api.example/x', 'https://*/x'],
  ])('%j: %s is decided by %j', (names, uri, name) => {
    expect(tables(names).resource(uri)?.name).toBe(name);
  });
});

describe('a query or fragment, which servers of files drop', () => {
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
    [['p://{symbol}'], 'p://{other}', undefined],
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

  test('are not URIs', () => {
    expect(tables(['p://*']).resource('p://{symbol}')).toBeUndefined();
  });
});

test('equal patterns, and patterns that match nothing, are faults', () => {
  const faults: PolicyFault[] = [];
  const mistaken = ['a:**', 'a:***', 'A:*', 'a:/../*', 'https://API.example/*', 'a:{x}*', 'a:%41*'];
  const sound = ['A:b', '*A:b*', 'a:/b/*/c', 'a:/b/**/d'];
  tables([...mistaken, ...sound], faults);
  expect(faults).toEqual([
    { path: ['resources', 'a:***'], message: 'matches the same resources as "a:**"; only one of them can apply' },
    ...[
      ['A:*', 'a scheme in lower case is missing'],
      ['a:/../*', 'a dot segment'],
      ['https://API.example/*', 'a host in upper case, with a final dot or with a default port'],
      ['a:{x}*', 'a character that URIs do not have'],
      ['a:%41*', 'an encoded character that must be plain or absent'],
    ].map(([name, flaw]) => ({
      path: ['resources', name],
      message: `matches nothing: ${flaw}; only exact entries cover such a URI`,
    })),
  ]);
});
