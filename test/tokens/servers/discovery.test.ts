import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import { createServerClient } from '../../../src/tokens/servers/client.ts';
import type { AuthorizationServer } from '../../../src/core/model/authorization-server.ts';
import type { AuthorizationServerClient } from '../../../src/ports/authorization-server-client.ts';
import { startIssuer } from '../../support/issuer.ts';
import { serverOf } from '../../support/server.ts';
import { startBeforeEach } from '../../support/start-before.ts';

const clients: AuthorizationServerClient[] = [];

const issuer = startBeforeEach(startIssuer);
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
});

const away = { reason: 'authorization_server.unavailable' };

function clientOf(
  otherwise: Partial<AuthorizationServer> = {},
  clock = Date.now,
  random?: () => number,
): AuthorizationServerClient {
  const parts = random === undefined ? {} : { random };
  const client = createServerClient(serverOf(issuer, otherwise), () => {}, clock, parts);
  clients.push(client);
  return client;
}

/** Publishes metadata at one path and nothing else. */
function publish(path: string, metadata: object): void {
  issuer.intercept = (request, response) => {
    response.writeHead(request.url === path ? 200 : 404).end(JSON.stringify(metadata));
    return true;
  };
}

describe('RFC 8414 §3 — the location of metadata', () => {
  test.each([
    ['', '/.well-known/oauth-authorization-server'],
    ['', '/.well-known/openid-configuration'],
    ['/realms/a', '/.well-known/oauth-authorization-server/realms/a'],
    ['/realms/a', '/realms/a/.well-known/openid-configuration'],
    ['/realms/a', '/realms/a/.well-known/oauth-authorization-server'],
    ['/realms/a/', '/realms/a/.well-known/openid-configuration'],
  ])('issuer path %j: %s', async (path, location) => {
    const name = `${issuer.url}${path}`;
    publish(location, { issuer: name, jwks_uri: `${name}/jwks` });
    const client = clientOf({ issuer: name, backchannel: name });
    await expect(client.metadata()).resolves.toMatchObject({ jwksUri: `${name}/jwks` });
    expect(client.state()).toEqual({ name: 'main', issuer: name, state: 'available' });
  });
});

