import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createServerClient } from '../../src/authenticate/server-client.ts';
import { createExchange, type Exchange } from '../../src/exchange/exchange.ts';
import type { AuthorizationServerClient } from '../../src/model/authorization-server.ts';
import type { Grant } from '../../src/model/grant.ts';
import type { TokenExchange, Upstream, UpstreamToken } from '../../src/model/route.ts';
import { bearer } from '../support/bearer.ts';
import { startIssuer, type Issuer } from '../support/issuer.ts';
import { serverOf } from '../support/server.ts';

let now: number;
const clock = (): number => now;
let issuer: Issuer;
let client: AuthorizationServerClient;
let answer: (form: URLSearchParams) => { status?: number; body: unknown };

beforeEach(async () => {
  now = Date.now();
  issuer = await startIssuer();
  client = createServerClient(serverOf(issuer), () => {}, clock);
  answer = (form) => ({
    body: { access_token: `for-${form.get('subject_token')}`, token_type: 'Bearer', expires_in: 60 },
  });
  issuer.intercept = (request, response, body) => {
    if (request.url !== '/token') return false;
    const { status = 200, body: value } = answer(new URLSearchParams(body));
    response.writeHead(status).end(typeof value === 'string' ? value : JSON.stringify(value));
    return true;
  };
});
afterEach(async () => {
  client.close();
  await issuer.close();
});

function exchangeOf(otherwise: Partial<TokenExchange> = {}): (token: string, expiresAt?: number) => Promise<unknown> {
  const exchange: TokenExchange = {
    server: client.server,
    endpoint: undefined,
    credentials: { clientId: 'gateway', clientSecret: 'secret', clientAuth: 'client_secret_basic' },
    subjectTokenType: 'access_token',
    requestedTokenType: 'access_token',
    actor: 'none',
    audience: 'https://api.example',
    resource: undefined,
    scope: ['read', 'list'],
    ...otherwise,
  };
  return caller(create({ kind: 'exchange', exchange }));
}

function create(token: UpstreamToken): Exchange {
  return createExchange({ token } as Upstream, new Map([['main', client]]), clock);
}

function caller(exchange: Exchange): (token: string, expiresAt?: number) => Promise<unknown> {
  return async (token, expiresAt) => exchange({ principal: { issuer: issuer.url, expiresAt } } as Grant, bearer(token));
}

const calls = (): URLSearchParams[] =>
  issuer.requests.filter(({ path }) => path === '/token').map(({ body }) => new URLSearchParams(body));

describe('RFC 8693 §2.1 — the request', () => {
  test('its parameters', async () => {
    await expect(exchangeOf({ resource: 'https://api.example/r' })('t')).resolves.toBe('Bearer for-t');
    expect(Object.fromEntries(calls()[0] ?? [])).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: 't',
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      audience: 'https://api.example',
      resource: 'https://api.example/r',
      scope: 'read list',
    });
  });

  test('what is not configured is not sent', async () => {
    await exchangeOf({ audience: undefined, scope: [] })('t');
    expect([...(calls()[0]?.keys() ?? [])]).not.toContain('audience');
    expect([...(calls()[0]?.keys() ?? [])]).not.toContain('scope');
  });
});

describe('RFC 8693 §2.2 — the answer', () => {
  const fine = { access_token: 'a', token_type: 'Bearer', expires_in: 60 };
  test.each([
    ['exchange.invalid', 200, { ...fine, access_token: undefined }],
    ['exchange.invalid', 200, { ...fine, access_token: 'a b' }],
    ['exchange.invalid', 200, { ...fine, access_token: 'a\r\nx-admin: 1' }],
    ['exchange.invalid', 200, { ...fine, token_type: 'N_A' }],
    ['exchange.invalid', 200, { ...fine, token_type: undefined }],
    ['exchange.invalid', 200, { ...fine, expires_in: '60' }],
    ['exchange.invalid', 200, { ...fine, expires_in: -1 }],
    ['exchange.invalid', 200, { ...fine, expires_in: 0 }],
    ['exchange.invalid', 200, 'no JSON'],
    ['exchange.refused', 400, { error: 'invalid_target' }],
    ['exchange.refused', 401, { error: 'invalid_client' }],
    ['exchange.refused', 400, 'no JSON'],
    ['token.inactive', 400, { error: 'invalid_grant' }],
    ['authorization_server.unavailable', 500, {}],
  ])('%s: %d %j', async (reason, status, body) => {
    answer = () => ({ status, body });
    await expect(exchangeOf()('t')).rejects.toMatchObject({ reason });
  });
});

describe('the cache', () => {
  test('a hundred callers at once: one call each, and each its own token', async () => {
    const exchange = exchangeOf();
    const tokens = Array.from({ length: 300 }, (_, i) => `t${i % 100}`);
    const got = await Promise.all(tokens.map((token) => exchange(token)));
    expect(got).toEqual(tokens.map((token) => `Bearer for-${token}`));
    expect(calls().length).toBe(100);
  });

  test('kept until shortly before it ends', async () => {
    const exchange = exchangeOf();
    await exchange('t');
    now += 53_999;
    await exchange('t');
    expect(calls().length).toBe(1);
    now += 1;
    await exchange('t');
    expect(calls().length).toBe(2);
  });

  test('never kept past the end of the token that it was made from', async () => {
    const exchange = exchangeOf();
    await exchange('t', now / 1000 + 5);
    now += 5_000;
    await exchange('t', now / 1000 + 5);
    expect(calls().length).toBe(2);
  });

  test('not kept at all when nobody says for how long', async () => {
    answer = () => ({ body: { access_token: 'a', token_type: 'bearer' } });
    const exchange = exchangeOf();
    await exchange('t');
    await exchange('t');
    expect(calls().length).toBe(2);
  });

  test('a failure is not kept', async () => {
    const good = answer;
    answer = () => ({ status: 500, body: {} });
    const exchange = exchangeOf();
    await expect(exchange('t')).rejects.toBeDefined();
    answer = good;
    await expect(exchange('t')).resolves.toBe('Bearer for-t');
  });
});

test('none: nothing, whatever the client presented', async () => {
  await expect(caller(create({ kind: 'none' }))('t')).resolves.toBeUndefined();
});

test('forward: the same token', async () => {
  await expect(caller(create({ kind: 'forward' }))('t')).resolves.toBe('Bearer t');
});

test('a credential without a token to make it from is a bug, not a pass', () => {
  expect(() => create({ kind: 'forward' })({} as Grant, undefined)).toThrow(TypeError);
});
