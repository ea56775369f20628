import { beforeEach, describe, expect, test } from 'vitest';
import { type Authority, CachedVerifier } from '../../src/tokens/cached-verifier.ts';
import type { Call } from '../../src/core/model/call.ts';
import { Denial } from '../../src/core/model/denial.ts';
import type { Failures } from '../../src/ports/shared.ts';
import { bearer } from '../support/bearer.ts';
import { startIssuer, type Issuer } from '../support/issuer.ts';
import { get } from './requests.ts';
import { AUDIENCE, startAttackWorld } from '../worlds/attacks.ts';
import { startBeforeAll } from '../support/start-before.ts';

let passedMs: number;
const introspection = '{ client_id: gateway, client_secret: s3cr3t, cache: 10m }';

const other = startBeforeAll(startIssuer);
const world = startBeforeAll(() =>
  startAttackWorld({
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
  }),
);
beforeEach(() => {
  passedMs = 0;
  world.issuer.requests.length = 0;
});

const active = (claims: object = {}): object => ({
  active: true,
  sub: 'alice',
  aud: AUDIENCE,
  scope: 'read',
  ...claims,
});
const asked = (issuer: Issuer): number => issuer.requestsTo('/introspect').length;
const expectPass = (path: string, token: string): Promise<unknown> => world.forwards(get(path, token), `GET ${path}`);
const expectFail = (path: string, token: string): Promise<unknown> =>
  world.refuses(get(path, token), 401, 'token.inactive|token.audience');

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

test('made-up tokens evict no valid token, and fill a cache of limited size', async () => {
  let calls = 0;
  const known = async (token: string): Promise<unknown> => {
    calls += 1;
    if (token !== 'good') throw new Denial('token.inactive', 'unknown');
    return { principal: { subject: 'alice' }, reusableUntil: Infinity };
  };
  const server = { issuer: 'https://as.example', cacheMs: 30_000, maySee: () => true, introspect: { known } };
  const verifier = new CachedVerifier(
    [server as unknown as Authority],
    new Set(['opaque']),
    () => {},
    () => {},
    () => 0,
  );
  const failures: Failures = { guard: (_, work) => work() };
  const present = async (token: string): Promise<unknown> =>
    verifier.authenticate(bearer(token), { client: '192.0.2.1' } as Call, failures);
  await present('good');
  for (let i = 0; i < 20_001; i += 1) await present(`junk-${i}`).catch(() => {});
  expect(calls).toBe(20_002);
  await present('good');
  for (const cached of ['junk-20000', 'junk-1'])
    await expect(present(cached)).rejects.toMatchObject({ reason: 'token.inactive' });
  expect(calls).toBe(20_002);
  await expect(present('junk-0')).rejects.toMatchObject({ reason: 'token.inactive' });
  expect(calls).toBe(20_003);
});