describe('a location without the metadata of this issuer leads to the next', () => {
  const good = (): object => ({ issuer: issuer.url, jwks_uri: `${issuer.url}/jwks` });
  const [first, second] = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'];

  /** Answers the first location, and serves the metadata at the second. */
  function behind(answer: (response: ServerResponse) => unknown): void {
    publish(second, good());
    const found = issuer.intercept;
    issuer.intercept = (request, response, body) => {
      if (request.url !== first) return found?.(request, response, body) ?? false;
      answer(response);
      return true;
    };
  }

  test.for<[what: string, answer: (response: ServerResponse) => unknown]>([
    ['a redirect to a page', (response) => response.writeHead(302, { location: '/sign-in' }).end()],
    ['a page', (response) => response.end('<h1>Sign in</h1>')],
    ['404', (response) => response.writeHead(404).end()],
    ['401', (response) => response.writeHead(401).end()],
    ['429', (response) => response.writeHead(429, { 'retry-after': '60' }).end()],
    ['500', (response) => response.writeHead(500).end()],
    ['503', (response) => response.writeHead(503).end()],
    ['the document of another issuer', (response) => response.end('{"issuer":"https://other.example"}')],
    ['a list', (response) => response.end('[]')],
    ['a document without an issuer', (response) => response.end('{}')],
    ['half an answer', (response) => response.writeHead(200, { 'content-length': '9' }).end('{')],
    ['an answer that is too long', (response) => response.end(' '.repeat(2 * 1024 * 1024))],
    ['a closed connection', (response) => response.destroy()],
    ['no answer', () => {}],
  ])('%s', async ([, answer]) => {
    behind(answer);
    const client = clientOf({ timeoutMs: 200 });
    await expect(client.metadata()).resolves.toMatchObject({ jwksUri: `${issuer.url}/jwks` });
    expect(client.state()).toEqual({ name: 'main', issuer: issuer.url, state: 'available' });
  });

  test('the first one counts where several have them', async () => {
    behind((response) => response.end(JSON.stringify({ ...good(), jwks_uri: `${issuer.url}/first` })));
    await expect(clientOf().metadata()).resolves.toMatchObject({ jwksUri: `${issuer.url}/first` });
  });

  test('its failures degrade nothing', async () => {
    behind((response) => response.writeHead(503).end());
    let now = Date.now();
    const clock = () => now;
    const client = clientOf({ staleMs: 0 }, clock);
    for (let count = 0; count < 6; count += 1) {
      await client.metadata();
      now += 6 * 60_000;
    }
    await client.metadata();
    expect(client.state()).toEqual({ name: 'main', issuer: issuer.url, state: 'available' });
  });

  test.for<[what: string, first: number | object, second: number | object, problem: string]>([
    ['the first failure', 503, 404, 'answered 503'],
    ['a failure behind an absent document', 404, 503, 'answered 503'],
    ['another issuer, which has a remedy', 503, { issuer: 'https://other.example' }, 'names the issuer'],
    ['no metadata', 404, 404, 'no metadata at'],
  ])('without any, the problem is %s', async ([, atFirst, atSecond, problem]) => {
    issuer.intercept = ({ url }, response) => {
      const answer = url === first ? atFirst : atSecond;
      if (typeof answer === 'number') response.writeHead(answer).end();
      else response.end(JSON.stringify(answer));
      return true;
    };
    const detail = expect.stringContaining(problem) as string;
    await expect(clientOf().metadata()).rejects.toMatchObject({ ...away, detail });
  });
});

describe('RFC 8414 §3.3 — the issuer in the metadata is the configured one', () => {
  test.each([undefined, 'http://other', 'SLASH'])('%s is refused', async (found) => {
    publish('/.well-known/oauth-authorization-server', { issuer: found === 'SLASH' ? `${issuer.url}/` : found });
    const client = clientOf();
    await expect(client.metadata()).rejects.toMatchObject(away);
    const problem = expect.stringContaining('names the issuer') as string;
    expect(client.state()).toMatchObject({ state: 'unavailable', problem });
  });
});

test('reaches endpoints below the issuer through the backchannel, others unchanged', async () => {
  publish('/.well-known/oauth-authorization-server', {
    issuer: 'https://public.example',
    introspection_endpoint: 'https://public.example/introspect?x=1',
    jwks_uri: 'https://cdn.example/keys',
    token_endpoint: 'no url',
  });
  const client = clientOf({ issuer: 'https://public.example', backchannel: issuer.url });
  await expect(client.metadata()).resolves.toEqual({
    introspectionEndpoint: `${issuer.url}/introspect?x=1`,
    jwksUri: 'https://cdn.example/keys',
    tokenEndpoint: undefined,
    document: expect.objectContaining({ token_endpoint: 'no url' }),
  });
});

test('discovers a server in the background that was unavailable at first', async () => {
  issuer.intercept = (_request, response) => Boolean(response.writeHead(503).end());
  const client = clientOf();
  await expect(client.metadata()).rejects.toMatchObject(away);
  const asked = issuer.requests.length;
  await expect(client.metadata()).rejects.toMatchObject(away);
  expect(issuer.requests.length, 'a failure answers for a moment').toBe(asked);
  issuer.intercept = undefined;
  await expect.poll(() => client.state().state).toBe('available');
});

test('a server that does not answer in time is unavailable', async () => {
  issuer.intercept = () => true;
  await expect(clientOf({ timeoutMs: 100 }).metadata()).rejects.toMatchObject(away);
});

