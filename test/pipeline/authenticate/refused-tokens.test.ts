import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createAuthenticators, type Authentication } from '../../../src/pipeline/authenticate/authenticator.ts';
import { createServerClient } from '../../../src/authorization-server/client.ts';
import type {
  AuthorizationServer,
  AuthorizationServerClient,
  Introspection,
  ServerAnswer,
} from '../../../src/model/authorization-server.ts';
import { createFailures, unlimitedFailures } from '../../../src/pipeline/limit/failures.ts';
import type { Call } from '../../../src/model/call.ts';
import type { Failures } from '../../../src/model/limits.ts';
import type { Principal } from '../../../src/model/principal.ts';
import type { Route } from '../../../src/model/route.ts';
import { createRateLimiters } from '../../../src/store/rate.ts';
import { bearer } from '../../support/bearer.ts';
import { createKey, startIssuer, type Issuer } from '../../support/issuer.ts';
import { serverOf } from '../../support/server.ts';

let now: number;
const clock = (): number => now;
// Made once for all tests: RSA keys take long.
const [k1, k2] = await Promise.all([createKey('k1'), createKey('k1')]);
let one: Issuer;
let two: Issuer;
let clients: Map<string, AuthorizationServerClient>;
let lookups: string[];
let authentication: Authentication;

beforeEach(async () => {
  now = Date.now();
  lookups = [];
  [one, two] = await Promise.all([startIssuer(0, k1), startIssuer(0, k2)]);
  clients = new Map();
  use(serverOf(one, { name: 'one' }));
});
afterEach(async () => {
  for (const client of clients.values()) client.close();
  await Promise.all([one.close(), two.close()]);
});

/** Trusts `servers` from now on. */
function use(...servers: readonly AuthorizationServer[]): void {
  useWith(unlimitedFailures, ...servers);
}

function useWith(failures: Failures, ...servers: readonly AuthorizationServer[]): void {
  for (const client of clients.values()) client.close();
  clients = new Map(servers.map((server) => [server.name, createServerClient(server, () => {}, clock)]));
  const route = { authorizationServers: servers, audiences: ['r'], tokens: new Set(['jwt', 'opaque']) };
  const authenticators = createAuthenticators((_kind, result) => lookups.push(result), clock);
  authentication = authenticators(clients, new Map(), failures)(route as unknown as Route, (principal) => principal);
}

function caching(issuer: Issuer, name: string, cacheMs: number): AuthorizationServer {
  const base = serverOf(issuer, { name });
  return { ...base, introspection: { ...base.introspection, cacheMs } as Introspection };
}

async function authenticate(token: string): Promise<Principal> {
  return authentication.authenticate(bearer(token), { client: '192.0.2.1' } as Call);
}

const inactive = { reason: 'token.inactive' };
const active = (otherwise: object = {}): object => ({ active: true, sub: 'alice', aud: 'r', ...otherwise });
const asked = (issuer: Issuer): number => issuer.requestsTo('/introspect').length;

