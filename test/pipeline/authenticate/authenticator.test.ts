import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createAuthenticators, type Authenticators } from '../../../src/pipeline/authenticate/authenticator.ts';
import { createServerClient } from '../../../src/authorization-server/client.ts';
import { unlimitedFailures } from '../../../src/pipeline/limit/failures.ts';
import type { AuthorizationServer, AuthorizationServerClient } from '../../../src/model/authorization-server.ts';
import type { Call } from '../../../src/model/call.ts';
import type { TokenForm } from '../../../src/model/principal.ts';
import type { Route } from '../../../src/model/route.ts';
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
let authenticators: ReturnType<Authenticators>;

beforeEach(async () => {
  now = Date.now();
  lookups = [];
  [one, two] = await Promise.all([startIssuer(0, k1), startIssuer(0, k2)]);
  clients = new Map();
  use(serverOf(one, { name: 'one' }), serverOf(two, { name: 'two' }));
});
afterEach(async () => {
  for (const client of clients.values()) client.close();
  await Promise.all([one.close(), two.close()]);
});

function use(...servers: readonly AuthorizationServer[]): void {
  for (const client of clients.values()) client.close();
  clients = new Map(servers.map((server) => [server.name, createServerClient(server, () => {}, clock)]));
  authenticators = createAuthenticators((_kind, result) => lookups.push(result), clock)(
    clients,
    new Map(),
    unlimitedFailures,
  );
}

function route(servers: readonly string[], audience: string, tokens: readonly TokenForm[] = ['jwt', 'opaque']): Route {
  const authorizationServers = servers.map((name) => clients.get(name)?.server);
  return { authorizationServers, audiences: [audience], tokens: new Set(tokens) } as unknown as Route;
}

const at = (of: Route) => {
  const authentication = authenticators(of, (principal) => principal);
  return async (token: string) => authentication.authenticate(bearer(token), {} as Call);
};
const active = (otherwise: object = {}): object => ({ active: true, sub: 'alice', aud: 'r', ...otherwise });
const asked = (issuer: Issuer): number => issuer.requestsTo('/introspect').length;

describe('the choice of the server', () => {
  test('verifies a JWT with the keys of its issuer, and only if the route trusts it', async () => {
    const token = await two.sign({ aud: 'r' });
    await expect(at(route(['one', 'two'], 'r'))(token)).resolves.toMatchObject({ issuer: two.url });
    await expect(at(route(['one'], 'r'))(token)).rejects.toMatchObject({ reason: 'token.issuer' });
  });

  test('refuses a JWT of another issuer with the same key', async () => {
    const token = await one.sign({ aud: 'r', iss: two.url });
    await expect(at(route(['one', 'two'], 'r'))(token)).rejects.toMatchObject({ reason: 'token.signature' });
  });

  test('introspects an opaque token in the configured order, at trusted servers only', async () => {
    two.introspection.set('t', active());
    await expect(at(route(['one', 'two'], 'r'))('t')).resolves.toMatchObject({ issuer: two.url });
    expect([asked(one), asked(two)]).toEqual([1, 1]);
    await expect(at(route(['one'], 'r'))('t')).rejects.toMatchObject({ reason: 'token.inactive' });
    expect(asked(two)).toBe(1);
  });

  test('keeps the same string at two issuers apart', async () => {
    one.introspection.set('t', active({ sub: 'alice' }));
    two.introspection.set('t', active({ sub: 'bob' }));
    await expect(at(route(['one'], 'r'))('t')).resolves.toMatchObject({ subject: 'alice' });
    await expect(at(route(['two'], 'r'))('t')).resolves.toMatchObject({ subject: 'bob' });
  });

  test('accepts "active" but not "inactive" from the others while one server is unavailable', async () => {
    const port = Number(new URL(one.url).port);
    await one.close();
    two.introspection.set('t', active());
    const both = at(route(['one', 'two'], 'r'));
    await expect(both('t')).resolves.toMatchObject({ issuer: two.url });
    await expect(both('u')).rejects.toMatchObject({ reason: 'authorization_server.unavailable' });
    one = await startIssuer(port, k1);
  });

  test('introspects a JWT whose issuer has no jwt section', async () => {
    use(serverOf(one, { name: 'one', jwt: undefined }));
    const token = await one.sign({ aud: 'r' });
    one.introspection.set(token, active());
    await expect(at(route(['one'], 'r'))(token)).resolves.toMatchObject({ form: 'opaque' });
  });
});

describe('forms', () => {
  test('accepts only the configured forms', async () => {
    one.introspection.set('t', active());
    await expect(at(route(['one'], 'r', ['jwt']))('t')).rejects.toMatchObject({ reason: 'token.form' });
    const token = await one.sign({ aud: 'r' });
    await expect(at(route(['one'], 'r', ['opaque']))(token)).rejects.toMatchObject({ reason: 'token.form' });
  });
});

