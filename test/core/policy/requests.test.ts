import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PolicyDocument } from '../../../src/core/policy/document.ts';
import {
  haveCommonRequest,
  methodAndSegments,
  plainRequest,
  requestFlaw,
  requestsCoveredBy,
  requestTable,
  requestVariable,
  shortestRequest,
  writtenRequest,
} from '../../../src/core/policy/requests.ts';
import { cpuTime } from '../../support/cpu-time.ts';
import { runs } from '../../support/runs.ts';
import { decide, faultsOf, told } from './caller.ts';

/** The entry that decides a request, or `-`. */
function entryFor(names: readonly string[], request: string): string {
  const requests = Object.fromEntries(names.map((name) => [name, {}]));
  const found = decide({ requests }, {}, { kind: 'http', request });
  return found.allow ? (names.find((name) => found.rule === `requests["${name}"]`) ?? found.rule) : '-';
}

describe('R-297: one entry decides a request, by its method and its path', () => {
  const orders = ['GET /orders/**', 'POST /orders', 'DELETE /orders/*', '* /orders/*/lock', 'HEAD /ping', 'GET /ping'];

  test.each<readonly [names: readonly string[], request: string, entry: string]>([
    [orders, 'GET /orders', 'GET /orders/**'],
    [orders, 'GET /orders/', 'GET /orders/**'],
    [orders, 'GET /orders/1', 'GET /orders/**'],
    [orders, 'GET /orders/1/items/2', 'GET /orders/**'],
    [orders, 'GET /ordersx', '-'],
    [orders, 'GET /', '-'],
    [orders, 'HEAD /orders/1', 'GET /orders/**'],
    [orders, 'OPTIONS /orders/1', '-'],
    [orders, 'POST /orders', 'POST /orders'],
    [orders, 'POST /orders/1', '-'],
    [orders, 'DELETE /orders/1', 'DELETE /orders/*'],
    [orders, 'DELETE /orders', '-'],
    [orders, 'DELETE /orders/', '-'],
    [orders, 'DELETE /orders/1/2', '-'],
    [orders, 'GET /orders/1/lock', '* /orders/*/lock'],
    [orders, 'PUT /orders/1/lock', '* /orders/*/lock'],
    [orders, 'PUT /orders/1/lock/2', '-'],
    [orders, 'HEAD /ping', 'HEAD /ping'],
    [orders, 'GET /ping', 'GET /ping'],
    // An exact path precedes a pattern, whatever the methods.
    [['* /a', 'GET /*'], 'GET /a', '* /a'],
    [['* /a', 'GET /a'], 'GET /a', 'GET /a'],
    [['* /a', 'GET /a'], 'HEAD /a', 'GET /a'],
    [['* /a', 'GET /a'], 'POST /a', '* /a'],
    [['GET /a', 'HEAD /*'], 'HEAD /a', 'GET /a'],
    [['GET /a/**', '* /a'], 'GET /a', '* /a'],
    [['GET /a/**', 'GET /a'], 'GET /a', 'GET /a'],
    [['GET /a%3Fx', 'GET /a'], 'GET /a%3Fx', 'GET /a%3Fx'],
    // An encoded slash is a character of a segment, in either spelling.
    [['GET /a/*'], 'GET /a/b%2Fc', 'GET /a/*'],
    [['GET /a/*'], 'GET /a/b%2fc', 'GET /a/*'],
    [['GET /a%2fb', 'GET /*'], 'GET /a%2Fb', 'GET /a%2fb'],
    [['GET /a%2Fb', 'GET /a/b'], 'GET /a/b', 'GET /a/b'],
    // Decoded first, it must not be another entry's.
    [['GET /a/*', 'GET /a/b/c'], 'GET /a/b%2Fc', '-'],
    [['GET /a/*', 'GET /a/b/c'], 'GET /a/B%2Fc.json', '-'],
    [['GET /a/*', 'GET /a/**'], 'GET /a/b%2Fc', '-'],
    [['GET /a/*', 'GET /a%2Fb/c'], 'GET /a/b%2Fc', '-'],
    [['GET /a/**'], 'GET /a/b%2Fc', 'GET /a/**'],
    [['* /a%2Fb/*', 'GET /a%2Fb/c/d'], 'GET /a%2Fb/c%2Fd', '-'],
    [['* /a%2Fb/*', 'GET /x'], 'GET /a%2Fb/c', '* /a%2Fb/*'],
    [['* /a%2Fb/*', 'GET /x'], 'GET /A%2FB/c', '-'],
    // With as many literal characters, the more precise method.
    [['GET /a/*', '* /*/b'], 'GET /a/b', 'GET /a/*'],
    [['* /a/*', 'GET /*/b'], 'GET /a/b', 'GET /*/b'],
    [['GET /A/*/c', 'GET /a/b/*'], 'GET /a/b/c', 'GET /a/b/*'],
    // More literal characters: the slash of `/**` does not count.
    [['GET /*/*/*', 'GET /abc/**'], 'GET /abc/1/2', 'GET /abc/**'],
    [['GET /orders/*', 'GET /orders/**'], 'GET /orders/1', 'GET /orders/*'],
    [['GET /a/**', 'GET /a/b/**', 'GET /**'], 'GET /a/b', 'GET /a/b/**'],
    [['GET /a/**', 'GET /a/b/**', 'GET /**'], 'GET /a/bc', 'GET /a/**'],
    [['GET /a/**', 'GET /a/b/**', 'GET /**'], 'GET /', 'GET /**'],
    [['GET /*/bcd', 'GET /a/*'], 'GET /a/bcd', 'GET /*/bcd'],
    [['GET /**', 'POST /*/x/**'], 'POST /a/x', 'POST /*/x/**'],
    [['GET /orders/'], 'GET /orders/', 'GET /orders/'],
    [['GET /orders/'], 'GET /orders', '-'],
    [['GET /'], 'GET /', 'GET /'],
    [['GET /*'], 'GET /', '-'],
    // A request may have the character itself, which is no wildcard there.
    [['GET /*/xx', 'GET /a/*'], 'GET /*/y', '-'],
    [['GET /a/%2A', 'GET /a/*/b'], 'GET /a/*', '-'],
    [['M-SEARCH /a'], 'M-SEARCH /a', 'M-SEARCH /a'],
  ])('among %j, %s is decided by %s', (names, request, entry) => {
    expect(entryFor(names, request)).toBe(entry);
    expect(entryFor(names.toReversed(), request)).toBe(entry);
  });

  test('a call without a request is refused, and a message too', () => {
    expect(told(decide({ requests: { 'GET /**': {} } }, {}))).toBe('deny request.unlisted requests');
    for (const [requests, request] of [
      [{}, 'GET /'],
      // A segment that is empty for a lenient server.
      [{ 'GET /*': {} }, 'GET /...'],
    ] as const)
      expect(told(decide({ requests }, {}, { kind: 'http', request }))).toBe('deny request.unlisted requests');
  });

  test.each(['tools', 'resources', 'prompts', 'methods'])('no policy has requests beside %s', (key) => {
    const document = { requests: {}, [key]: {} };
    expect(faultsOf(document)).toEqual([
      `requests: cannot be combined with ${key}, which is for MCP routes: requests are those of HTTP routes`,
    ]);
  });

  test('its conditions are on top of those of the policy, and the challenge names both', () => {
    const policy: PolicyDocument = {
      scope: 'orders.read',
      requests: { 'POST /orders': { scope: 'orders.write' }, 'DELETE /orders/*': { claims: { role: 'admin' } } },
    };
    const post = { kind: 'http', request: 'POST /orders' } as const;
    expect(told(decide(policy, { scope: 'orders.read' }, post))).toBe(
      'deny scope.insufficient requests["POST /orders"].scope [orders.read orders.write]',
    );
    expect(told(decide(policy, {}, { kind: 'http', request: 'DELETE /orders/1' }))).toBe(
      'deny claim.denied requests["DELETE /orders/*"].claims.role',
    );
    expect(told(decide(policy, { scope: 'orders.read orders.write' }, post))).toBe('allow requests["POST /orders"]');
  });
});

