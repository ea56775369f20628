import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { AuthorizationServer } from '../../../src/core/model/authorization-server.ts';
import type { FrontDoor } from '../../../src/ports/front-door.ts';
import type { Route } from '../../../src/core/model/route.ts';
import { createServerAnswers } from '../../../src/serve/gateway/server-answers.ts';
import { recorded } from '../../core/gateway/respond/recorded.ts';

const publicUrl = 'https://gateway.example';
const document = { issuer: 'https://gateway.example/signin' };

/** What a test says of the configuration. */
interface Given {
  readonly issuer?: string | undefined;
  readonly routes?: readonly Route[];
  /** The name of the server in `oauth_endpoints_at_root`. */
  readonly root?: string;
}

type Documents = Readonly<Record<string, () => Promise<object>>>;

/** The answer, where the servers with these names have these metadata; undefined: the path is not answered. */
async function answerTo(method: string, target: string, { issuer, routes = [], root }: Given, documents: Documents) {
  const config = {
    publicUrl,
    routes,
    frontDoor: issuer === undefined ? undefined : ({ issuer } as FrontDoor),
    endpointsAtRoot: root === undefined ? undefined : ({ name: root } as AuthorizationServer),
  };
  const none = { jwksUri: undefined, introspectionEndpoint: undefined, tokenEndpoint: undefined };
  const clients = Object.entries(documents).map(([name, documentOf]) => {
    const metadata = async () => ({ ...none, document: { ...(await documentOf()) } });
    return [name, { metadata }] as const;
  });
  const { call, answer } = recorded(method, target);
  const answered = createServerAnswers(config, new Map(clients)).map((publish) => publish(call));
  await setImmediate();
  expect(answered).toEqual(answered.map(Boolean));
  expect(answered.filter(Boolean)).toHaveLength(answer() === undefined ? 0 : 1);
  return answer();
}

function metadataAt(
  path: string,
  issuer: string | undefined,
  metadata: () => Promise<object> = async () => document,
  routes: readonly Route[] = [],
) {
  return answerTo('GET', path, { issuer, routes }, { front_door: metadata, other: async () => ({}) });
}

describe('the metadata of a front door at a path of the public origin', () => {
  test.each(['/.well-known/oauth-authorization-server/signin', '/.well-known/openid-configuration/signin'])(
    'are at %s',
    async (path) => {
      expect(await metadataAt(path, document.issuer)).toMatchObject({
        status: 200,
        headers: { 'Content-Type': 'application/json', 'Access-Control-Allow-Origin': '*' },
        body: JSON.stringify(document),
      });
    },
  );

  test('are at the bare path too, unless a public route answers there', async () => {
    const bare = '/.well-known/oauth-authorization-server';
    const at = (routes: readonly Partial<Route>[], path = bare) =>
      metadataAt(path, document.issuer, undefined, routes as readonly Route[]);
    const open = { public: true };
    expect(await at([{ ...open, path: '/other' }, { path: '/' }])).toMatchObject({ status: 200 });
    for (const path of ['/', '/.well-known', bare]) {
      expect(await at([{ ...open, path }, { path: '/other' }])).toBeUndefined();
      expect(await at([{ ...open, path }], `${bare}/signin`)).toMatchObject({ status: 200 });
    }
  });

  test('answer 503 while the front door does not', async () => {
    const path = '/.well-known/oauth-authorization-server/signin';
    const answer = await metadataAt(path, document.issuer, () => Promise.reject(new Error('away')));
    expect(answer).toEqual({
      status: 503,
      headers: {
        'Access-Control-Allow-Origin': '*',
        'Retry-After': '1',
        'Content-Length': 0,
        'X-Request-Id': 'request-1',
      },
      body: '',
    });
  });
});

test.each([
  ['another path', '/.well-known/oauth-authorization-server/other', document.issuer],
  ['a path below', '/.well-known/oauth-authorization-server/signin/x', document.issuer],
  [
    'the path of another origin',
    '/.well-known/oauth-authorization-server/signin',
    'https://gateway.example.evil/signin',
  ],
  ['an issuer at the root', '/.well-known/oauth-authorization-server', 'https://gateway.example'],
  ['no front door', '/.well-known/oauth-authorization-server', undefined],
])('%s is not answered', async (_title, path, issuer) => {
  expect(await metadataAt(path, issuer)).toBeUndefined();
});

