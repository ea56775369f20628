import { afterAll, beforeAll, expect, test } from 'vitest';
import { startWireWorld, toolCall, type WireWorld } from './wire-world.ts';

let world: WireWorld;
beforeAll(async () => {
  world = await startWireWorld();
});
afterAll(() => world.close());

function withAuthorization(value: string): Promise<{ status: number; challenge: string | null }> {
  return world.send('/plain', { headers: { authorization: value } });
}

test.for(['Bearer', 'bearer', 'BEARER', 'Bearer ', 'Bearer   '])(
  'RFC 6750 §2.1 — the token after "%s": the scheme ignores case, RFC 9110 §11.1',
  async (scheme) => {
    const value = `${scheme.trimEnd()}${scheme.replace(/^\w+/, '') || ' '}${await world.token()}`;
    expect(await withAuthorization(value)).toMatchObject({ status: 200 });
  },
);

test.for([
  'Bearer',
  'Bearer a b',
  'Bearer a,b',
  'Bearer "a"',
  'Bearer a=b',
  'Bearer =',
  'Bearer\ta',
  'Bearer ä',
  'Bearera',
])('RFC 6750 §2.1 — "%s" is not of the form Bearer b64token', async (value) => {
  expect(await withAuthorization(value)).toMatchObject({ status: 401 });
});

test('RFC 6750 §2 — no more than one method to transmit the token in each request', async () => {
  const token = await world.token();
  expect(await world.send(`/plain?access_token=${token}`, { token })).toMatchObject({ status: 400 });
});

test('RFC 6750 §2.2, RFC 6750 §2.3 — in a form or the query it is not looked at, and one that is there is none', async () => {
  const token = await world.token();
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const noToken = { status: 401, challenge: 'Bearer' };
  expect(await world.send('/plain', { method: 'POST', headers, body: `access_token=${token}` })).toMatchObject(noToken);
  expect(await world.send(`/plain?access_token=${token}`)).toMatchObject(noToken);
});

test('RFC 6750 §3.1 — invalid_request: 400', async () => {
  const token = await world.token();
  const raw = await world.sendRaw(
    'GET /plain HTTP/1.1',
    'Host: gateway.test',
    `Authorization: Bearer ${token}`,
    'Authorization: Basic eA==',
  );
  expect(raw).toMatch(/^HTTP\/1\.1 400 /);
});

test.for(['expired', 'malformed', 'revoked'])('RFC 6750 §3.1 — invalid_token: 401 for one that is %s', async (kind) => {
  const token =
    kind === 'expired' ? await world.token({ exp: 1 }) : kind === 'malformed' ? '.' : world.opaque({ active: false });
  expect(await world.send('/plain', { token })).toMatchObject({
    status: 401,
    challenge: 'Bearer error="invalid_token"',
  });
});

test('RFC 6750 §3.1 — insufficient_scope: 403 with the scope that is needed', async () => {
  expect(await world.send('/plain', { token: await world.token({ scope: '' }) })).toMatchObject({
    status: 403,
    challenge: 'Bearer error="insufficient_scope", scope="read"',
  });
});

test('RFC 6750 §3.1 — without any authentication information no error code', async () => {
  expect(await world.send('/plain')).toMatchObject({ status: 401, challenge: 'Bearer' });
});

test.for(['Basic YWxpY2U6c2VjcmV0', 'Digest username="alice"', 'DPoP abc'])(
  'RFC 6750 §3.1 — nor with an authentication method that is not supported: %s',
  async (value) => {
    expect(await withAuthorization(value)).toMatchObject({ status: 401, challenge: 'Bearer' });
  },
);

test('RFC 6750 §3 — every 401 has a challenge with the scheme Bearer, at most one error and one scope', async () => {
  const answers = [
    await world.send('/plain'),
    await world.send('/api', { token: 'x' }),
    await world.post('/mcp', undefined, toolCall('pay')),
    await world.post('/mcp', await world.token(), toolCall('pay')),
  ];
  for (const { challenge } of answers) {
    expect(challenge).toMatch(/^Bearer/);
    for (const name of ['error', 'scope']) expect((challenge ?? '').split(`${name}="`).length).toBeLessThanOrEqual(2);
  }
});