describe('R-295: a request that a server may take for one of a stricter entry is not listed', () => {
  const names = [
    'GET /orders/**',
    'GET /orders/secret',
    'GET /orders/secret/*',
    'GET /Files/**',
    'GET /**',
    'GET /%C3%A9',
  ];

  test.each<readonly [what: string, request: string]>([
    ...[
      'Secret',
      'SECRET',
      'secret/',
      'secret.',
      'secret..',
      'secret%20',
      'secret.%20',
      '%20secret',
      '%C2%A0secret',
      '%E2%80%8Bsecret',
      'secret.json',
      'secret.tar.gz',
      'SECRET.JSON',
      'secret.json/',
      'secret+',
      '+secret',
      '%20+secret.json',
      'secret%20.json',
      'secret.json%3Fx',
      'secret::$DATA',
      'secret:$i30:$INDEX_ALLOCATION',
      's%E2%80%8Becret.json',
    ].map((name) => ['another spelling of secret', `GET /orders/${name}`] as const),
    ['another case of a segment before', 'GET /Orders/secret'],
    ['a fullwidth letter', 'GET /orders/%EF%BD%93ecret'],
    ['a fullwidth slash', 'GET /orders%EF%BC%8Fsecret'],
    ['a segment that is empty without its dots', 'GET /orders/.../secret'],
    ['a query that is encoded', 'GET /orders/secret%3Fx'],
    ['a query that is encoded, after a slash', 'GET /orders/secret/%3Fx'],
    ['a fragment that is encoded', 'GET /orders/secret%23'],
    ['a slash after a segment that only * covers', 'GET /orders/secret/1/'],
    ['an extension of a segment before', 'GET /orders/secret.d/1'],
    ['an extension of the first segment', 'GET /orders.x/secret'],
    ['an entry in capitals', 'GET /files/1'],
    ['another case of the encoding', 'GET /%c3%a9'],
    ['another case of the encoded letter', 'GET /%C3%89'],
    ['HEAD, which is decided as GET', 'HEAD /orders/Secret'],
  ])('%s: %s', (_, request) => {
    expect(entryFor(names, request)).toBe('-');
  });

  test.each([
    ['GET /orders/1.', 'GET /orders/**'],
    ['GET /orders/Sec', 'GET /orders/**'],
    ['GET /orders/', 'GET /orders/**'],
    ['GET /orders/caf%C3%A9', 'GET /orders/**'],
    ['GET /Files/1', 'GET /Files/**'],
    ['GET /orders/secrets', 'GET /orders/**'],
    ['GET /orders/secrets.json', 'GET /orders/**'],
    ['GET /orders/x.secret', 'GET /orders/**'],
    ['GET /orders/.secret', 'GET /orders/**'],
    ['GET /orders/secret:cancel', 'GET /orders/**'],
    ['GET /orders/1.5+2', 'GET /orders/**'],
    ['GET /orders/a%3Fb', 'GET /orders/**'],
    ['GET /orders/secret', 'GET /orders/secret'],
    ['GET /%C3%A9', 'GET /%C3%A9'],
  ])('%s is decided by %s, as for such a server', (request, entry) => {
    expect(entryFor(names, request)).toBe(entry);
  });

  test.each(['b/', 'b.', 'b+', 'b::$data', 'b:$i30', 'b%3Fx/y', 'b%23x/y', 'B'])(
    'among names that every server reads alike, too: /a/%s',
    (spelling) => {
      expect(entryFor(['GET /a/**', 'GET /a/b'], `GET /a/${spelling}`)).toBe('-');
    },
  );

  test('a query that is encoded may end a path that is listed nowhere', () => {
    expect(entryFor(['GET /a/*/c'], 'GET /a/x%3Fy/c')).toBe('GET /a/*/c');
  });

  test('an entry with an extension decides what it names, and no other extension', () => {
    const own = ['GET /a/**', 'GET /a/b', 'GET /a/b.json', 'GET /a/b.d/c'];
    expect(entryFor(own, 'GET /a/b.json')).toBe('GET /a/b.json');
    expect(entryFor(own, 'GET /a/b.xml')).toBe('-');
    expect(entryFor(own, 'GET /a/b.json.gz')).toBe('-');
  });

  test('a segment that one entry has with its extension is no other one for another', () => {
    expect(entryFor(['GET /a/**', 'GET /a/b/**', 'GET /a/b.d/c'], 'GET /a/b.d/x')).toBe('-');
    expect(entryFor(['GET /v1/**', 'GET /v1.0/**'], 'GET /v1.0/x')).toBe('GET /v1.0/**');
  });

  test('a hundred thousand exact paths compile in linear time', () => {
    const compile = (count: number): number => {
      const entries = Array.from({ length: count }, (_, i) => ({ key: 'requests', name: `GET /orders/${i}` }));
      return cpuTime(() => requestTable(entries, []));
    };
    compile(1_000);
    expect(compile(100_000)).toBeLessThan(40 * compile(10_000) + 1_000);
  });

  test('a path of 16 KiB with many readings costs no more than reading it', () => {
    const names = ['GET /**', 'GET /a/secret', 'GET /*/*/secret'];
    const find = requestTable(
      names.map((name) => ({ key: 'requests', name })),
      [],
    );
    for (const path of [`/${'a.'.repeat(8_191)}b`, '/a.b'.repeat(4_096), `/${'a+'.repeat(8_191)}b`]) {
      const ms = cpuTime(() => {
        for (let i = 0; i < 20; i += 1) find(`GET ${path}`);
      });
      expect(ms).toBeLessThan(400);
    }
  });

  test('a segment of pluses, which may be spaces, is none', () => {
    for (const path of ['/a/sec/+', '/a/+/sec', '/a/sec/%20+'])
      expect([path, entryFor(['GET /a/sec', 'GET /a/**'], `GET ${path}`)]).toEqual([path, '-']);
    expect(entryFor(['GET /a/+'], 'GET /a/+')).toBe('GET /a/+');
  });

  test('an exact path with * for the method does not decide another spelling of a named method', () => {
    expect(entryFor(['* /a', 'DELETE /a/'], 'DELETE /a')).toBe('-');
    expect(entryFor(['* /a', 'DELETE /a/'], 'POST /a')).toBe('* /a');
    expect(entryFor(['GET /a', 'HEAD /A'], 'HEAD /a')).toBe('-');
  });

  test('the refusal says how the server may read the path', () => {
    const found = decide({ requests: { 'GET /*': {}, 'GET /a': {} } }, {}, { kind: 'http', request: 'GET /A' });
    expect(found.allow ? '' : found.denial.detail).toBe(
      'wanted a request that is listed, found "GET /A": only an exact entry covers a name that some servers read as "GET /a"',
    );
  });

  test('no spelling of a path evades a stricter entry: generated', () => {
    const spelled = fc
      .array(
        fc.constantFrom(
          's',
          'S',
          '%53',
          'e',
          'E',
          'c',
          'C',
          '.',
          '%20',
          '/',
          '%E2%80%8B',
          '%EF%BD%93',
          '.x',
          '+',
          '::$D',
        ),
        {
          maxLength: 8,
        },
      )
      .map((parts) => `/a/${parts.join('')}`);
    fc.assert(
      fc.property(spelled, (path) => {
        fc.pre(requestFlaw(`GET ${path}`, 'requests') === undefined);
        const decided = entryFor(['GET /a/sec', 'GET /a/**'], `GET ${path}`);
        const plain = decodeURIComponent(path)
          .normalize('NFKC')
          .toLowerCase()
          .replaceAll(/\u200b|(?<=\/) +/g, '')
          // Servers drop an extension, a stream, and spaces and dots at the end, but no name after a space.
          .replaceAll(/(?<=\/[a-z]+)[ +]*(?:\.|::)[^/]*|[. +]+(?=\/|$)/g, '');
        const isSecret = plain.split('/').filter(Boolean).join('/') === 'a/sec';
        expect(decided === 'GET /a/**' && isSecret).toBe(false);
      }),
      { numRuns: runs },
    );
  });
});

