import { afterEach, beforeEach, expect, test } from 'vitest';
import { createJwtVerifier, type JwtVerifier } from '../../../src/pipeline/authenticate/jwt.ts';
import { KeySource } from '../../../src/pipeline/authenticate/keys.ts';
import { createServerClient } from '../../../src/authorization-server/client.ts';
import type { AuthorizationServerClient } from '../../../src/model/authorization-server.ts';
import { createKey, startIssuer, type Issuer } from '../../support/issuer.ts';
import { serverOf } from '../../support/server.ts';

const start = Date.now();
let now: number;
const clock = (): number => now;
// Made once for all tests: it takes long.
const k1 = await createKey('k1');
let issuer: Issuer;
let client: AuthorizationServerClient;
let verify: JwtVerifier;

beforeEach(async () => {
  now = start;
  issuer = await startIssuer(0, k1);
  const server = serverOf(issuer, { staleMs: 24 * 3_600_000 });
  client = createServerClient(server, () => {}, clock);
  // Time is spread by half of what it may be. Times of tokens are real; only the age of keys is under test.
  verify = createJwtVerifier(server, new KeySource(client, clock, () => 0.5).find, new Map(), Date.now);
});
afterEach(async () => {
  client.close();
  await issuer.close();
});

/** Publishes keys with a head that says how long they are good. */
function publishWith(cacheControl: string): void {
  issuer.intercept = (request, response) => {
    if (request.url !== '/jwks') return false;
    response.writeHead(200, { 'cache-control': cacheControl }).end(JSON.stringify({ keys: issuer.keys }));
    return true;
  };
}

const fetches = (): number => issuer.requests.filter(({ path }) => path === '/jwks').length;

// key-ages.test.ts and key-set.test.ts have when keys are fetched, and how long they are good.
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

test.each([
  ['max-age=120', 1.5, 2.5],
  ['max-age=0', 0.8, 1.1],
  ['no-store', 0.8, 1.1],
  ['max-age=1800', 20, 31],
  ['max-age=31536000', 50, 61],
  ['public', 4, 6],
])('keys are refreshed as `Cache-Control: %s` says, within a minute and an hour', async (cacheControl, young, old) => {
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
test('one request waits for the timeout of an unavailable server, and the next requests do not wait', async () => {
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
