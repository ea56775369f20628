import { expect, test } from 'vitest';
import { createKey } from '../support/issuer.ts';
import { startWorld } from '../worlds/gateway.ts';
import { startBeforeAll } from '../support/start-before.ts';

/** A server that accepts what RFC 9068 defines and nothing else. */
const world = startBeforeAll(() =>
  startWorld({
    server: 'jwt: { algorithms: [RS256, ES256], types: [at+jwt] }',
    routes: [
      'name: api, path: /, audience: [a, b], upstream: { url: "UPSTREAM", identity: { x-sub: sub, x-client: client_id } }',
    ],
  }),
);

async function statusFor(claims: Record<string, unknown>, header: Record<string, unknown> = {}): Promise<number> {
  return (await world.send('/', { token: await world.issuer.sign({ aud: 'a', ...claims }, { header }) })).status;
}

// test/tokens/jwt.test.ts and jwt-form.test.ts have the tables of tokens.
test('R-46, RFC 9068 §4: accepts only the configured types', async () => {
  expect([await statusFor({}, { typ: 'at+jwt' }), await statusFor({}, { typ: 'JWT' })]).toEqual([200, 401]);
});

test('R-40, RFC 9068 §4: accepts only an iss that matches the issuer exactly', async () => {
  expect(await statusFor({ iss: world.issuer.url })).toBe(200);
  expect(await statusFor({ iss: `${world.issuer.url}/` })).toBe(401);
});

test('R-42, RFC 9068 §4: accepts a token whose aud contains an audience of the route', async () => {
  const statuses = [['x', 'b'], ['x'], []].map((aud) => statusFor({ aud }));
  expect(await Promise.all(statuses)).toEqual([200, 401, 401]);
});

test('R-43, RFC 9068 §4: refuses alg none', async () => {
  const [, claims] = (await world.issuer.sign({ aud: 'a' })).split('.');
  const header = Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url');
  expect(await world.send('/', { token: `${header}.${claims}.` })).toMatchObject({ status: 401 });
});

test('R-44, RFC 9068 §4: verifies with the keys that the server publishes now', async () => {
  const next = await createKey('k2', 'ES256');
  const token = await world.issuer.sign({ aud: 'a' }, { key: next });
  expect(await world.send('/', { token })).toMatchObject({ status: 401 });
  world.issuer.keys = [...world.issuer.keys, next.publicJwk];
  world.advance(6);
  expect(
    await world.send('/', { token: await world.issuer.sign({ aud: 'a', jti: 'x' }, { key: next }) }),
  ).toMatchObject({ status: 200 });
});

test('R-45, RFC 9068 §4: refuses a token past its exp', async () => {
  const now = Math.floor(Date.now() / 1000);
  const own = 12 + 30;
  expect(await statusFor({ exp: now + own })).toBe(200);
  expect(await statusFor({ exp: now - 10 })).toBe(401);
});

test('R-47, RFC 9068 §2.2: takes sub and client_id for the caller', async () => {
  expect(await statusFor({ sub: 'alice', client_id: 'web' })).toBe(200);
  expect(world.upstream.seen.at(-1)?.headers).toMatchObject({ 'x-sub': 'alice', 'x-client': 'web' });
});