describe('R-296: names of requests that cannot be meant are errors', () => {
  const faultsIn = (...names: readonly string[]): readonly string[] =>
    faultsOf({ requests: Object.fromEntries(names.map((name) => [name, {}])) });

  const isNone = 'one space, and a path that begins with /, such as GET /orders';
  const hasStar = 'has a * inside a segment; write * for a whole segment, or %2A for the character';
  const impossible = 'has a path that no request can have:';

  test.each([
    ['/orders', `is not a method in capitals or *, ${isNone}`],
    ['get /orders', `is not a method in capitals or *, ${isNone}`],
    ['GET  /orders', `is not a method in capitals or *, ${isNone}`],
    ['GET orders', `is not a method in capitals or *, ${isNone}`],
    ['GET', `is not a method in capitals or *, ${isNone}`],
    ['GET* /orders', `is not a method in capitals or *, ${isNone}`],
    ['xGET /orders', `is not a method in capitals or *, ${isNone}`],
    ['CONNECT /x', 'is never forwarded'],
    ['TRACE /x', 'is never forwarded'],
    ['GET /orders?x=1', 'has a query or a fragment; policies decide on the path alone'],
    ['GET /orders#x', 'has a query or a fragment; policies decide on the path alone'],
    ['GET /orders/{id}', 'has braces, which no path has; write * for any segment'],
    ['GET /a/../b', `${impossible} a dot segment`],
    ['GET /a//b', `${impossible} an empty segment`],
    ['GET /a b', `${impossible} a character that a path cannot have`],
    ['GET /a;x', `${impossible} a character that a path cannot have`],
    ['GET /%2F', `${impossible} an empty segment`],
    ['GET /a%2F..', `${impossible} a dot segment`],
    ['GET /a%5Cb', `${impossible} percent-encoding of a delimiter or control, %5C`],
    ['GET /a%2Fb/a%2fb', undefined],
    ['GET /%61', `${impossible} percent-encoding of a character that needs none`],
    ['GET /a*', hasStar],
    ['GET /a**', hasStar],
    ['GET /**/a', 'has ** before the end; it stands for a rest, and * for one segment'],
    ['GET /***', hasStar],
    ['GET /a/**', undefined],
  ])('of a pattern: %s', (name, flaw) => {
    expect(requestFlaw(name, 'patterns')).toBe(flaw);
  });

  test.each([
    ['* /orders', `is not a method in capitals, ${isNone}`],
    ['GET /orders?x=1', 'has a query or a fragment; policies decide on the path alone'],
    ['TRACE /a*', undefined],
  ])('of a request: %s', (name, flaw) => {
    expect(requestFlaw(name, 'requests')).toBe(flaw);
  });

  test('each with its place', () => {
    expect(faultsIn('GET /b', 'TRACE /x', 'GET /a*', '/a')).toEqual([
      `requests./a: is not a method in capitals or *, ${isNone}`,
      `requests["GET /a*"]: ${hasStar}`,
      'requests["TRACE /x"]: is never forwarded',
    ]);
  });

  test.each([
    ['GET /a/*/c', 'GET /*/b/c'],
    ['GET /a/*', 'GET /*/b'],
    ['GET /a/*', 'GET /a/*/**'],
    ['* /x/*/**', '* /x/**'.replace('**', '*')],
  ])('%s and %s decide some of the same requests, and neither is more specific', (one, other) => {
    const names = [one, other].toSorted();
    const fault = `requests["${names[1]}"]: decides some of the same requests as "${names[0]}", and neither is more specific`;
    expect(faultsIn(one, other)).toEqual([fault]);
    expect(faultsIn(other, one)).toEqual([fault]);
  });

  test.each([
    ['GET /a/*', '* /*/b'],
    ['GET /a/*', 'HEAD /*/b'],
    ['GET /a/*', 'GET /b/*'],
    ['GET /a/*', 'GET /*/bb'],
  ])('%s and %s do not', (one, other) => {
    expect(faultsIn(one, other)).toEqual([]);
  });
});

