import { beforeEach, describe, expect, test } from 'vitest';
import { startBeforeAll } from '../../../support/start-before.ts';
import { startWorld, type Answer } from '../../../worlds/gateway.ts';

// limit.test.ts and failures.test.ts have the tables of who is limited, and by what.

/** The time, which stands until a test moves it. */
let now = Date.now();
const world = startBeforeAll(() => {
  const route = (more: string): string => `${more}, upstream: { url: "UPSTREAM" }`;
  return startWorld({
    clock: () => now,
    top: `trusted_proxies: [127.0.0.1]
limits: { rate: { requests: 10, per: 1s, burst: 20 }, failures: { requests: 30, per: 1m, burst: 40 } }`,
    server: 'jwt: { algorithms: [RS256] }, introspection: { client_id: gateway, client_secret: s3cr3t, cache: 10m }',
    routes: [
      route('name: api, path: /api, audience: a'),
      route('name: free, path: /free, audience: a, rate: off'),
      route('name: strict, path: /strict, audience: a, policy: admin, rate: { requests: 1, per: 1m }'),
      route('name: tools, path: /mcp, protocol: mcp, audience: a, rate: { requests: 1, per: 90s, burst: 2 }'),
      route('name: open, path: /open, public: true, rate: { requests: 1, per: 1m }'),
    ],
    policies: { admin: 'scope: admin' },
  });
});
beforeEach(() => {
  // Every limit is whole again, and no answer is cached.
  now += 3_600_000;
  world.upstream.seen.length = 0;
  for (const sub of ['alice', 'bob']) world.issuer.introspection.set(sub, { active: true, sub, aud: 'a' });
});

const FIRST = '192.0.2.1';

async function send(path: string, token: string | undefined = 'alice', client = FIRST): Promise<Answer> {
  return world.send(path, { ...(token !== '' && { token }), headers: { 'x-forwarded-for': client } });
}

/** The statuses of requests one after the other, counted. */
async function statuses(count: number, path: string, token?: string | (() => string)) {
  const counted: Record<string, number> = {};
  for (let time = 0; time < count; time += 1) {
    const { status } = await send(path, typeof token === 'function' ? token() : token);
    counted[status] = (counted[status] ?? 0) + 1;
  }
  return counted;
}

describe('limits.rate', () => {
  test('R-152: allows a burst, then the rate, and adds nothing to an allowed answer', async () => {
    const { headers } = await send('/api');
    expect([...headers.keys()].filter((name) => /^(?:ratelimit|retry-after)/.test(name))).toEqual([]);
    expect(await statuses(24, '/api')).toEqual({ 200: 19, 429: 5 });
    expect(world.upstream.seen).toHaveLength(20);
    now += 500;
    expect(await statuses(10, '/api')).toEqual({ 200: 5, 429: 5 });
    now += 60_000;
    expect(await statuses(25, '/api')).toEqual({ 200: 20, 429: 5 });
  });

  test('R-152: allows a call after Retry-After', async () => {
    expect(await statuses(2, '/open', '')).toEqual({ 200: 1, 429: 1 });
    now += 21_500;
    const { challenge, headers } = await send('/open', '');
    expect(Object.fromEntries(headers)).toMatchObject({
      'retry-after': '39',
      'ratelimit-policy': '"default";q=1;w=60',
      ratelimit: '"default";r=0;t=39',
      'cache-control': 'no-store',
    });
    expect(challenge).toBeNull();
    now += 38_000;
    expect(await statuses(1, '/open', '')).toEqual({ 429: 1 });
    now += 1000;
    expect(await statuses(1, '/open', '')).toEqual({ 200: 1 });
  });

  test('does not apply to a route with `rate: off`, and counts calls that the policy refuses', async () => {
    expect(await statuses(30, '/free')).toEqual({ 200: 30 });
    expect(await statuses(2, '/strict')).toEqual({ 403: 1, 429: 1 });
  });

  test('counts each MCP message, and refuses with a JSON-RPC error before the body is read', async () => {
    const ping = (): Promise<Answer> => world.post('/mcp', 'alice', '{"jsonrpc":"2.0","id":7,"method":"ping"}');
    await ping();
    await ping();
    expect(world.upstream.seen).toHaveLength(2);
    const { status, text } = await ping();
    expect(status).toBe(429);
    expect(JSON.parse(text)).toMatchObject({ id: null, error: { data: { reason: 'rate.exceeded', retry_after: 90 } } });
    expect(world.upstream.seen).toHaveLength(2);
  });
});

describe('limits.failures', () => {
  let guessed = 0;
  const guess = (): string => `guess-${(guessed += 1)}`;

  // test/attacks/failures-of-others.test.ts has what it bounds.
  test('delays only tokens from an address over the limit, and no call without a token', async () => {
    world.issuer.introspection.set('elsewhere', { active: true, sub: 'alice', aud: 'another' });
    for (const token of ['', 'elsewhere']) expect(await statuses(50, '/free', token)).toEqual({ 401: 50 });
    expect(await statuses(41, '/free', guess)).toEqual({ 401: 40, 429: 1 });
    const { headers, text } = await send('/free', 'bob');
    expect(headers.get('retry-after')).toBe('2');
    // The address that guesses is not told its limit.
    expect([...headers.keys()].filter((name) => name.startsWith('ratelimit'))).toEqual([]);
    expect(JSON.parse(text)).toMatchObject({ status: 429, reason: 'failures.exceeded' });
    expect((await send('/free', '')).status).toBe(401);
    expect((await send('/free', 'bob', '192.0.2.2')).status).toBe(200);
    now += 2000;
    expect((await send('/free', 'bob')).status).toBe(200);
  });
});
