import { hash } from 'node:crypto';
import { SignJWT, type JWTPayload } from 'jose';
import { beforeEach, describe, expect, test } from 'vitest';
import { createAuthenticators, type Authentication, type Authenticators } from '../../src/tokens/authenticator.ts';
import { createIntrospector } from '../../src/tokens/introspection.ts';
import type { AuthorizationServerClient } from '../../src/ports/authorization-server-client.ts';
import type { Call } from '../../src/core/model/call.ts';
import { Denial } from '../../src/core/model/denial.ts';
import type { RefusedToken } from '../../src/core/model/grant.ts';
import { unlimitedFailures } from '../../src/tokens/failures.ts';
import type { Route } from '../../src/core/model/route.ts';
import type { SharedAnswers } from '../../src/ports/shared.ts';
import { bearer } from '../support/bearer.ts';
import { createKey } from '../support/issuer.ts';

const key = await createKey('k1', 'ES256');
const none = new Map<string, readonly string[]>();
let asked: string[];
let isActive: boolean;
/** The keys of each server. */
let published: readonly object[];
/** Called before a server answers an introspection. */
let onAnswer: () => void;
let authenticators: Authenticators;

/** Creates authenticators that are prepared for servers with introspection. */
async function prepared(...parts: Parameters<typeof createAuthenticators>): Promise<Authenticators> {
  const created = createAuthenticators(...parts);
  await created.prepare([a.server]);
  return created;
}

beforeEach(async () => {
  asked = [];
  isActive = true;
  published = [key.publicJwk];
  onAnswer = () => {};
  authenticators = await prepared(() => {}, Date.now);
});

/** A server that knows every opaque token, and publishes one key. */
function clientOf(name: string, otherwise: object = {}): AuthorizationServerClient {
  return {
    server: {
      name,
      issuer: `https://${name}.example`,
      clockToleranceMs: 5_000,
      staleMs: 0,
      jwt: { algorithms: ['ES256'], types: undefined, jwksUri: 'https://as.example/jwks' },
      introspection: {
        credentials: { clientId: 'gateway' },
        response: { kind: 'json' },
        endpoint: 'https://as.example/introspect',
        cacheMs: 30_000,
        audience: 'required',
      },
      ...otherwise,
    },
    metadata: () => Promise.resolve({}),
    get(operation: string) {
      asked.push(operation);
      return Promise.resolve({ status: 200, body: { keys: published } });
    },
    post(operation: string, url: string, form: URLSearchParams) {
      asked.push(`${operation} ${url} ${form.get('token')}`);
      const body = { active: isActive, sub: 'alice', aud: 'r', scope: 'write' };
      onAnswer();
      return Promise.resolve({ status: 200, body });
    },
  } as unknown as AuthorizationServerClient;
}

type Clients = readonly AuthorizationServerClient[];

/** The first server's route, by a configuration with these clients. */
function configured(
  clients: Clients,
  hierarchy = none,
  failures = unlimitedFailures,
  isOwn = true,
  otherwise: Partial<Route> = {},
): Authentication {
  const byName = new Map(clients.map((client) => [client.server.name, client]));
  const tokens = new Set(['jwt', 'opaque']);
  const route = { authorizationServers: [clients[0]?.server], audiences: ['r'], tokens, ...otherwise };
  const refuse = (): never => {
    throw new Denial('token.unbound', 'not the caller’s own');
  };
  return authenticators(byName, hierarchy, failures)(route as unknown as Route, isOwn ? (own) => own : refuse);
}

const show = async (authentication: Authentication, token = 't') =>
  authentication.authenticate(bearer(token), { client: '192.0.2.1' } as Call);

const [a, b] = [clientOf('a'), clientOf('b')];
const write = new Map([['write', ['read']]]);

test.for<[what: string, before: Clients, after: Clients, hierarchy: typeof none, times: number]>([
  ['the same', [a, b], [a, b], new Map(), 1],
  ['another scope hierarchy', [a, b], [a, b], write, 2],
  ['one server more', [a], [a, b], none, 2],
  ['one less', [a, b], [a], none, 2],
  ['another in its place', [a, b], [a, clientOf('c')], none, 2],
  ['other settings of one', [a, b], [a, clientOf('b')], none, 2],
  ['other settings of the one that was asked', [a, b], [clientOf('a'), b], none, 2],
])('what is known of tokens is for one trust: then there is %s', async ([, before, after, hierarchy, times]) => {
  await show(configured(before));
  const { scopes } = await show(configured(after, hierarchy));
  expect(asked).toHaveLength(times);
  expect(scopes.has('read')).toBe(hierarchy === write);
});

const on = (otherwise: Partial<Route>): Authentication => configured([a, b], none, unlimitedFailures, true, otherwise);

