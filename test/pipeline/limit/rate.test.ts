import { beforeEach, describe, expect, test } from 'vitest';
import { startRateWorld } from '../../worlds/rate.ts';
import { startBeforeAll } from '../../support/start-before.ts';

// limit.test.ts and failures.test.ts have the tables of who is limited, and by what.

const world = startBeforeAll(() =>
  startRateWorld(
    'limits: { rate: { requests: 10, per: 1s, burst: 20 }, failures: { requests: 30, per: 1m, burst: 40 } }\n',
  ),
);
beforeEach(() => world.rest());

describe('limits.rate', () => {
  test('R-152: allows a burst, then the rate, and adds nothing to an allowed answer', async () => {
    const { headers } = await world.send('/api');
    expect(Object.keys(headers).filter((name) => /^(?:ratelimit|retry-after)/.test(name))).toEqual([]);
    expect(await world.statuses(24, '/api')).toEqual({ 200: 19, 429: 5 });
    expect(world.upstream.seen).toHaveLength(20);
    world.now += 500;
    expect(await world.statuses(10, '/api')).toEqual({ 200: 5, 429: 5 });
    world.now += 60_000;
    expect(await world.statuses(25, '/api')).toEqual({ 200: 20, 429: 5 });
  });

  test('R-152: allows a call after Retry-After', async () => {
    expect(await world.statuses(2, '/open', { token: '' })).toEqual({ 200: 1, 429: 1 });
    world.now += 21_500;
    const { headers } = await world.send('/open', { token: '' });
    expect(headers).toMatchObject({
      'retry-after': '39',
      'ratelimit-policy': '"default";q=1;w=60',
      ratelimit: '"default";r=0;t=39',
      'cache-control': 'no-store',
    });
    expect(headers).not.toHaveProperty('www-authenticate');
    world.now += 38_000;
    expect(await world.statuses(1, '/open', { token: '' })).toEqual({ 429: 1 });
    world.now += 1000;
    expect(await world.statuses(1, '/open', { token: '' })).toEqual({ 200: 1 });
  });

  test('does not apply to a route with `rate: off`, and counts calls that the policy refuses', async () => {
    expect(await world.statuses(30, '/free')).toEqual({ 200: 30 });
    expect(await world.statuses(2, '/strict')).toEqual({ 403: 1, 429: 1 });
  });

  test('counts each MCP message, and refuses with a JSON-RPC error before the body is read', async () => {
    const message = { jsonrpc: '2.0', id: 7, method: 'ping' };
    await world.statuses(2, '/mcp', { message });
    expect(world.upstream.seen).toHaveLength(2);
    const { status, headers, body } = await world.send('/mcp', { message });
    expect(status).toBe(429);
    expect(headers).toMatchObject({ 'content-type': 'application/json', 'retry-after': '90' });
    expect(JSON.parse(body)).toEqual({
      jsonrpc: '2.0',
      id: null,
      error: {
        code: 429,
        message: 'Too many requests',
        data: { reason: 'rate.exceeded', decision: expect.any(String) as string, retry_after: 90 },
      },
    });
    expect(world.upstream.seen).toHaveLength(2);
  });
});

describe('limits.failures', () => {
  const from = '127.0.0.3';

  test('R-153: bounds introspections of 300 guesses; a known token still passes', async () => {
    expect((await world.send('/free', { from })).status).toBe(200);
    const before = world.asked();
    let refused = 0;
    for (let round = 0; round < 5; round += 1) {
      world.now += 600;
      const guesses = Array.from({ length: 60 }, (_, guess) =>
        world.send('/free', { from, token: `x${round}-${guess}` }),
      );
      for (const { status } of await Promise.all(guesses)) refused += status === 429 ? 1 : 0;
      expect((await world.send('/free', { from })).status).toBe(200);
    }
    // After the first round 2.4 s pass, of which 2 s bring one back.
    expect([world.asked() - before, refused]).toEqual([41, 259]);
  });

  test('delays only tokens from an address over the limit, and no call without a token', async () => {
    world.issuer.introspection.set('elsewhere', { active: true, sub: 'alice', aud: 'another' });
    for (const token of ['', 'elsewhere']) {
      expect(await world.statuses(50, '/free', { from, token })).toEqual({ 401: 50 });
    }
    expect(await world.guesses(41, { from })).toEqual({ 401: 40, 429: 1 });
    const { headers, body } = await world.send('/free', { from, token: 'bob' });
    expect(headers['retry-after']).toBe('2');
    // The address that guesses is not told its limit.
    expect(Object.keys(headers).filter((name) => name.startsWith('ratelimit'))).toEqual([]);
    expect(JSON.parse(body)).toMatchObject({ status: 429, reason: 'failures.exceeded' });
    expect((await world.send('/free', { from, token: '' })).status).toBe(401);
    const forged = { 'x-forwarded-for': '127.0.0.4' };
    expect((await world.send('/free', { from, token: 'bob', headers: forged })).status).toBe(429);
    expect((await world.send('/free', { from: '127.0.0.4', token: 'bob' })).status).toBe(200);
    world.now += 2000;
    expect((await world.send('/free', { from, token: 'bob' })).status).toBe(200);
  });
});
