import { describe, expect, test } from 'vitest';
import type { Upstream } from '../../src/model/route.ts';
import { notFree, refused, route, type Row, upstream } from './edits.ts';
import { edited, loaded } from './folder.ts';

const identity = (members: string): string => edited(upstream(`identity: { ${members} }`));

async function read(members: string): Promise<Upstream | undefined> {
  const config = await loaded({ yaml: identity(members), env: { HEADER: 'X-Env', CLAIM: '/a~1b' } });
  return config.routes[0]?.upstream;
}

describe('signed', () => {
  test('has the URL of the upstream as its audience by default', async () => {
    expect(await read('signed: X-Auth-Identity, x-sub: sub')).toMatchObject({
      signedIdentity: { header: 'x-auth-identity', audience: 'http://127.0.0.1:3000', claims: [] },
      identity: new Map([['x-sub', 'sub']]),
    });
  });

  test('reads every key', async () => {
    expect(await read('signed: { header: x-id, audience: b, claims: [risk, /a/b] }')).toMatchObject({
      signedIdentity: { header: 'x-id', audience: 'b', claims: ['risk', '/a/b'] },
    });
  });

  test('accepts placeholders', async () => {
    expect(await read('signed: "${env:HEADER}"')).toMatchObject({ signedIdentity: { header: 'x-env' } });
    expect(await read('signed: { header: "${env:HEADER}", claims: ["${env:CLAIM}"] }')).toMatchObject({
      signedIdentity: { header: 'x-env', claims: ['/a~1b'] },
    });
  });

  test('is off by default', async () => {
    expect(await read('x-sub: sub')).toMatchObject({ signedIdentity: undefined });
  });

  const at = 'routes[0].upstream.identity';
  test.each<Row>([
    [
      'in capitals',
      identity('Signed: x'),
      `:13:19: ${at}.Signed: is not a header name; write signed for a signed identity`,
    ],
    ['no header', identity('signed: {}'), `:13:27: ${at}.signed: missing key: header`],
    [
      'a list',
      identity('signed: [x]'),
      `:13:27: ${at}.signed: expected a header name, or a mapping with one, found a list`,
    ],
    ['an invalid header name', identity('signed: "x y"'), `:13:27: ${at}.signed: "x y" is not a header name`],
    [
      'no name in a mapping',
      identity('signed: { header: "x:" }'),
      `:13:37: ${at}.signed.header: "x:" is not a header name`,
    ],
    ['one that is taken', identity('signed: cookie'), `:13:27: ${at}.signed: "cookie" ${notFree}`],
    [
      'one that is taken by a claim',
      identity('x_a: sub, signed: X-A'),
      `:13:37: ${at}.signed: "X-A" is the same header as x_a`,
    ],
    [
      'another key',
      identity('signed: { header: x-a, key: b }'),
      `:13:42: ${at}.signed.key: unknown key; accepted: header, audience, claims`,
    ],
    [
      'no audience',
      identity('signed: { header: x-a, audience: "" }'),
      `:13:52: ${at}.signed.audience: must not be empty`,
    ],
    [
      'its own member',
      identity('signed: { header: x-a, claims: [exp] }'),
      `:13:51: ${at}.signed.claims[0]: "exp" is reserved in a signed identity`,
    ],
    [
      'a broken pointer',
      identity('signed: { header: x-a, claims: ["/a~2"] }'),
      `:13:51: ${at}.signed.claims[0]: "/a~2" is not a JSON Pointer, RFC 6901 §3`,
    ],
    [
      'a claim twice',
      identity('signed: { header: x-a, claims: [a, a] }'),
      `:13:54: ${at}.signed.claims[1]: is listed twice`,
    ],
    [
      'on a public route',
      edited(['    audience: https://api.example\n', '    public: true\n'], upstream('identity: { signed: x-a }')),
      `:13:7: ${at}: cannot be combined with public: true`,
    ],
  ])('refuses %s', async (_title, yaml, ...lines) => {
    expect(await refused(yaml)).toEqual(lines);
  });
});

describe('a plain header', () => {
  test.each([
    'CF-Connecting-IP',
    'True-Client-IP',
    'X-Client-IP',
    'Client-Cert',
    'x-envoy-external-address',
    'X-Azure-ClientIP',
    'X-AppEngine-User-IP',
    'X-SSL-Client-Verify',
    'X-Remote-Addr',
    'X.Forwarded.For',
    'Accept-Encoding',
    'DPoP',
  ])('refuses %s, which proxies and servers trust', async (name) => {
    expect(await refused(identity(`${name}: sub`))).toEqual([expect.stringContaining(notFree)]);
  });

  test.each(['Remote-User', 'X-Remote-User', 'X-Remote-Group', 'X-Auth-Request-User', 'X-WebAuth-User'])(
    'accepts %s, which by custom names the caller',
    async (name) => {
      expect((await read(`${name}: sub`))?.identity).toEqual(new Map([[name.toLowerCase(), 'sub']]));
    },
  );

  test('refuses two names that CGI reads as one header', async () => {
    expect(await refused(identity('x-a: sub, x.a: sub'))).toEqual([
      ':13:29: routes[0].upstream.identity["x.a"]: is the same header as x-a',
    ]);
  });
});

test('does not affect another route', async () => {
  expect(await refused(edited(route('methods: [GET]'), upstream('identity: { signed: x-a }')))).toEqual([]);
});
