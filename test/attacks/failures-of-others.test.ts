import { request } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createAuthenticators } from '../../src/pipeline/authenticate/authenticator.ts';
import { createServerClient } from '../../src/authorization-server/client.ts';
import { createFailures } from '../../src/pipeline/limit/failures.ts';
import type { Call } from '../../src/model/call.ts';
import type { Route } from '../../src/model/route.ts';
import { createRateLimiters } from '../../src/store/rate.ts';
import { bearer } from '../support/bearer.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { createKey, startIssuer, type Issuer } from '../support/issuer.ts';
import { createProver } from '../support/prover.ts';
import { serverOf } from '../support/server.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

let own: Issuer;
let partner: Issuer;
let upstream: Upstream;
let gateway: TestGateway;
let now: number;
const [ownKey, partnerKey, otherKey] = await Promise.all([createKey('own'), createKey('partner'), createKey('other')]);

beforeEach(async () => {
  now = Date.now();
  [own, partner, upstream] = await Promise.all([startIssuer(0, ownKey), startIssuer(0, partnerKey), startUpstream()]);
  const credentials = 'client_id: gateway, client_secret: s3cr3t';
  gateway = await startTestGateway({
    clock: () => now,
    yaml: `limits: { failures: { requests: 5, per: 1m } }
authorization_servers:
  own: { issuer: "${own.url}", jwt: { algorithms: [RS256] }, introspection: { ${credentials} } }
  fresh: { issuer: "${own.url}/fresh", introspection: { ${credentials}, endpoint: "${own.url}/introspect", cache: 0s } }
  partner: { issuer: "${partner.url}", introspection: { ${credentials} }, timeout: 30s }
routes:
  - { name: own, path: /own, authorization_servers: [own], audience: r, dpop: {}, upstream: { url: "${upstream.url}" } }
  - { name: fresh, path: /fresh, authorization_servers: [fresh], audience: r, upstream: { url: "${upstream.url}" } }
  - { name: partner, path: /partner, authorization_servers: [partner], audience: r, upstream: { url: "${upstream.url}" } }
`,
  });
  own.introspection.set('new', { active: true, sub: 'bob', aud: 'r' });
});
afterEach(async () => {
  await gateway.close();
  await Promise.all([own.close(), partner.close(), upstream.close()]);
});

async function status(path: string, token: string, headers: Record<string, string> = {}): Promise<number> {
  const answer = await fetch(gateway.url + path, { headers: { authorization: `Bearer ${token}`, ...headers } });
  await answer.body?.cancel();
  return answer.status;
}
async function statuses(count: number, path: string, token: (time: number) => string): Promise<Set<number>> {
  const found = new Set<number>();
  for (let time = 0; time < count; time += 1) {
    found.add(await status(path, token(time)));
  }
  return found;
}
const asked = (issuer: Issuer): number => issuer.requestsTo('/introspect').length;

/** A new JWT and a new opaque token from the same address. */
async function newTokensPass(): Promise<void> {
  expect(await status('/own', await own.sign({ aud: 'r' }))).toBe(200);
  expect(await status('/own', 'new')).toBe(200);
}