test.each([
  ['GET /a', 'GET /a', true],
  ['GET /a', 'GET /b', false],
  ['GET /a', 'GET /a/b', false],
  ['GET /a', 'POST /a', false],
  ['GET /a', 'HEAD /a', true],
  ['GET /a', '* /a', true],
  ['POST /a', 'HEAD /a', false],
  ['GET /a/*', 'GET /*/b', true],
  ['GET /a/*', 'GET /b/*', false],
  ['GET /a/*', 'GET /*/b/c', false],
  ['GET /a/**', 'GET /*', true],
  ['GET /a/**', 'GET /*/b/c', true],
  ['GET /a/**', 'GET /b/a', false],
  ['GET /*', 'GET /*', true],
  ['GET /*', 'GET /', false],
  ['GET /*/', 'GET /**', true],
])('whether %s and %s have a common request: %s', (one, other, expected) => {
  expect([haveCommonRequest(one, other), haveCommonRequest(other, one)]).toEqual([expected, expected]);
});

test.each([
  ['GET /A', 'GET /a'],
  ['GET /a.b/c. ./%61', 'GET /a.b/c/a'],
  ['GET /A%80', 'GET /a%80'],
  ['GET /%E2%80%8B/', 'GET /'],
  ['GET /a/b', 'GET /a/b'],
  ['GET /a/b.', 'GET /a/b'],
  ['GET /a/%20b%20', 'GET /a/b'],
  ['GET /a/+/b', 'GET /a/b'],
])('a lenient server reads %s as %s', (request, plain) => {
  expect(plainRequest(request)).toBe(plain);
});