describe('a token that was refused', () => {
  test('is refused from the cache for five seconds', async () => {
    await expect(authenticate('t')).rejects.toMatchObject(inactive);
    expect(() => authentication.authenticate(bearer('t'), {} as Call)).toThrow('token.inactive');
    now += 4_999;
    await expect(authenticate('t')).rejects.toMatchObject(inactive);
    expect(asked(one)).toBe(1);
    now += 1;
    one.introspection.set('t', active());
    await expect(authenticate('t')).resolves.toMatchObject({ subject: 'alice' });
    expect(lookups).toEqual(['miss', 'negative', 'negative', 'miss']);
  });

  test.each([
    ['token.expired', { exp: 1 }],
    ['token.issuer', { iss: 'https://x.example' }],
    ['token.type', { token_type: 'refresh_token' }],
    ['token.claims', { sub: 5 }],
    ['token.audience', { aud: undefined }],
  ])('for whatever the answer said of it: %s', async (reason, change) => {
    one.introspection.set('t', active(change));
    const first = await authenticate('t').catch((error: unknown) => error);
    const second = await authenticate('t').catch((error: unknown) => error);
    expect(second).toMatchObject({ reason, detail: (first as { detail: string }).detail });
    expect(asked(one)).toBe(1);
  });

  test('makes one call for a thousand parallel requests, and none for a thousand more', async () => {
    for (const _ of [1, 2]) {
      const outcomes = await Promise.allSettled(Array.from({ length: 1000 }, () => authenticate('t')));
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toEqual([]);
    }
    expect(asked(one)).toBe(1);
  });

  test('makes no call for requests that waited for the semaphore', async () => {
    const limiters = createRateLimiters(clock);
    const failures = createFailures({ requests: 5, perMs: 60_000, burst: 5 }, { limiters, clock, warnOfProxy() {} });
    useWith(failures, serverOf(one, { name: 'one' }));
    one.introspection.set('good', active());
    await Promise.all(Array.from({ length: 1000 }, () => authenticate('good')));
    expect(asked(one)).toBe(1);
    const outcomes = await Promise.allSettled(Array.from({ length: 1000 }, () => authenticate('t')));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toEqual([]);
    expect(asked(one)).toBe(2);
  });

  test('is cached no longer than a valid token', async () => {
    use(caching(one, 'one', 2_000));
    await expect(authenticate('t')).rejects.toMatchObject(inactive);
    now += 2_000;
    await expect(authenticate('t')).rejects.toMatchObject(inactive);
    expect(asked(one)).toBe(2);
  });

  test('is not cached with cache: 0s', async () => {
    use(caching(one, 'one', 0));
    await expect(authenticate('t')).rejects.toMatchObject(inactive);
    one.introspection.set('t', active());
    await expect(authenticate('t')).resolves.toBeDefined();
  });

  test('is not cached if one of the servers asked has cache: 0s', async () => {
    use(caching(one, 'one', 30_000), caching(two, 'two', 0));
    await expect(authenticate('t')).rejects.toMatchObject(inactive);
    two.introspection.set('t', active());
    await expect(authenticate('t')).resolves.toMatchObject({ issuer: two.url });
  });

  test('is not cached while the server is unavailable', async () => {
    one.intercept = (request, response) => {
      if (request.url !== '/introspect') return false;
      response.writeHead(400).end();
      return true;
    };
    await expect(authenticate('t')).rejects.toMatchObject({ reason: 'authorization_server.unavailable' });
    one.intercept = undefined;
    one.introspection.set('t', active());
    await expect(authenticate('t')).resolves.toBeDefined();
  });

  test('is not cached while one of several servers is unavailable', async () => {
    use(serverOf(one, { name: 'one' }), serverOf(two, { name: 'two' }));
    one.intercept = (request, response) => {
      if (request.url !== '/introspect') return false;
      response.writeHead(400).end();
      return true;
    };
    await expect(authenticate('t')).rejects.toMatchObject({ reason: 'authorization_server.unavailable' });
    one.intercept = undefined;
    one.introspection.set('t', active());
    await expect(authenticate('t')).resolves.toMatchObject({ issuer: one.url });
  });

  test('makes no call if it is a JWT with an invalid signature', async () => {
    const token = await one.sign({ aud: 'r', exp: 1 });
    for (const _ of [1, 2]) await expect(authenticate(token)).rejects.toMatchObject({ reason: 'token.expired' });
    expect(lookups).toEqual(['miss', 'miss']);
  });
});

describe('made-up tokens', () => {
  test('evict no valid token, and fill a cache of limited size', async () => {
    let calls = 0;
    // So many that no server needs to be asked them: the way to one, and what it says.
    const post = (_operation: unknown, _url: string, form: URLSearchParams): Promise<ServerAnswer> => {
      calls += 1;
      const body = form.get('token') === 'good' ? active() : { active: false };
      return Promise.resolve({ status: 200, mediaType: 'application/json', text: '', body } as ServerAnswer);
    };
    const server = serverOf(one, { name: 'one', jwt: undefined });
    use({ ...server, introspection: { ...server.introspection, endpoint: one.url } as Introspection });
    for (const client of clients.values()) Object.assign(client, { post });

    await authenticate('good');
    for (let i = 0; i < 20_001; i += 1) await authenticate(`junk-${i}`).catch(() => {});
    expect(calls).toBe(20_002);
    await authenticate('good');
    await expect(authenticate('junk-1')).rejects.toMatchObject(inactive);
    expect(calls).toBe(20_002);
    await expect(authenticate('junk-0')).rejects.toMatchObject(inactive);
    expect(calls).toBe(20_003);
  });
});

describe('revalidation', () => {
  test('introspects again, and its result replaces the cached refusal', async () => {
    await expect(authenticate('t')).rejects.toMatchObject(inactive);
    one.introspection.set('t', active());
    await expect(authentication.revalidate(bearer('t'))).resolves.toMatchObject({ subject: 'alice' });
    await expect(authenticate('t')).resolves.toMatchObject({ subject: 'alice' });
    one.introspection.delete('t');
    await expect(authentication.revalidate(bearer('t'))).rejects.toMatchObject(inactive);
    await expect(authenticate('t')).rejects.toMatchObject(inactive);
    expect(asked(one)).toBe(3);
    expect(lookups).toEqual(['miss', 'hit', 'negative']);
  });

  test('evicts a refusal even if the server is unavailable', async () => {
    await expect(authenticate('t')).rejects.toMatchObject(inactive);
    one.intercept = (request, response) => {
      if (request.url !== '/introspect') return false;
      response.writeHead(400).end();
      return true;
    };
    const away = { reason: 'authorization_server.unavailable' };
    await expect(authentication.revalidate(bearer('t'))).rejects.toMatchObject(away);
    await expect(authenticate('t')).rejects.toMatchObject(away);
  });
});
