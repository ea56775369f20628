import { promisify } from 'node:util';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createServerCalls } from '../../../src/tokens/servers/calls.ts';
import type { AuthorizationServer } from '../../../src/core/model/authorization-server.ts';
import { Denial } from '../../../src/core/model/denial.ts';
import { failOnDemand, type Faults } from '../../support/fault-server.ts';
import { sample } from '../../support/gateway.ts';
import { startIssuer } from '../../support/issuer.ts';
import { startBeforeEach } from '../../support/start-before.ts';
import type { Line } from '../../support/written-log.ts';
import { startWorld } from '../../worlds/gateway.ts';

// fetch-json.test.ts has the answers that are none, test/spec/outage.test.ts what goes on during an outage.

const world = startBeforeEach(() =>
  startWorld({
    top: 'limits: { failures: { requests: 10000, per: 1s } }',
    server:
      'jwt: { algorithms: [RS256] }, introspection: { client_id: gateway, client_secret: secret, cache: 24h }, timeout: 700ms',
    routes: [
      'name: api, path: /api, audience: a, upstream: { url: "UPSTREAM" }',
      'name: exchanged, path: /exchanged, audience: a, upstream: { url: "UPSTREAM", token: exchange, exchange: { server: main, audience: b } }',
    ],
  }),
);
let server: Faults;
beforeEach(async () => {
  server = failOnDemand(world.issuer);
  // Known before anything goes wrong.
  await get();
});

/** What a client sees, by default with a token that is new to the gateway. */
async function get(token = world.opaque(), path = '/api') {
  const { status, headers, text } = await world.send(path, { token });
  const { reason } = (status < 400 ? {} : JSON.parse(text)) as { reason?: unknown };
  return { status, reason, retryAfter: Number(headers.get('retry-after')) };
}

const away = { status: 503, reason: 'authorization_server.unavailable' };

/** Asks about new tokens, one after the other. */
async function askAbout(count: number): Promise<void> {
  for (let done = 0; done < count; done += 1) {
    const seen = await get();
    expect(seen).toMatchObject(away);
    expect(seen.retryAfter).toBeGreaterThanOrEqual(1);
    expect(seen.retryAfter).toBeLessThanOrEqual(60);
  }
}

const atOnce = (count: number) => Promise.all(Array.from({ length: count }, () => get()));

/** The number of introspections, by the result of the metric. */
const calls = (result: string): Promise<number> =>
  sample(
    world.gateway,
    `sallyport_authorization_server_requests_total{server="main",operation="introspection",result="${result}"}`,
  );
/** The authorization server as `/readyz` shows it. */
async function ready(): Promise<unknown> {
  return ((await world.gateway.ready())['authorization_servers'] as readonly unknown[])[0];
}
/** The log lines about the authorization server. */
const events = async (): Promise<readonly Line[]> =>
  (await world.gateway.lines()).filter(({ msg }) => String(msg).startsWith('authorization server'));
const available = () => ({ name: 'main', issuer: world.issuer.url, state: 'available' });

describe('a server that fails five times', () => {
  test('gets no calls, and clients get the time of the next one at once', async () => {
    // However long 50 requests take on a busy machine.
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    server.fault('introspection', 'reset');
    await askAbout(5);
    const asked = server.asked();
    // The first wait is a second at most.
    expect(await atOnce(50)).toEqual(Array.from({ length: 50 }, () => ({ ...away, retryAfter: 1 })));
    expect(server.asked()).toBe(asked);
    expect([await calls('error'), await calls('circuit_open')]).toEqual([5, 50]);
    expect(await ready()).toMatchObject({
      state: 'degraded',
      circuits: { introspection: 'open' },
      problem: expect.stringContaining('ECONNRESET'),
    });
    expect(await events()).toMatchObject([
      { level: 'warn', server: 'main', state: 'degraded', circuits: { introspection: 'open' } },
    ]);
  });

  test('is logged when it fails and when it recovers, not in between', async () => {
    for (let time = 0; time < 2; time += 1) {
      server.fault('introspection', 'maintenance');
      await askAbout(20);
      server.fault('introspection', undefined);
      world.advance(60);
      expect(await get()).toMatchObject({ status: 200 });
    }
    expect(await ready()).toEqual(available());
    expect((await events()).map(({ msg }) => msg)).toEqual([
      'authorization server unavailable',
      'authorization server available again',
      'authorization server unavailable',
      'authorization server available again',
    ]);
  });

  test('in one operation still gets calls for the others', async () => {
    const known = world.opaque();
    await get(known);
    server.fault('introspection', 'reset');
    await askAbout(6);
    expect(await get(await world.token())).toMatchObject({ status: 200 });
    expect(await get(known, '/exchanged')).toMatchObject({ status: 200 });
  });
});