test('routes with other servers or token forms share no verified tokens', async () => {
  await show(on({}));
  await show(on({}));
  expect(asked).toHaveLength(1);
  await show(on({ authorizationServers: [b.server] }));
  await show(on({ authorizationServers: [a.server, b.server] }));
  expect(asked).toHaveLength(3);
  await expect(show(on({ tokens: new Set(['jwt']) }))).rejects.toMatchObject({ reason: 'token.form' });
});

test('a token that one route finds revoked is evicted for all routes', async () => {
  const routes = [on({}), on({ tokens: new Set(['opaque']) }), on({ authorizationServers: [a.server, b.server] })];
  for (const route of routes) await show(route);
  isActive = false;
  await expect(routes[0]?.revalidate(bearer('t'))).rejects.toMatchObject({ reason: 'token.inactive' });
  for (const route of routes) await expect(show(route)).rejects.toMatchObject({ reason: 'token.inactive' });
});

test('revalidation checks the audience of the route', async () => {
  await expect(on({}).revalidate(bearer('t'))).resolves.toMatchObject({ audience: ['r'] });
  const elsewhere = on({ audiences: ['s'] });
  await expect(elsewhere.revalidate(bearer('t'))).rejects.toMatchObject({ reason: 'token.audience' });
});

test('a refusal is cached as long as the answers of the server', async () => {
  isActive = false;
  await expect(show(on({}))).rejects.toMatchObject({ reason: 'token.inactive' });
  await expect(show(on({}))).rejects.toMatchObject({ reason: 'token.inactive' });
  expect(asked).toHaveLength(1);
});

function sign(claims: JWTPayload): Promise<string> {
  return new SignJWT({ iss: 'https://a.example', ...claims })
    .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
    .setExpirationTime('1h')
    .sign(key.privateKey);
}

test('RFC 9068 §4 — a JWT must name the audience', async () => {
  await expect(show(on({}), await sign({ aud: ['x', 'r'] }))).resolves.toMatchObject({ form: 'jwt' });
  const audience = 'https://api.example';
  const route = on({ audiences: [audience] });
  for (const aud of [
    undefined,
    '',
    [],
    audience.slice(0, -1),
    `${audience}.evil.example`,
    `${audience}/`,
    `${audience}/api`,
    audience.toUpperCase(),
    `${audience}:443`,
    ` ${audience}`,
    `${audience} https://other.example`,
    '*',
    'https://*.example',
    'https://a.example',
    'https://other.example',
  ])
    await expect(show(route, await sign(aud === undefined ? {} : { aud }))).rejects.toMatchObject({
      reason: 'token.audience',
    });
});

test('the keys of a server outlive a change of other servers', async () => {
  const token = await sign({ aud: 'r' });
  await show(configured([a]), token);
  await show(configured([a], write), token);
  expect(asked).toEqual(['jwks']);
});

test('a server without introspection is not asked', async () => {
  const silent = clientOf('a', { introspection: undefined });
  await expect(show(configured([silent]))).rejects.toMatchObject({ reason: 'token.inactive' });
  expect(() => createIntrospector(silent, {} as never, none, Date.now)).toThrow('a has no introspection');
});

test('RFC 8414 §2 — metadata without introspection_endpoint are an outage', async () => {
  const { server } = a;
  const nowhere = clientOf('a', { introspection: { ...server.introspection, endpoint: undefined } });
  await expect(show(configured([nowhere]))).rejects.toMatchObject({
    reason: 'authorization_server.unavailable',
    detail: 'a: its metadata has no introspection_endpoint; set introspection.endpoint',
  });
  expect(asked).toEqual([]);
});

test('a route with a server that has no client is a bug', () => {
  const route = { authorizationServers: [b.server], audiences: ['r'], tokens: new Set(['jwt']) } as unknown as Route;
  const clients = new Map([['a', a]]);
  expect(() => authenticators(clients, none, unlimitedFailures)(route, (own) => own)).toThrow(
    'no client for the authorization',
  );
});

test('the key set of a server is known after a token of it was verified', async () => {
  const authentication = on({});
  expect([authenticators.keySet('a'), authenticators.keySet('z')]).toEqual([undefined, undefined]);
  await show(authentication, await sign({ aud: 'r' }));
  expect([authenticators.keySet('a')?.count, authenticators.keySet('b')]).toEqual([1, undefined]);
});

test('a refused JWT counts as made up, unless a cache has it as valid', async () => {
  let now = Date.now();
  const madeUp: boolean[] = [];
  authenticators = await prepared(
    () => {},
    () => now,
    undefined,
    ({ isMadeUp }) => madeUp.push(isMadeUp),
  );
  const token = await sign({ aud: 'r' });
  await show(on({}), token);
  published = [];
  now += 6 * 60_000;
  for (let times = 0; times < 2; times += 1)
    await expect(show(on({}), token)).rejects.toMatchObject({ reason: 'token.key' });
  expect(madeUp).toEqual([false, true]);
});

