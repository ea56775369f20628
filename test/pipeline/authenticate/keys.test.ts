import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createJwtVerifier, type JwtVerifier } from '../../../src/pipeline/authenticate/jwt.ts';
import { KeySource } from '../../../src/pipeline/authenticate/keys.ts';
import { createServerClient } from '../../../src/authorization-server/client.ts';
import type { AuthorizationServerClient } from '../../../src/model/authorization-server.ts';
import { createKey, startIssuer, type Issuer } from '../../support/issuer.ts';
import { serverOf } from '../../support/server.ts';

const start = Date.now();
let now: number;
const clock = (): number => now;
// Made once for all tests: RSA keys take long.
const [k1, next] = await Promise.all([createKey('k1'), createKey('k2')]);
let issuer: Issuer;
let client: AuthorizationServerClient;
let keys: KeySource;
let verify: JwtVerifier;

beforeEach(async () => {
  now = start;
  issuer = await startIssuer(0, k1);
  use(24 * 3_600_000);
});
afterEach(async () => {
  client.close();
  await issuer.close();
});

/** Time is spread by half of what it may be. */
function use(staleMs: number): void {
  client?.close();
  const server = serverOf(issuer, { staleMs });
  client = createServerClient(server, () => {}, clock);
  keys = new KeySource(client, clock, () => 0.5);
  // Times of tokens are real; only the age of keys is under test.
  verify = createJwtVerifier(server, keys.find, new Map(), Date.now);
}

/** Publishes keys with a head that says how long they are good. */
function publishWith(cacheControl: string): void {
  issuer.intercept = (request, response) => {
    if (request.url !== '/jwks') return false;
    response.writeHead(200, { 'cache-control': cacheControl }).end(JSON.stringify({ keys: issuer.keys }));
    return true;
  };
}

function goAway(): void {
  issuer.intercept = (_request, response) => {
    response.writeHead(500).end();
    return true;
  };
}

const fetches = (): number => issuer.requests.filter(({ path }) => path === '/jwks').length;

test('a thousand tokens with an unknown kid fetch the keys once in each window', async () => {
  await verify(await issuer.sign({}));
  now += 6_000;
  const token = await issuer.sign({}, { header: { kid: 'unknown' } });
  const attempts = Array.from({ length: 1000 }, () => verify(token).catch((error: unknown) => error));
  for (const error of await Promise.all(attempts)) expect(error).toMatchObject({ reason: 'token.key' });
  expect(fetches()).toBe(2);
  await expect(verify(token)).rejects.toMatchObject({ reason: 'token.key' });
  expect(fetches()).toBe(2);
});

test('a rotated key is found by its kid', async () => {
  await verify(await issuer.sign({}));
  issuer.keys = [next.publicJwk];
  now += 6_000;
  await expect(verify(await issuer.sign({}, { key: next }))).resolves.toBeDefined();
  await expect(verify(await issuer.sign({}))).rejects.toMatchObject({ reason: 'token.key' });
});

test('known keys stay usable while the server is unavailable; an unknown kid is an outage', async () => {
  await verify(await issuer.sign({}));
  goAway();
  now += 60 * 60_000;
  await expect(verify(await issuer.sign({}))).resolves.toBeDefined();
  const unknown = await issuer.sign({}, { header: { kid: 'unknown' } });
  await expect(verify(unknown)).rejects.toMatchObject({ reason: 'authorization_server.unavailable' });
  issuer.intercept = undefined;
  now += 6_000;
  await expect(verify(unknown)).rejects.toMatchObject({ reason: 'token.key' });
});

test.each([
  ['garbage', '<html>', 200],
  ['no keys', '{}', 200],
  ['a body that is too large', `{"keys":[],"x":"${'x'.repeat(600 * 1024)}"}`, 200],
  ['a redirect', '', 302],
])('a key set counts as an outage with %s', async (_, text, status) => {
  issuer.intercept = (request, response) => {
    if (request.url !== '/jwks') return false;
    response.writeHead(status, { location: `${issuer.url}/elsewhere` }).end(text);
    return true;
  };
  await expect(verify(await issuer.sign({}))).rejects.toMatchObject({ reason: 'authorization_server.unavailable' });
  expect(issuer.requests.map(({ path }) => path)).not.toContain('/elsewhere');
});

test('an endless answer is cut off', async () => {
  issuer.intercept = (request, response) => {
    if (request.url !== '/jwks') return false;
    response.writeHead(200);
    const more = (): void => {
      while (!response.closed && response.write('x'.repeat(64 * 1024)));
    };
    response.on('drain', more).on('error', () => {});
    more();
    return true;
  };
  await expect(verify(await issuer.sign({}))).rejects.toMatchObject({ reason: 'authorization_server.unavailable' });
});

test('a private key that was published by mistake never verifies', async () => {
  const { exportJWK } = await import('jose');
  issuer.keys = [{ ...(await exportJWK(issuer.key.privateKey)), kid: 'k1', alg: 'RS256' }];
  await expect(verify(await issuer.sign({}))).rejects.toBeDefined();
});

