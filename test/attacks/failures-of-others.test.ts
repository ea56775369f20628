import { request } from 'node:http';
import { beforeEach, describe, expect, test } from 'vitest';
import { startTestGateway } from '../support/gateway.ts';
import { createKey, startIssuer, type Issuer } from '../support/issuer.ts';
import { createProver } from '../support/prover.ts';
import { startBeforeEach } from '../support/start-before.ts';
import { startUpstream } from '../support/upstream.ts';

let now: number;
const [ownKey, partnerKey, otherKey] = await Promise.all([createKey('own'), createKey('partner'), createKey('other')]);

const credentials = 'client_id: gateway, client_secret: s3cr3t';
const own = startBeforeEach(() => startIssuer(0, ownKey));
const partner = startBeforeEach(() => startIssuer(0, partnerKey));
const upstream = startBeforeEach(startUpstream);
const gateway = startBeforeEach(() =>
  startTestGateway({
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
  }),
);
beforeEach(() => {
  now = Date.now();
  own.introspection.set('new', { active: true, sub: 'bob', aud: 'r' });
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
  test('if it repeats an expired JWT a hundred times', async () => {
    const expired = await own.sign({ aud: 'r', exp: 1 });
    expect(await statuses(100, '/own', () => expired)).toEqual(new Set([401]));
    await newTokensPass();
    expect(asked(own)).toBe(1);
  });

  test('if it repeats an inactive opaque token a hundred times, for 50 s', async () => {
    const revoked = (): string => {
      now += 500;
      return 'revoked';
    };
    expect(await statuses(100, '/own', revoked)).toEqual(new Set([401, 429]));
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
  await expect.poll(() => asked(partner)).toBe(5);
  await newTokensPass();
  for (const call of calls) call.destroy();
});