describe('a configuration with introspection', () => {
  const without = { introspection: undefined };

  test('needs to be prepared for it', async () => {
    authenticators = createAuthenticators(() => {}, Date.now);
    await authenticators.prepare([clientOf('a', without).server]);
    expect(() => configured([a])).toThrow('a configuration is prepared first');
    expect(() => configured([clientOf('a', without)])).not.toThrow();
  });

  test('is prepared by any of its servers, and later ones without introspection change nothing', async () => {
    authenticators = createAuthenticators(() => {}, Date.now);
    await authenticators.prepare([clientOf('b', without).server, a.server]);
    await authenticators.prepare([clientOf('b', without).server]);
    expect(await show(configured([a]))).toMatchObject({ subject: 'alice' });
  });
});

describe('a token that its server has revoked', () => {
  const key = hash('sha256', 't', 'base64url');
  const inactive = { reason: 'token.inactive' };
  let refused: RefusedToken[];
  let deleted: (readonly string[])[];
  let kept: Map<string, unknown>;
  const answers: SharedAnswers = {
    get: async (_kind, place) => kept.get(place) as undefined,
    set: (_kind, place, answer, expiresAt) => void kept.set(place, { answer, expiresAt }),
    delete(kind, place) {
      deleted.push([kind, place]);
      kept.delete(place);
    },
  };
  beforeEach(async () => {
    [refused, deleted, kept] = [[], [], new Map()];
    authenticators = await prepared(
      () => {},
      Date.now,
      answers,
      (token) => refused.push(token),
    );
  });

  test('is introspected again, past the shared answer, and its streams end', async () => {
    const main = on({});
    await show(main);
    isActive = false;
    expect(await show(main)).toMatchObject({ subject: 'alice' });
    const [shared] = [...kept.keys()];
    authenticators.revoke('a', key);
    expect(refused).toEqual([{ key, issuers: ['https://a.example'], reason: 'token.inactive', isMadeUp: false }]);
    expect(deleted).toEqual([['introspection', shared]]);
    await expect(show(main)).rejects.toMatchObject(inactive);
  });

  test.each<[of: string, ask: (main: Authentication) => Promise<unknown>]>([
    ['a request', show],
    ['an open stream', async (main) => main.revalidate(bearer('t'))],
  ])('R-282: is refused although an answer for %s was in flight, which no cache keeps', async (_of, ask) => {
    const main = on({});
    onAnswer = () => authenticators.revoke('a', key);
    await expect(ask(main)).rejects.toMatchObject(inactive);
    expect(kept.size).toBe(0);
    const times = asked.length;
    await expect(show(main)).rejects.toMatchObject(inactive);
    expect(asked).toHaveLength(times);
  });

  test('R-282: is refused although another replica shares an answer from before', async () => {
    const main = on({});
    await show(main);
    const late = [...kept];
    authenticators.revoke('a', key);
    kept = new Map(late);
    isActive = false;
    await expect(show(main)).rejects.toMatchObject(inactive);
  });

  test('changes nothing at an unknown server, and before any configuration', () => {
    authenticators.revoke('a', key);
    on({});
    authenticators.revoke('other', key);
    expect([refused, deleted]).toEqual([[], []]);
  });

  test('ends its streams also where the server has no introspection', () => {
    configured([clientOf('a', { introspection: undefined })]);
    authenticators.revoke('a', key);
    expect([refused.length, deleted]).toEqual([1, []]);
  });

  test('is asked about again once it is dropped, past the shared answer', async () => {
    const main = on({});
    await show(main);
    authenticators.drop(({ subject }) => subject !== 'alice');
    await show(main);
    expect([asked.length, deleted]).toEqual([1, []]);
    authenticators.drop(({ subject }) => subject === 'alice');
    expect(deleted).toEqual([['introspection', expect.any(String)]]);
    await show(main);
    expect(asked).toHaveLength(2);
  });

  test('is asked about again if it was dropped while an answer was in flight, which no cache keeps', async () => {
    const main = on({});
    onAnswer = () => authenticators.drop(() => true);
    await show(main);
    expect(kept.size).toBe(0);
    onAnswer = () => {};
    await show(main);
    await show(main);
    expect(asked).toHaveLength(2);
  });

  test('is dropped where its server has no introspection', async () => {
    const main = configured([clientOf('a', { introspection: undefined })]);
    await show(main, await sign({ aud: 'r' }));
    authenticators.drop(() => true);
    expect(deleted).toEqual([]);
  });

  test('needs neither a shared store nor an observer', async () => {
    authenticators = await prepared(() => {}, Date.now);
    const main = on({});
    await show(main);
    authenticators.drop(() => true);
    await show(main);
    isActive = false;
    authenticators.revoke('a', key);
    await expect(show(main)).rejects.toMatchObject(inactive);
  });
});
