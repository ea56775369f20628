import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { RotatingKeys } from '../../../src/lib/rotating-keys.ts';
import type { Config } from '../../../src/model/config.ts';
import { Denial } from '../../../src/model/denial.ts';
import {
  createKeySet,
  createPublish,
  createFrontDoorMetadata,
  createRootEndpoints,
} from '../../../src/pipeline/respond/publish.ts';
import { recorded } from './recorded.ts';
import type { FrontDoor } from '../../../src/model/front-door.ts';
import type { Route } from '../../../src/model/route.ts';

const route = (path: string): object => ({ path, resource: {}, authorizationServers: [] });
const keys = Buffer.from('{"keys":[]}');
const keysPath = '/.well-known/sallyport-jwks.json';
const wellKnown = '/.well-known/oauth-protected-resource';
const open = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Methods': 'GET, HEAD, OPTIONS',
  'Access-Control-Allow-Headers': '*',
  'Access-Control-Max-Age': '86400',
};

function published(method: string, path: string, routes = [route('/mcp')], keySet = (): Buffer | undefined => keys) {
  const config = { publicUrl: 'https://gateway.example', routes } as unknown as Config;
  const { call, answer } = recorded(method, path);
  try {
    return createPublish(config, keySet)(call) ? answer() : 'not ours';
  } catch (error) {
    return (error as Denial).reason;
  }
}

test.each([
  [keysPath, 'application/jwk-set+json', '{"keys":[]}'],
  [
    `${wellKnown}/mcp`,
    'application/json',
    '{"resource":"https://gateway.example/mcp","authorization_servers":[],"bearer_methods_supported":["header"]}',
  ],
])('any page may read %s', (path, type, body) => {
  const headers = {
    ...open,
    'Content-Type': type,
    'Cache-Control': 'public, max-age=300',
    'Content-Length': body.length,
    'X-Request-Id': 'request-1',
  };
  expect(published('GET', path)).toEqual({ status: 200, headers, body });
  expect(published('HEAD', path)).toMatchObject({ status: 200, headers });
  expect(published('OPTIONS', path)).toEqual({
    status: 204,
    headers: { ...open, 'X-Request-Id': 'request-1' },
    body: '',
  });
  expect(published('POST', path)).toMatchObject({ status: 405, headers: { ...open, Allow: 'GET, HEAD, OPTIONS' } });
});

describe('RFC 9728 §3.1: the well-known part comes before the path', () => {
  test.each([
    [`${wellKnown}/mcp/`, 200],
    [`/mcp${wellKnown}`, 200],
    [wellKnown, 200],
    [`${wellKnown}/`, 200],
    [`${wellKnown}/other`, 'route.unknown'],
    [`${wellKnown}-other`, 'not ours'],
    ['/mcp', 'not ours'],
  ])('%s → %s', (path, wanted) => {
    const found = published('GET', path);
    expect(typeof found === 'string' ? found : found?.status).toBe(wanted);
  });

  test('a resource at the root has nothing after it', () => {
    expect(published('GET', wellKnown, [route('/'), route('/mcp')])).toMatchObject({
      body: expect.stringContaining('"resource":"https://gateway.example/"') as string,
    });
  });

  test('of several resources none is the bare one’s', () => {
    expect(published('GET', wellKnown, [route('/a'), route('/b')])).toBe('route.unknown');
    expect(published('GET', `${wellKnown}/b`, [route('/a'), route('/b')])).toMatchObject({ status: 200 });
  });

  test('a route that is no resource has none', () => {
    const plain = { path: '/api', authorizationServers: [] };
    expect(published('GET', `${wellKnown}/api`, [plain, route('/mcp')])).toBe('route.unknown');
    expect(published('GET', wellKnown, [plain, route('/mcp')])).toMatchObject({ status: 200 });
  });
});

test('where no route signs identities there are no keys', () => {
  expect(published('GET', keysPath, [], () => undefined)).toBe('route.unknown');
});

const rotating = { published: (now: number) => [{ kid: `of ${now}` }] } as unknown as RotatingKeys;
const plain = { upstream: {} };
const signing = { upstream: { signedIdentity: {} } };

test.each([
  ['no route', [], undefined],
  ['none of them', [plain], undefined],
  ['one of them', [plain, signing], '{"keys":[{"kid":"of 5"}]}'],
])('RFC 7517 §5: where %s signs identities', (_title, routes, wanted) => {
  const keySet = createKeySet({ routes } as unknown as Config, rotating, () => 5);
  expect(keySet()?.toString()).toBe(wanted);
});

const publicUrl = 'https://gateway.example';
const document = { issuer: 'https://gateway.example/signin' };

async function metadataAt(
  path: string,
  issuer: string | undefined,
  metadata?: () => Promise<object>,
  routes: readonly Route[] = [],
) {
  const frontDoor = issuer === undefined ? undefined : ({ issuer } as FrontDoor);
  const { call, answer } = recorded('GET', path);
  const isOurs = createFrontDoorMetadata({ frontDoor, publicUrl, routes }, metadata)(call);
  await setImmediate();
  return isOurs ? answer() : isOurs;
}

describe('the metadata of a front door at a path of the public origin', () => {
  test.each(['/.well-known/oauth-authorization-server/signin', '/.well-known/openid-configuration/signin'])(
    'are at %s',
    async (path) => {
      expect(await metadataAt(path, document.issuer, async () => document)).toMatchObject({
        status: 200,
        headers: { 'Content-Type': 'application/json', 'Access-Control-Allow-Origin': '*' },
        body: JSON.stringify(document),
      });
    },
  );

  test('are at the bare path too, unless a public route answers there', async () => {
    const bare = '/.well-known/oauth-authorization-server';
    const at = (routes: readonly Partial<Route>[]) =>
      metadataAt(bare, document.issuer, async () => document, routes as readonly Route[]);
    const open = { public: true };
    expect(await at([{ ...open, path: '/other' }, { path: '/' }])).toMatchObject({ status: 200 });
    for (const path of ['/', '/.well-known', bare]) {
      expect(await at([{ ...open, path }])).toBe(false);
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
  expect(await metadataAt(path, issuer, async () => document)).toBe(false);
});

test('nothing is answered without a client of the front door', async () => {
  expect(await metadataAt('/.well-known/oauth-authorization-server/signin', document.issuer)).toBe(false);
});

test.each([
  ['http elsewhere', 'http://as.example/authorize'],
  ['a user', 'https://as.example@evil.example/authorize'],
  ['a backslash', String.raw`https://as.example\@evil.example/authorize`],
  ['a fragment', 'https://as.example/authorize#x'],
  ['no URL', 'javascript:alert(1)'],
  ['a line break', 'https://as.example/\r\nset-cookie: a=b'],
  ['nothing', undefined],
])('R-292: answers 502 to an endpoint of oauth_endpoints_at_root with %s', async (_title, url) => {
  const { call, answer } = recorded('GET', '/authorize');
  const config = { endpointsAtRoot: {} } as unknown as Config;
  expect(createRootEndpoints(config, async () => ({ authorization_endpoint: url }))(call)).toBe(true);
  await setImmediate();
  expect(answer()).toMatchObject({
    status: 502,
    headers: expect.not.objectContaining({ Location: expect.anything() }),
  });
});