describe('the cache', () => {
  test('makes one call for a thousand simultaneous first requests', async () => {
    one.introspection.set('t', active());
    const authenticate = at(route(['one'], 'r'));
    await Promise.all(Array.from({ length: 1000 }, () => authenticate('t')));
    expect(asked(one)).toBe(1);
  });

  test('reuses an answer up to `cache`, synchronously', async () => {
    one.introspection.set('t', active());
    const authentication = authenticators(route(['one'], 'r'), (principal) => principal);
    const authenticate = (token: string) => authentication.authenticate(bearer(token), {} as Call);
    await authenticate('t');
    expect(authenticate('t')).toMatchObject({ subject: 'alice' });
    now += 29_999;
    expect(authenticate('t')).toMatchObject({ subject: 'alice' });
    now += 1;
    one.introspection.delete('t');
    await expect(authenticate('t')).rejects.toMatchObject({ reason: 'token.inactive' });
    expect(lookups).toEqual(['miss', 'hit', 'hit', 'miss']);
  });

  test('never reuses an answer past exp', async () => {
    one.introspection.set('t', active({ exp: Math.floor(now / 1000) + 10 }));
    const authenticate = at(route(['one'], 'r'));
    await authenticate('t');
    now += 16_000;
    await expect(authenticate('t')).rejects.toMatchObject({ reason: 'token.expired' });
    const jwt = await one.sign({ aud: 'r', exp: Math.floor(now / 1000) + 10 });
    await authenticate(jwt);
    now += 16_000;
    await expect(authenticate(jwt)).rejects.toMatchObject({ reason: 'token.expired' });
  });

  test('asks at every call with cache: 0s', async () => {
    const base = serverOf(one, { name: 'one' });
    use({ ...base, introspection: base.introspection && { ...base.introspection, cacheMs: 0 } });
    one.introspection.set('t', active());
    const authenticate = at(route(['one'], 'r'));
    await authenticate('t');
    await authenticate('t');
    expect(asked(one)).toBe(2);
  });

  test('evicts a revoked token from the caches of all routes', async () => {
    use(serverOf(one, { name: 'one' }), serverOf(two, { name: 'two' }));
    one.introspection.set('t', active());
    const elsewhere = [route(['one'], 'r'), route(['one'], 'r', ['opaque']), route(['one', 'two'], 'r')];
    for (const each of elsewhere) await at(each)('t');
    one.introspection.delete('t');
    const own = authenticators(route(['one'], 'r'), (principal) => principal);
    await expect(own.revalidate(bearer('t'))).rejects.toMatchObject({ reason: 'token.inactive' });
    for (const each of elsewhere) await expect(at(each)('t')).rejects.toMatchObject({ reason: 'token.inactive' });

    one.introspection.set('u', active());
    await at(route(['one'], 'r'))('u');
    one.introspection.delete('u');
    await expect(at(route(['two', 'one'], 'r'))('u')).rejects.toMatchObject({ reason: 'token.inactive' });
    await expect(at(route(['one'], 'r'))('u')).rejects.toMatchObject({ reason: 'token.inactive' });
  });

  test('keeps cached tokens while the server is unavailable', async () => {
    one.introspection.set('t', active());
    await at(route(['one'], 'r'))('t');
    one.intercept = (_request, response) => response.writeHead(503).end() !== undefined;
    await expect(at(route(['one'], 'r', ['opaque']))('t')).rejects.toMatchObject({
      reason: 'authorization_server.unavailable',
    });
    await expect(at(route(['one'], 'r'))('t')).resolves.toMatchObject({ subject: 'alice' });
  });

  test('checks the audience at each use, so that a token of one route opens no other', async () => {
    one.introspection.set('t', active({ aud: 'mcp' }));
    await at(route(['one'], 'mcp'))('t');
    await expect(at(route(['one'], 'api'))('t')).rejects.toMatchObject({ reason: 'token.audience' });
    expect(lookups).toEqual(['miss', 'hit']);
  });
});

describe('RFC 8707 §2 — the audience', () => {
  test.each([['rr'], ['r/'], ['R'], [['x', 'y']], [[]], [undefined]])('aud %j does not name r', async (aud) => {
    await expect(at(route(['one'], 'r'))(await one.sign({ aud }))).rejects.toMatchObject({ reason: 'token.audience' });
  });

  test('accepts an introspection answer without aud only if the configuration allows it', async () => {
    const base = serverOf(one, { name: 'one' });
    one.introspection.set('t', { active: true });
    await expect(at(route(['one'], 'r'))('t')).rejects.toMatchObject({ reason: 'token.audience' });
    use({ ...base, introspection: base.introspection && { ...base.introspection, audience: 'optional' } });
    await expect(at(route(['one'], 'r'))('t')).resolves.toBeDefined();
    await expect(at(route(['one'], 'r'))(await one.sign({}))).rejects.toMatchObject({ reason: 'token.audience' });
  });
});
