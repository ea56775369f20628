import { afterEach, describe, expect, test } from 'vitest';
import { createServerCalls } from '../../src/authorization-server/calls.ts';
import type { AuthorizationServer } from '../../src/model/authorization-server.ts';
import { answeredMs, expectAway, startOutageWorld, type OutageOptions, type OutageWorld } from '../worlds/outage.ts';

let world: OutageWorld | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});

async function started(options?: OutageOptions): Promise<OutageWorld> {
  world = await startOutageWorld(options);
  // Known before anything goes wrong.
  expect((await world.get('/api', world.server.opaque())).status).toBe(200);
  return world;
}

/** Asks about tokens that are new to the gateway, one after the other. */
async function askAbout({ get, server }: OutageWorld, count: number): Promise<void> {
  for (let done = 0; done < count; done += 1) expectAway(await get('/api', server.opaque()));
}

const atOnce = <Value>(count: number, act: () => Promise<Value>): Promise<Value[]> =>
  Promise.all(Array.from({ length: count }, act));

describe('a server that fails five times', () => {
  test('gets no calls, and clients get the time of the next one at once', async () => {
    const { server, get, calls, ready, events } = await started();
    server.fault('introspection', 'reset');
    await askAbout(world as OutageWorld, 5);
    const asked = server.asked('introspection');
    const refused = await atOnce(50, () => get('/api', server.opaque()));
    for (const seen of refused) {
      expectAway(seen);
      expect(seen.retryAfter, 'the first wait is a second at most').toBe(1);
      expect(seen.ms, 'no call waits').toBeLessThan(answeredMs);
    }
    expect(server.asked('introspection')).toBe(asked);
    expect(await calls('introspection', 'error')).toBe(5);
    expect(await calls('introspection', 'circuit_open')).toBe(50);
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
    const { server, get, advance, events, ready } = await started();
    for (let time = 0; time < 2; time += 1) {
      server.fault('introspection', 'maintenance');
      await askAbout(world as OutageWorld, 20);
      server.fault('introspection', undefined);
      advance(60);
      expect(await get('/api', server.opaque())).toMatchObject({ status: 200 });
    }
    expect(await ready()).toEqual({ name: 'main', issuer: server.url, state: 'available' });
    expect((await events()).map(({ msg }) => msg)).toEqual([
      'authorization server unavailable',
      'authorization server available again',
      'authorization server unavailable',
      'authorization server available again',
    ]);
  });

  test('in one operation still gets calls for the others', async () => {
    const { server, get, jwt } = await started();
    const known = server.opaque();
    await get('/api', known);
    server.fault('introspection', 'reset');
    await askAbout(world as OutageWorld, 6);
    expect(await get('/api', await jwt())).toMatchObject({ status: 200 });
    expect(await get('/exchanged', known)).toMatchObject({ status: 200 });
  });
});

test.each(['too many requests', 'an error'] as const)(
  '%s, which may be about one token, opens no circuit for the others',
  async (fault) => {
    const { server, get, calls } = await started();
    server.fault('introspection', fault);
    await askAbout(world as OutageWorld, 10);
    server.fault('introspection', undefined);
    expect((await get('/api', server.opaque())).status).toBe(200);
    expect(await calls('introspection', 'error')).toBe(10);
    expect(await calls('introspection', 'circuit_open')).toBe(0);
  },
);

test('maintenance: calls resume after Retry-After', async () => {
  const { server, get, advance } = await started();
  server.fault('introspection', 'maintenance');
  const token = server.opaque();
  for (let count = 0; count < 5; count += 1)
    expect(await get('/api', token)).toMatchObject({ status: 503, retryAfter: 17 });
  server.fault('introspection', undefined);
  advance(15);
  expect((await get('/api', token)).retryAfter).toBeLessThanOrEqual(2);
  advance(2);
  expect(await get('/api', token)).toMatchObject({ status: 200 });
});

