import type { IncomingMessage, ServerResponse } from 'node:http';
import { beforeEach, describe, expect, test } from 'vitest';
import { startTestGateway, type TestGateway } from '../../support/gateway.ts';
import { startIssuer } from '../../support/issuer.ts';
import { createProver } from '../../support/prover.ts';
import { hasRedis, startRedis } from '../../support/redis.ts';
import { sendJson, startUpstream } from '../../support/upstream.ts';
import { granted } from '../../worlds/exchange.ts';
import { forThisTest, startBeforeEach } from '../../support/start-before.ts';

const secrets = { session: 'k3y-of-at-least-thirty-two-characters', client: 'secret-of-the-gateway' };

/** One configuration, as many replicas as a test starts. */
describe.skipIf(!hasRedis)('replicas with a shared store', () => {
  const redis = startBeforeEach(startRedis);
  const issuer = startBeforeEach(startIssuer);
  const upstream = startBeforeEach(() => startUpstream(stream));
  beforeEach(async () => {
    issuer.answerAt('/token', (_request, response, body) => {
      const subject = new URLSearchParams(body).get('subject_token');
      sendJson(response, 200, { ...granted, access_token: `exchanged-${subject}` });
    });
  });

  async function replica(): Promise<TestGateway> {
    const yaml = `
session_key: ${secrets.session}
shared: ${redis.url}
authorization_servers:
  main:
    issuer: ${issuer.url}
    jwt: { algorithms: [RS256] }
    introspection: { client_id: gateway, client_secret: ${secrets.client}, cache: 30s }
routes:
  - { name: api, path: /api, audience: r, revalidate: 50ms, upstream: { url: "${upstream.url}" } }
  - { name: proven, path: /proven, audience: r, dpop: {}, upstream: { url: "${upstream.url}" } }
  - name: exchanged
    path: /exchanged
    audience: r
    upstream: { url: "${upstream.url}", token: exchange, exchange: { audience: https://api.example } }
`;
    const gateway = await forThisTest(startTestGateway({ yaml }));
    await expect.poll(() => state(gateway)).toEqual({ state: 'available' });
    return gateway;
  }

  const state = async (gateway: TestGateway): Promise<unknown> => (await gateway.ready())['shared_store'];

  function opaque(token: string, otherwise: object = {}): string {
    issuer.introspection.set(token, { active: true, sub: 'alice-in-wonderland', aud: 'r', ...otherwise });
    return token;
  }

  async function statusOf(gateway: TestGateway, token: string, path = '/api'): Promise<number> {
    const { status, body } = await fetch(gateway.url + path, { headers: { authorization: `Bearer ${token}` } });
    await body?.cancel();
    return status;
  }

  const asked = (): number => issuer.requestsTo('/introspect').length;

  test('introspect an active token once together, and an inactive one once each', async () => {
    const [one, other] = [await replica(), await replica()];
    const token = opaque('token-of-alice');
    expect(await statusOf(one, token)).toBe(200);
    await expect.poll(() => answersKept()).toBe(1);
    expect(await statusOf(other, token)).toBe(200);
    expect(asked()).toBe(1);
    expect(upstream.seen).toHaveLength(2);

    expect([await statusOf(one, 'unknown'), await statusOf(other, 'unknown')]).toEqual([401, 401]);
    expect(asked()).toBe(3);
    expect(await other.metrics()).toContain('sallyport_shared_store_requests_total{operation="get",result="hit"} 1');
  });

  async function answersKept(): Promise<number> {
    return [...(await redis.everything()).keys()].filter((key) => key.includes(':answer:')).length;
  }

  test('all forget a token that one of them finds revoked', async () => {
    const one = await replica();
    const token = opaque('token-of-alice');
    const open = await fetch(`${one.url}/api/stream`, { headers: { authorization: `Bearer ${token}` } });
    await expect.poll(() => answersKept()).toBe(1);
    issuer.introspection.delete(token);
    await open.text().catch(() => '');
    await expect.poll(() => answersKept()).toBe(0);
    const other = await replica();
    expect(await statusOf(other, token)).toBe(401);
  });

  test('accept a proof of possession once together', async () => {
    const [one, other, prover] = [await replica(), await replica(), await createProver()];
    const token = opaque('bound-token', { cnf: prover.cnf, token_type: 'DPoP' });
    const url = 'http://gateway.test/proven';
    const headers = await prover.headers({ url, token });
    const show = async (gateway: TestGateway, fields = headers): Promise<number> =>
      (await fetch(`${gateway.url}/proven`, { headers: fields })).status;
    expect(await show(one)).toBe(200);
    expect(await show(other)).toBe(401);
    expect(await show(one)).toBe(401);
    await other.decision({ reason: 'proof.replayed' });
    expect(await show(other, await prover.headers({ url, token }))).toBe(200);

    await redis.kill();
    await expect.poll(() => state(one)).toMatchObject({ state: 'unavailable' });
    const closed = await fetch(`${one.url}/proven`, { headers: await prover.headers({ url, token }) });
    expect([closed.status, closed.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^[1-9]\d*$/)]);
    await one.decision({ allow: false, reason: 'shared_store.unavailable' });
  });

  test('store nothing readable', async () => {
    const [one, prover] = [await replica(), await createProver()];
    const token = opaque('token-of-alice', { scope: 'read', email: 'alice@example' });
    const bound = opaque('bound-token', { cnf: prover.cnf, token_type: 'DPoP' });
    const proof = await prover.headers(
      { url: 'http://gateway.test/proven', token: bound },
      { claims: { jti: 'jti-1' } },
    );
    expect(await statusOf(one, token, '/exchanged')).toBe(200);
    expect((await fetch(`${one.url}/proven`, { headers: proof })).status).toBe(200);
    await expect.poll(() => answersKept()).toBe(3);

    const everything = [...(await redis.everything())].flatMap(([key, value]) => [
      key,
      value,
      Buffer.from(value, 'base64url').toString('latin1'),
    ]);
    expect(everything.length).toBeGreaterThan(9);
    const callers = [token, bound, 'exchanged', 'alice', 'read', 'active', 'email', 'jti-1', prover.cnf.jkt];
    for (const secret of [...callers, secrets.client, secrets.session, issuer.url, 'Bearer']) {
      expect(everything.filter((text) => text.includes(secret))).toEqual([]);
    }
  });
});

test('has no metrics of a store without one', async () => {
  const yaml = 'routes: [{ name: open, path: /, public: true, upstream: { url: "http://127.0.0.1:1" } }]';
  const gateway = await forThisTest(startTestGateway({ yaml }));
  expect(await gateway.metrics()).not.toMatch(/^sallyport_shared_store/m);
  expect(await gateway.ready()).not.toHaveProperty('shared_store');
});

/** A stream that has no end of its own. */
function stream(request: IncomingMessage, response: ServerResponse): void {
  if (request.url !== '/stream') response.end('ok');
  else response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
}
