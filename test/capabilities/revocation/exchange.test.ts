import { beforeAll, expect, test } from 'vitest';
import { caep, risc } from '../../support/transmitter.ts';
import { startBeforeAll } from '../../support/start-before.ts';
import { startRevocationWorld } from '../../worlds/revocation.ts';

const world = startBeforeAll(startRevocationWorld);
let exchanges = 0;
beforeAll(() => {
  world.issuer.answerAt('/token', (_request, response) => {
    exchanges += 1;
    const type = 'urn:ietf:params:oauth:token-type:access_token';
    const token = { access_token: `of-${exchanges}`, token_type: 'Bearer', issued_token_type: type, expires_in: 600 };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(token));
  });
});

const now = (): number => Math.floor(Date.now() / 1000);
const call = async (token: string): Promise<[status: number, exchanges: number]> => [
  (await world.send('/exchanged', { token })).status,
  exchanges,
];

test.each([
  [`${caep}session-revoked`, {}],
  [`${caep}credential-change`, { credential_type: 'password', change_type: 'update' }],
])('R-317: after %s no exchanged token of the person is used again', async (uri, event) => {
  const sub = `of ${uri}`;
  const before = await world.token({ sub });
  const [, first] = await call(before);
  expect(await call(before)).toEqual([200, first]);
  expect((await world.event(uri, world.person(sub), event)).status).toBe(202);
  expect(await call(before)).toEqual([401, first]);
  const after = await world.token({ sub, iat: now() + 2 });
  expect(await call(after)).toEqual([200, first + 1]);
});

test.each([
  [`${risc}account-enabled`, {}],
  [`${caep}assurance-level-change`, { current_level: 'nist-aal2', change_direction: 'increase' }],
])('after %s the token stays good, and is exchanged anew', async (uri, event) => {
  const sub = `of ${uri}`;
  const [token, other] = await Promise.all([world.token({ sub }), world.token({ sub: 'another' })]);
  const [, first] = await call(token);
  const [, both] = await call(other);
  expect(both - first).toBeLessThan(2);
  expect((await world.event(uri, world.person(sub), event)).status).toBe(202);
  await expect.poll(() => call(token)).toEqual([200, both + 1]);
  expect(await call(other)).toEqual([200, both + 1]);
});