describe('R-153: refused tokens of one caller do not delay others at the same address', () => {
  test('if it repeats an expired JWT a thousand times', async () => {
    const expired = await own.sign({ aud: 'r', exp: 1 });
    expect(await statuses(1000, '/own', () => expired)).toEqual(new Set([401]));
    await newTokensPass();
    expect(asked(own)).toBe(1);
  });

  test('if it repeats an inactive opaque token a thousand times, for 50 s', async () => {
    const revoked = (): string => {
      now += 50;
      return 'revoked';
    };
    expect(await statuses(1000, '/own', revoked)).toEqual(new Set([401, 429]));
    await newTokensPass();
    expect(asked(own)).toBeLessThan(12);
  });

  test('if it repeats an inactive token that is not cached; introspections stay within the limit', async () => {
    expect(await statuses(100, '/fresh', () => 'revoked')).toEqual(new Set([401, 429]));
    expect(asked(own)).toBe(6);
    expect(await status('/fresh', 'another')).toBe(401);
    expect(await status('/own', 'new')).toBe(200);
  });

  test('if it presents JWTs with bad signatures, unknown keys, foreign issuers, or without proof', async () => {
    const prover = await createProver();
    const [bound, unknown, foreign, genuine] = await Promise.all([
      own.sign({ aud: 'r', cnf: prover.cnf }),
      own.sign({ aud: 'r' }, { key: otherKey }),
      partner.sign({ aud: 'r' }),
      own.sign({ aud: 'r' }),
    ]);
    for (const token of [bound, unknown, foreign, `${genuine.slice(0, -8)}AAAAAAAA`]) {
      expect(await statuses(20, '/own', () => token)).toEqual(new Set([401]));
    }
    await newTokensPass();
  });

  test('if it guesses opaque tokens: JWTs and tokens of another server still pass', async () => {
    partner.introspection.set('theirs', { active: true, sub: 'carol', aud: 'r' });
    expect(await statuses(50, '/own', (time) => `guess-${time}`)).toEqual(new Set([401, 429]));
    expect(asked(own)).toBe(5);
    expect(await status('/own', 'new')).toBe(429);
    expect(await status('/own', await own.sign({ aud: 'r' }))).toBe(200);
    expect(await status('/partner', 'theirs')).toBe(200);
  });
});

test('an unresponsive server delays only tokens that it has to introspect', async () => {
  partner.intercept = ({ url }) => url === '/introspect';
  const calls = Array.from({ length: 200 }, (_, i) => {
    const sent = request(`${gateway.url}/partner`, { headers: { authorization: `Bearer hangs-${i}` } });
    sent.on('error', () => {}).end();
    return sent;
  });
  await expect.poll(() => asked(partner), { timeout: 10_000 }).toBe(5);
  await newTokensPass();
  for (const call of calls) call.destroy();
});

test('introspects 100,000 made-up tokens only as often as one address may fail', async () => {
  const server = serverOf(own, { name: 'own', timeoutMs: 60_000 });
  const client = createServerClient(
    server,
    () => {},
    () => now,
  );
  const rate = { requests: 100, perMs: 60_000, burst: 100 };
  const failures = createFailures(rate, {
    limiters: createRateLimiters(() => now),
    clock: () => now,
    warnOfProxy() {},
  });
  const route = { authorizationServers: [server], audiences: ['r'], tokens: new Set(['opaque']) } as unknown as Route;
  const authenticators = createAuthenticators(
    () => {},
    () => now,
  );
  const authentication = authenticators(new Map([['own', client]]), new Map(), failures)(route, (one) => one);
  const call = { client: '192.0.2.1' } as Call;
  const counted: Record<string, number> = {};
  for (let thousand = 0; thousand < 100; thousand += 1) {
    const guesses = Array.from({ length: 1000 }, async (_, i) => {
      const token = bearer(`guess-${thousand}-${i}`);
      const reason = await Promise.resolve(authentication.authenticate(token, call)).then(
        () => 'allow',
        (denial: { reason: string }) => denial.reason,
      );
      counted[reason] = (counted[reason] ?? 0) + 1;
    });
    await Promise.all(guesses);
  }
  expect(counted).toEqual({ 'token.inactive': 100, 'failures.exceeded': 99_900 });
  expect(asked(own)).toBe(100);
  client.close();
});

test('logs once that the address may be a proxy that is missing from trusted_proxies', async () => {
  const through = { 'x-forwarded-for': '192.0.2.1' };
  await statuses(10, '/own', (time) => `guess-${time}`);
  for (let time = 0; time < 3; time += 1) {
    expect(await status('/own', `more-${time}`, through)).toBe(429);
  }
  const warnings = (await gateway.lines()).filter(({ level }) => level === 'warn');
  expect(warnings).toMatchObject([{ address: '127.0.0.1' }]);
});