test.each([
  ['GET /a/b', 'GET /a/b'],
  ['GET /a/b.tar.gz', 'GET /a/b'],
  ['GET /a.d/B::$DATA', 'GET /a/b'],
  ['GET /a/b%3Fc.d', 'GET /a/b'],
  // Nothing is left at any end of the name.
  ['GET /a/.+', 'GET /a/.+'],
])('the shortest reading of %s is %s', (request, shortest) => {
  expect(shortestRequest(request)).toBe(shortest);
});

test.each<readonly [patterns: readonly string[], request: string, written: boolean, plain: boolean]>([
  [[], 'GET /a', false, false],
  [['GET /a', 'GET /b'], 'GET /a', true, true],
  [['GET /a', 'GET /b'], 'GET /b', true, true],
  [['GET /a', 'GET /b'], 'GET /c', false, false],
  [['GET /a'], 'HEAD /a', true, true],
  [['GET /a'], 'POST /a', false, false],
  [['GET /a/*'], 'GET /a/b', true, true],
  [['GET /a/b'], 'GET /A/b.json/', false, true],
  [['GET /A/b.'], 'GET /a/b', false, true],
  [['GET /A/b.'], 'GET /A/b.', true, true],
  // A slash that is encoded: as a character, and decoded first.
  [['GET /a%2Fb'], 'GET /a%2Fb', true, true],
  [['GET /a%2Fb'], 'GET /A%2fb', false, true],
  [['GET /a%2Fb'], 'GET /a/b', false, true],
  [['GET /a/b'], 'GET /a%2Fb', false, true],
  [['GET /*'], 'GET /a%2Fb', true, true],
  [['GET /*'], 'GET /a/b', false, false],
])(
  'whether one of %j covers %s, as it is written: %s, and for a lenient server: %s',
  (patterns, request, ...covers) => {
    expect((['written', 'plain'] as const).map((reading) => requestsCoveredBy(patterns, reading)(request))).toEqual(
      covers,
    );
  },
);