describe('R-292: oauth_endpoints_at_root', () => {
  /** The answer at one of its paths, where the metadata of the server name this endpoint; an Error: there are none. */
  function answerAt(method: string, target: string, endpoint: unknown) {
    const members = ['authorization_endpoint', 'token_endpoint', 'registration_endpoint'];
    return answerTo(
      method,
      target,
      { root: 'main' },
      {
        front_door: async () => ({}),
        main: async () => {
          if (endpoint instanceof Error) throw endpoint;
          return Object.fromEntries(members.map((member) => [member, endpoint]));
        },
      },
    );
  }

  const location = 'https://as.example/x';
  test.each<[method: string, path: string, status: number, methods: string, headers: object]>([
    ['GET', '/authorize', 302, 'GET, HEAD', { Location: location }],
    ['HEAD', '/authorize', 302, 'GET, HEAD', { Location: location }],
    ['POST', '/authorize', 405, 'GET, HEAD', { Allow: 'GET, HEAD, OPTIONS' }],
    ['OPTIONS', '/authorize', 204, 'GET, HEAD', {}],
    ['POST', '/token', 307, 'POST', { Location: location }],
    ['GET', '/token', 405, 'POST', { Allow: 'POST, OPTIONS' }],
    ['OPTIONS', '/token', 204, 'POST', {}],
    ['POST', '/register', 307, 'POST', { Location: location }],
  ])('answers %s %s with %d', async (method, path, status, methods, headers) => {
    const common = {
      'Access-Control-Allow-Origin': '*',
      'Access-Control-Max-Age': '86400',
      'Access-Control-Allow-Methods': `${methods}, OPTIONS`,
      'Access-Control-Allow-Headers': 'Authorization, *',
      'Cache-Control': 'no-store',
      'X-Request-Id': 'request-1',
      ...(status !== 204 && { 'Content-Length': 0 }),
    };
    expect(await answerAt(method, path, location)).toEqual({ status, headers: { ...common, ...headers }, body: '' });
  });

  test('answers 503 while the server is unavailable, and nothing at other paths or without the setting', async () => {
    expect(await answerAt('GET', '/authorize', new Error('away'))).toMatchObject({
      status: 503,
      headers: { 'Access-Control-Allow-Origin': '*', 'Retry-After': '1' },
    });
    expect(await answerTo('GET', '/authorize', { root: 'main' }, {})).toMatchObject({ status: 503 });
    expect(await answerAt('GET', '/authorize/x', location)).toBeUndefined();
    expect(await answerTo('GET', '/authorize', {}, { main: async () => ({}) })).toBeUndefined();
  });

  const base = 'https://as.example/authorize';
  test.each([
    ['the query is kept', base, '?a=%20', `${base}?a=%20`],
    ['the query of the endpoint stays', `${base}?t=x`, '?s=a%20b&t=evil&u', `${base}?t=x&s=a+b&u=`],
    ['nothing is added to it', `${base}?t=x`, '?t=evil', `${base}?t=x`],
    ['an endpoint on this machine', 'http://127.0.0.1:9/authorize', '', 'http://127.0.0.1:9/authorize'],
  ])('leads there: %s', async (_title, endpoint, query, expected) => {
    expect(await answerAt('GET', `/authorize${query}`, endpoint)).toMatchObject({ headers: { Location: expected } });
  });

  test.each([
    ['http elsewhere', 'http://as.example/authorize'],
    ['a user', 'https://as.example@evil.example/authorize'],
    ['a password', 'https://:x@as.example/authorize'],
    ['a backslash', String.raw`https://as.example\@evil.example/authorize`],
    ['a fragment', 'https://as.example/authorize#x'],
    ['no URL', 'javascript:alert(1)'],
    ['no host', 'https://['],
    ['a space before it', ' https://as.example/authorize'],
    ['a line break', 'https://as.example/\r\nset-cookie: a=b'],
    ['a list', ['https://as.example/authorize']],
    ['nothing', undefined],
  ])('answers 502 to an endpoint with %s', async (_title, endpoint) => {
    const headers = expect.not.objectContaining({ Location: expect.anything() }) as object;
    expect(await answerAt('GET', '/authorize', endpoint)).toMatchObject({ status: 502, headers });
  });
});
