import { expect, test } from 'vitest';
import { startWireWorld, toolCall } from '../worlds/wire.ts';
import { startBeforeAll } from '../support/start-before.ts';

const world = startBeforeAll(startWireWorld);

function withAuthorization(value: string): Promise<{ status: number; challenge: string | null }> {
  return world.send('/plain', { headers: { authorization: value } });
}

// test/pipeline/authenticate/credentials.test.ts has the table of values.
test.for([
  ['bearer', 200],
  ['Bearer  ', 200],
  ['Bearer a', 401],
  ['Basic', 401],
] as const)('R-29, RFC 6750 §2.1: answers a token after "%s" with %d', async ([scheme, status]) => {
  expect(await withAuthorization(`${scheme} ${await world.token()}`)).toMatchObject({ status });
});

test('R-30, RFC 6750 §2.2, RFC 6750 §2.3: ignores a token in a form or in the query', async () => {
  const token = await world.token();
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const noToken = { status: 401, challenge: 'Bearer' };
  expect(await world.send('/plain', { method: 'POST', headers, body: `access_token=${token}` })).toMatchObject(noToken);
  expect(await world.send(`/plain?access_token=${token}`)).toMatchObject(noToken);
});

test('R-31, RFC 6750 §3.1: answers two Authorization headers with 400', async () => {
  const token = await world.token();
  const raw = await world.sendRaw(
    'GET /plain HTTP/1.1',
    'Host: gateway.test',
    `Authorization: Bearer ${token}`,
    'Authorization: Basic eA==',
  );
  expect(raw).toMatch(/^HTTP\/1\.1 400 /);
});

test.for(['Basic YWxpY2U6c2VjcmV0', 'DPoP abc'])(
  'R-13, RFC 6750 §3.1: sends no error code for an unsupported scheme: %s',
  async (value) => {
    expect(await withAuthorization(value)).toMatchObject({ status: 401, challenge: 'Bearer' });
  },
);

test('R-21, R-22, RFC 6750 §3: challenges for Bearer with at most one error and one scope', async () => {
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