test.each([
  ['GET /a', 'GET /a'],
  ['GET /a/1', 'GET /a/{id}'],
  ['GET /a/1/2', 'GET /a/**'],
  // As it is written, whatever a lenient server makes of it.
  ['GET /A', undefined],
  ['GET /a.', undefined],
  ['POST /a', undefined],
])('%s as it is written is decided by %s', (request, key) => {
  expect(writtenRequest(['GET /a', 'GET /a/{id}', 'GET /a/**'])(request)).toBe(key);
});

test.each([
  ['GET /', 'GET', ['']],
  ['GET /a/{id}/', 'GET', ['a', '{id}', '']],
  ['* /a%2fb/**', '*', ['a%2Fb', '**']],
])('the method and the segments of %s', (name, method, segments) => {
  expect(methodAndSegments(name)).toEqual([method, segments]);
});

test.each([
  ['GET /{id}', 'GET /x', ['x']],
  ['GET /{id}', 'GET /x/y', ['x']],
  ['GET /a/{id}/b', 'GET /a/x/b', ['x']],
  ['GET /a/b/{id}', 'GET /a/b/x', ['x']],
  // A request without the segment.
  ['GET /a/{id}', 'GET /x', []],
  ['GET /a/b/{id}', 'GET /x', []],
])('the variable of %s in %s is %j', (key, request, texts) => {
  expect(requestVariable(key, 'id')(request)).toEqual(texts);
});