const minutes = (count: number): number => count * 60_000;

describe('keys are refreshed', () => {
  test('in the background of a request, before they are stale', async () => {
    const token = await issuer.sign({});
    await verify(token);
    now += minutes(4.4);
    await verify(token);
    expect(fetches()).toBe(1);
    now += minutes(0.2);
    await verify(token);
    await expect.poll(fetches).toBe(2);
    now += minutes(4.4);
    await verify(token);
    expect(fetches(), 'they are fresh again').toBe(2);
  });

  test('before a request that finds them stale: a withdrawn key is refused', async () => {
    const token = await issuer.sign({});
    await verify(token);
    issuer.keys = [next.publicJwk];
    now += minutes(6);
    await expect(verify(token)).rejects.toMatchObject({ reason: 'token.key' });
  });

  test.each([
    ['max-age=120', 1.5, 2.5],
    ['max-age=0', 0.8, 1.1],
    ['no-store', 0.8, 1.1],
    ['max-age=1800', 20, 31],
    ['max-age=31536000', 50, 61],
    ['public', 4, 6],
  ])('as `Cache-Control: %s` says, within a minute and an hour', async (cacheControl, young, old) => {
    publishWith(cacheControl);
    const token = await issuer.sign({});
    await verify(token);
    now += minutes(young);
    await verify(token);
    expect(fetches()).toBe(1);
    now += minutes(old - young);
    await verify(token);
    expect(fetches()).toBe(2);
  });
});

describe('while the server is unavailable', () => {
  test.each([
    [24, 24 * 60],
    [1, 60],
    // No shorter than they are fresh.
    [0, 5],
  ])('keys stay usable for stale: %ih and no longer', async (hours, until) => {
    use(hours * 3_600_000);
    const token = await issuer.sign({});
    await verify(token);
    goAway();
    now += minutes(until) - 1000;
    await expect(verify(token)).resolves.toBeDefined();
    expect(keys.holds(keys.generation)).toBe(true);
    now += 2000;
    expect(keys.holds(keys.generation)).toBe(false);
    await expect(verify(token)).rejects.toMatchObject({ reason: 'authorization_server.unavailable' });
    issuer.intercept = undefined;
    now += 61_000;
    await expect(verify(token)).resolves.toBeDefined();
  });

  test('one request waits for the timeout, and the next requests do not wait', async () => {
    const token = await issuer.sign({});
    await verify(token);
    issuer.intercept = () => true;
    now += minutes(10);
    const began = performance.now();
    await verify(token);
    expect(performance.now() - began, 'the timeout').toBeGreaterThan(900);
    const later = performance.now();
    now += 6_000;
    await Promise.all(Array.from({ length: 100 }, () => verify(token)));
    expect(performance.now() - later).toBeLessThan(900);
  });

  test.each([
    ['garbage', '<html>', 200],
    ['an object without keys', '{}', 200],
    ['a list', '[]', 200],
    ['a key that is not an object', '{"keys":[1]}', 200],
    ['a set with the status 404', '{"keys":[]}', 404],
  ])('%s never replaces the keys', async (_, text, status) => {
    const token = await issuer.sign({});
    await verify(token);
    issuer.intercept = (request, response) => {
      if (request.url !== '/jwks') return false;
      response.writeHead(status).end(text);
      return true;
    };
    for (const count of [1, 2, 3]) {
      now += minutes(10 * count);
      await expect(verify(token)).resolves.toBeDefined();
    }
  });
});

test('an empty set withdraws the only key', async () => {
  const token = await issuer.sign({});
  await verify(token);
  issuer.keys = [];
  now += minutes(6);
  await expect(verify(token)).rejects.toMatchObject({ reason: 'token.key' });
});

test('a verification stays valid until a key is withdrawn, also if keys are added', async () => {
  await verify(await issuer.sign({}));
  expect(keys.holds(0)).toBe(true);
  issuer.keys = [next.publicJwk, Object.fromEntries(Object.entries(issuer.key.publicJwk).toReversed())];
  now += 6_000;
  await verify(await issuer.sign({}, { key: next }));
  expect([keys.generation, keys.holds(0)]).toEqual([0, true]);
  issuer.keys = [next.publicJwk];
  now += 6_000;
  await verify(await issuer.sign({}, { header: { kid: 'unknown' } })).catch(() => {});
  expect([keys.generation, keys.holds(0)]).toEqual([1, false]);
  issuer.keys = [{ ...next.publicJwk, alg: 'PS256' }];
  now += 6_000;
  await verify(await issuer.sign({}, { header: { kid: 'unknown' } })).catch(() => {});
  expect(keys.generation, 'the same name, another key').toBe(2);
});

test('a verification is valid only while the keys are fresh, and its use refreshes them', async () => {
  await verify(await issuer.sign({}));
  now += minutes(4.6);
  expect(keys.holds(0)).toBe(true);
  await expect.poll(fetches).toBe(2);
  now += minutes(5.1);
  expect(keys.holds(0)).toBe(false);
});
