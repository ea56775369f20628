import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startIssuer, type Issuer } from '../support/issuer.ts';
import { get } from './requests.ts';
import { type AttackWorld, AUDIENCE, startAttackWorld } from '../worlds/attacks.ts';

let world: AttackWorld;
let other: Issuer;
let passedMs: number;
const introspection = '{ client_id: gateway, client_secret: s3cr3t, cache: 10m }';

beforeEach(async () => {
  passedMs = 0;
  other = await startIssuer();
  world = await startAttackWorld({
    yaml: 'limits: { failures: off }',
    server: `introspection: ${introspection}`,
    servers: `other: { issuer: "${other.url}", introspection: ${introspection} }`,
    routes: [
      `name: one, path: /one, audience: "${AUDIENCE}", authorization_servers: [main], tokens: [opaque], upstream: { url: "UPSTREAM/one" }`,
      `name: two, path: /two, audience: "${AUDIENCE}", authorization_servers: [other], upstream: { url: "UPSTREAM/two" }`,
      `name: both, path: /both, audience: "${AUDIENCE}", authorization_servers: [main, other], opaque_tokens: shown_to_all, upstream: { url: "UPSTREAM/both", identity: { x-sub: sub } }`,
      `name: elsewhere, path: /elsewhere, audience: "https://b.example", authorization_servers: [main], upstream: { url: "UPSTREAM/elsewhere" }`,
    ],
    clock: () => Date.now() + passedMs,
  });
});
afterEach(async () => {
  await Promise.all([world.close(), other.close()]);
});

const active = (claims: object = {}): object => ({
  active: true,
  sub: 'alice',
  aud: AUDIENCE,
  scope: 'read',
  ...claims,
});
const asked = (issuer: Issuer): number => issuer.requestsTo('/introspect').length;
const expectPass = (path: string, token: string): Promise<unknown> =>
  world.withstand(get(path, token), { statuses: [200], reached: [`GET ${path}`], reasons: ['allow'] });
const expectFail = (path: string, token: string): Promise<unknown> =>
  world.withstand(get(path, token), { statuses: [401], reasons: ['token.inactive|token.audience'] });

describe('the same string', () => {
  test('is a different token at each of two issuers', async () => {
    world.issuer.introspection.set('token-1', active());
    await expectPass('/one', 'token-1');
    await expectFail('/two', 'token-1');
    other.introspection.set('token-2', active({ sub: 'mallory' }));
    await expectPass('/two', 'token-2');
    await expectFail('/one', 'token-2');
    await expectPass('/both', 'token-2');
    await expectFail('/one', 'token-2');
  });

  test('is accepted only on the route of its audience', async () => {
    world.issuer.introspection.set('token-3', active());
    await expectPass('/one', 'token-3');
    await expectFail('/elsewhere', 'token-3');
    await expectPass('/one', 'token-3');
    expect(asked(world.issuer)).toBe(2);
  });

  test.each(['TOKEN-4', 'token-4=', 'token-4.', 'token-40', 'oken-4'])(
    'does not cover a nearly equal one: %s',
    async (near) => {
      world.issuer.introspection.set('token-4', active());
      await expectPass('/one', 'token-4');
      await expectFail('/one', near);
    },
  );
});

test.each<[string, unknown]>([
  ['"true"', 'true'],
  ['"false"', 'false'],
  ['1', 1],
  ['null', null],
  ['{}', {}],
  ['[true]', [true]],
  ['absent', undefined],
])('does not accept active: %s', async (_what, value) => {
  world.issuer.introspection.set('token', active({ active: value }));
  await expectFail('/one', 'token');
});

test('refuses a cached token after its exp', async () => {
  const exp = Math.floor(Date.now() / 1000) + 60;
  world.issuer.introspection.set('token', active({ exp }));
  await expectPass('/one', 'token');
  passedMs = 30_000;
  await expectPass('/one', 'token');
  expect(asked(world.issuer)).toBe(1);
  passedMs = 66_000;
  await world.withstand(get('/one', 'token'), { statuses: [401], reasons: ['token.expired'] });
});

test('refuses a revoked token on all routes once one of them has learnt of it', async () => {
  world.issuer.introspection.set('token', active());
  await expectPass('/one', 'token');
  world.issuer.introspection.delete('token');
  await expectFail('/both', 'token');
  await expectFail('/one', 'token');
});

test('never mixes up the principals of a hundred parallel tokens', async () => {
  for (let i = 0; i < 100; i += 1) world.issuer.introspection.set(`t-${i}`, active({ sub: `s-${i}` }));
  await Promise.all(
    Array.from({ length: 300 }, async (_, i) => {
      const answer = await fetch(`${world.url}/both?${i % 100}`, { headers: { authorization: `Bearer t-${i % 100}` } });
      await answer.body?.cancel();
      expect(answer.status).toBe(200);
    }),
  );
  for (const { url, headers } of world.upstream.seen) expect(headers['x-sub']).toBe(`s-${url.split('?')[1]}`);
  expect(asked(world.issuer)).toBe(100);
  world.upstream.seen.length = 0;
});