describe('the whole server', () => {
  test('refuses connections, then recovers', async () => {
    const { server, get, jwt, advance, events, ready } = await started();
    const [known, opaque] = [await jwt(), server.opaque()];
    await get('/api', known);
    await get('/exchanged', opaque);
    await server.down();
    await askAbout(world as OutageWorld, 8);
    for (const [path, token] of [
      ['/api', known],
      ['/api', await jwt({ sub: 'bob' })],
      ['/api', opaque],
      ['/exchanged', opaque],
    ] as const) {
      expect(await get(path, token)).toMatchObject({ status: 200 });
    }
    await expect.poll(ready).toMatchObject({ state: 'stale', problem: expect.stringContaining('ECONNREFUSED') });
    await server.up();
    // The gateway finds it by itself: no call arrives meanwhile.
    await expect.poll(ready).toMatchObject({ name: 'main', issuer: server.url, state: 'available' });
    advance(1);
    expect(await get('/api', server.opaque()), 'no wait that began while it was away').toMatchObject({ status: 200 });
    expect((await events()).map(({ level, msg }) => [level, msg])).toEqual([
      ['warn', 'authorization server unavailable'],
      ['info', 'authorization server available again'],
    ]);
  });

  test('is silent on kept-alive connections, then recovers', async () => {
    const { server, get, advance } = await started();
    await atOnce(10, () => get('/api', server.opaque()));
    server.freeze(true);
    for (const seen of await atOnce(30, () => get('/api', server.opaque()))) expectAway(seen);
    server.freeze(false);
    advance(60);
    await expect.poll(async () => (await get('/api', server.opaque())).status).toBe(200);
  });

  test('closes kept-alive connections without a failed call', async () => {
    const { server, get } = await started();
    await atOnce(10, () => get('/api', server.opaque()));
    for (const socket of server.sockets) socket.end();
    await expect.poll(() => server.sockets.size).toBe(0);
    expect(await get('/api', server.opaque())).toMatchObject({ status: 200 });
  });
});

describe('a server that refuses the gateway’s credentials', () => {
  test('is logged once a minute, and does not count as unavailable', async () => {
    const { server, get, advance, events, calls } = await started();
    const { issuer } = server;
    const inner = issuer.intercept;
    issuer.intercept = (request, response, body) => {
      if (request.url !== '/introspect') return inner?.(request, response, body) ?? false;
      response.writeHead(401, { 'content-type': 'application/json' }).end('{"error":"invalid_client"}');
      return true;
    };
    for (let count = 0; count < 10; count += 1) expectAway(await get('/api', server.opaque()));
    expect(await calls('introspection', 'refused')).toBe(10);
    const refusal = {
      level: 'error',
      msg: 'authorization server refuses us',
      server: 'main',
      operation: 'introspection',
      endpoint: `${server.url}/introspect`,
      problem: 'it refuses the credentials of the gateway: check client_id and its secret or key',
    };
    expect(await events()).toMatchObject([refusal]);
    advance(61);
    expectAway(await get('/api', server.opaque()));
    expect(await events()).toMatchObject([refusal, refusal]);
    expect(JSON.stringify(await events())).not.toContain('secret:');
  });
});

test('a failing endpoint does not stop calls to another endpoint of the server', async () => {
  const { server } = await started();
  const calls = createServerCalls(
    { name: 'main', timeoutMs: 2_000 } as AuthorizationServer,
    { count() {}, failed() {}, circuitChanged() {}, credentialsRefused() {} },
    Date.now,
    Math.random,
  );
  for (let done = 0; done < 5; done += 1) {
    await expect(calls.ask('exchange', 'http://127.0.0.1:1/token')).rejects.toMatchObject({
      detail: expect.stringContaining('ECONNREFUSED'),
    });
  }
  expect(calls.circuits()).toEqual({ exchange: 'open' });
  await expect(calls.ask('exchange', 'http://127.0.0.1:1/token')).rejects.toMatchObject({
    detail: expect.stringContaining('the circuit for'),
  });
  await expect(calls.ask('exchange', `${server.url}/token`)).resolves.toMatchObject({ status: expect.any(Number) });
  calls.close();
});