test.each(['too many requests', 'an error'] as const)(
  '%s, which may be about one token, opens no circuit for the others',
  async (fault) => {
    server.fault('introspection', fault);
    await askAbout(10);
    server.fault('introspection', undefined);
    expect((await get()).status).toBe(200);
    expect([await calls('error'), await calls('circuit_open')]).toEqual([10, 0]);
  },
);

test('maintenance: calls resume after Retry-After', async () => {
  server.fault('introspection', 'maintenance');
  const token = world.opaque();
  for (let count = 0; count < 5; count += 1) expect(await get(token)).toMatchObject({ status: 503, retryAfter: 17 });
  server.fault('introspection', undefined);
  world.advance(15);
  expect((await get(token)).retryAfter).toBeLessThanOrEqual(2);
  world.advance(2);
  expect(await get(token)).toMatchObject({ status: 200 });
});

test('a server that refuses connections and recovers is found by itself', async () => {
  const { issuer } = world;
  await issuer.close();
  await askAbout(8);
  await expect.poll(ready).toMatchObject({ state: 'stale', problem: expect.stringContaining('ECONNREFUSED') });
  const back = await startIssuer(Number(new URL(issuer.url).port), issuer.key);
  // No call arrives meanwhile.
  await expect.poll(ready).toEqual(available());
  world.advance(1);
  const token = world.opaque();
  back.introspection.set(token, issuer.introspection.get(token));
  expect(await get(token), 'no wait that began while it was away').toMatchObject({ status: 200 });
  expect((await events()).map(({ level, msg }) => [level, msg])).toEqual([
    ['warn', 'authorization server unavailable'],
    ['info', 'authorization server available again'],
  ]);
  await back.close();
});

test('a server that is silent on kept-alive connections recovers', async () => {
  await atOnce(10);
  server.fault('introspection', 'silence');
  for (const seen of await atOnce(30)) expect(seen).toMatchObject(away);
  server.fault('introspection', undefined);
  world.advance(60);
  await expect.poll(async () => (await get()).status).toBe(200);
});

test('kept-alive connections that the server closes make no call fail', async () => {
  const { server: listener } = world.issuer;
  await atOnce(10);
  listener.closeIdleConnections();
  const connections = promisify(listener.getConnections.bind(listener));
  await expect.poll(() => connections()).toBe(0);
  expect(await get()).toMatchObject({ status: 200 });
});

test('a refusal of the gateway’s credentials is logged once a minute, and does not count as unavailable', async () => {
  server.fault('introspection', 'a refusal of the gateway');
  await askAbout(10);
  expect(await calls('refused')).toBe(10);
  const refusal = {
    level: 'error',
    msg: 'authorization server refuses us',
    server: 'main',
    operation: 'introspection',
    endpoint: `${world.issuer.url}/introspect`,
    problem: 'it refuses the credentials of the gateway: check client_id and its secret or key',
  };
  expect(await events()).toMatchObject([refusal]);
  world.advance(61);
  await askAbout(1);
  expect(await events()).toMatchObject([refusal, refusal]);
  expect(JSON.stringify(await events())).not.toContain('secret:');
});

test('a failing endpoint does not stop calls to another endpoint of the server', async () => {
  const calls = createServerCalls(
    { name: 'main', timeoutMs: 2_000 } as AuthorizationServer,
    { count() {}, failed() {}, circuitChanged() {}, credentialsRefused() {} },
    Date.now,
    Math.random,
  );
  const detail = (text: string) => ({ detail: expect.stringContaining(text) as string });
  const failing = () => calls.ask('exchange', 'http://127.0.0.1:1/token');
  for (let done = 0; done < 5; done += 1) await expect(failing()).rejects.toMatchObject(detail('ECONNREFUSED'));
  expect(calls.circuits()).toEqual({ exchange: 'open' });
  await expect(failing()).rejects.toMatchObject(detail('the circuit for'));
  await expect(calls.ask('exchange', `${world.issuer.url}/token`)).resolves.toMatchObject({ status: 200 });
  calls.close();
});

test('the circuit of an endpoint that the metadata no longer name is forgotten after ten minutes', async () => {
  let now = 0;
  const calls = createServerCalls(
    { name: 'main', timeoutMs: 2_000 } as AuthorizationServer,
    { count() {}, failed() {}, circuitChanged() {}, credentialsRefused() {} },
    () => now,
    Math.random,
  );
  onTestFinished(() => calls.close());
  const ask = (url: string) => calls.ask('introspection', `${url}/introspect`);
  for (let done = 0; done < 5; done += 1) await expect(ask('http://127.0.0.1:1')).rejects.toBeInstanceOf(Denial);
  now += 10 * 60_000;
  await ask(world.issuer.url);
  expect(calls.circuits()).toEqual({ introspection: 'half_open' });
  now += 1;
  expect([calls.circuits(), calls.problem()]).toEqual([undefined, undefined]);
});