describe('cached metadata', () => {
  let now: number;
  const serve = (metadata: object): void => publish('/.well-known/oauth-authorization-server', metadata);
  const good = (): object => ({ issuer: issuer.url, jwks_uri: `${issuer.url}/jwks` });

  /** One whose introspection fails so often that it is looked at anew; `random` keeps the waits short. */
  async function started(staleMs: number): Promise<AuthorizationServerClient> {
    now = Date.now();
    serve(good());
    const client = clientOf(
      { staleMs },
      () => now,
      () => 0.99,
    );
    await client.metadata();
    now += 1000;
    return client;
  }

  async function lookAgain(client: AuthorizationServerClient): Promise<void> {
    for (let count = 0; count < 5; count += 1) await client.get('jwks', 'http://127.0.0.1:1/').catch(() => {});
  }

  test.each([
    ['another issuer', { issuer: 'http://evil.example', jwks_uri: 'http://evil.example/jwks' }, 'names the issuer'],
    ['an issuer too long to log', { issuer: 'x'.repeat(100_000) }, `names the issuer "${'x'.repeat(64)}…", not`],
    ['an issuer that acts on a terminal', { issuer: '\u009b2J' }, String.raw`names the issuer "\u{9b}2J"`],
    ['garbage', ['x'], 'names the issuer nothing'],
    ['nothing', 'x', 'no metadata at'],
  ])('is not replaced by %s', async (_what, wrong, problem) => {
    const client = await started(3_600_000);
    serve(wrong as object);
    await lookAgain(client);
    const why = expect.stringContaining(problem) as string;
    await expect.poll(() => client.state()).toMatchObject({ state: 'stale', problem: why });
    await expect(client.metadata()).resolves.toMatchObject({ jwksUri: `${issuer.url}/jwks` });
  });

  test('is used for `stale` after the last fetch', async () => {
    const client = await started(3_600_000);
    const found = issuer.intercept;
    issuer.intercept = (_request, response) => Boolean(response.writeHead(500).end());
    await lookAgain(client);
    await expect.poll(() => client.state().state).toBe('stale');
    now += 3_590_000;
    await expect(client.metadata()).resolves.toBeDefined();
    now += 20_000;
    expect(client.state().state).toBe('unavailable');
    await expect(client.metadata()).rejects.toMatchObject(away);
    issuer.intercept = found;
    now += 60_000;
    await expect(client.metadata()).resolves.toBeDefined();
    expect(client.state().state).not.toBe('unavailable');
  });

  test('is fetched only if the settings need it', async () => {
    const jwt = { algorithms: ['RS256'], types: undefined, jwksUri: `${issuer.url}/jwks` };
    const client = clientOf({ jwt, introspection: undefined });
    expect(client.state().state).toBe('unknown');
    await client.get('jwks', `${issuer.url}/jwks`);
    expect(client.state().state, 'it answers').toBe('available');
    expect(issuer.requests.map(({ path }) => path)).toEqual(['/jwks']);
    await expect(client.metadata()).resolves.toMatchObject({ tokenEndpoint: `${issuer.url}/token` });
  });
});

test('an answer says how long it is fresh', async () => {
  issuer.intercept = (_request, response) => {
    response.writeHead(200, { 'cache-control': 'max-age=120' }).end('{}');
    return true;
  };
  const answer = clientOf().get('jwks', `${issuer.url}/jwks`);
  await expect(answer).resolves.toMatchObject({ status: 200, body: {}, maxAgeMs: 120_000 });
});

describe('a pause that a server requests', () => {
  test.each(['86400', '99999999999', '9'.repeat(400), 'Fri, 31 Dec 9999 23:59:59 GMT'])(
    'is a minute at most, also behind requests: Retry-After: %s',
    async (asked) => {
      issuer.intercept = (_request, response) => {
        // Of 429 no circuit opens: nothing but the wait keeps discovery from asking again.
        response.writeHead(429, { 'retry-after': asked }).end();
        return true;
      };
      await expect(clientOf().metadata()).rejects.toMatchObject({ ...away, retryAfterSeconds: 60 });
    },
  );
});
