import { afterEach, beforeEach, expect, test } from 'vitest';
import { createJwtVerifier, type JwtVerifier } from '../../src/authenticate/jwt.ts';
import { createKeySource } from '../../src/authenticate/keys.ts';
import { createServerClient } from '../../src/authenticate/server-client.ts';
import type { AuthorizationServerClient } from '../../src/model/authorization-server.ts';
import { createKey, startIssuer, type Issuer } from '../support/issuer.ts';
import { serverOf } from '../support/server.ts';

const start = Date.now();
let now: number;
const clock = (): number => now;
let issuer: Issuer;
let client: AuthorizationServerClient;
let verify: JwtVerifier;

beforeEach(async () => {
  now = start;
  issuer = await startIssuer();
  client = createServerClient(serverOf(issuer), () => {}, clock);
  // Times of tokens are real; only the age of keys is under test.
  verify = createJwtVerifier(serverOf(issuer), createKeySource(client, clock), new Map(), Date.now);
});
afterEach(async () => {
  client.close();
  await issuer.close();
});

const fetches = (): number => issuer.requests.filter(({ path }) => path === '/jwks').length;

test('a thousand unknown kids fetch the keys once a window', async () => {
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
  const next = await createKey('k2');
  issuer.keys = [next.publicJwk];
  now += 6_000;
  await expect(verify(await issuer.sign({}, { key: next }))).resolves.toBeDefined();
  await expect(verify(await issuer.sign({}))).rejects.toMatchObject({ reason: 'token.key' });
});

test('known keys go on working while the server is away; unknown ones get no verdict', async () => {
  await verify(await issuer.sign({}));
  issuer.intercept = (_request, response) => {
    response.writeHead(500).end();
    return true;
  };
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
  ['too much', `{"keys":[],"x":"${'x'.repeat(600 * 1024)}"}`, 200],
  ['a redirect', '', 302],
])('an answer with %s is no answer', async (_, text, status) => {
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
