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
