import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startRateWorld, type RateWorld } from '../worlds/rate.ts';

let world: RateWorld;
beforeAll(async () => {
  world = await startRateWorld(
    'limits: { rate: { requests: 10, per: 1s, burst: 20 }, failures: { requests: 30, per: 1m, burst: 40 } }\n',
  );
});
afterAll(() => world.close());
beforeEach(() => world.rest());

describe('limits.failures', () => {
  const from = '127.0.0.3';

  test('R-153: bounds introspections of 10,000 guesses; a known token still passes', async () => {
    expect((await world.send('/free', { from })).status).toBe(200);
    const before = world.asked();
    let refused = 0;
    for (let hundred = 0; hundred < 100; hundred += 1) {
      world.now += 600;
      const guesses = Array.from({ length: 100 }, (_, guess) =>
        world.send('/free', { from, token: `x${hundred}-${guess}` }),
      );
      // oxlint-disable-next-line no-await-in-loop -- as many at a time as a machine has
      for (const { status } of await Promise.all(guesses)) refused += status === 429 ? 1 : 0;
      // oxlint-disable-next-line no-await-in-loop -- while the guessing goes on
      expect((await world.send('/free', { from })).status).toBe(200);
    }
    // After the first hundred 59.4 s pass, of which 2 s bring one back.
    expect(world.asked() - before).toBe(69);
    expect(refused).toBe(9931);
  }, 300_000);

  test('counts a token once although it is refused repeatedly', async () => {
    expect(await world.statuses(60, '/free', { from, token: 'no' })).toEqual({ 401: 60 });
    expect(world.asked()).toBe(1);
    expect(await world.guesses(39, { from })).toEqual({ 401: 39 });
    expect((await world.send('/free', { from, token: 'no' })).status).toBe(401);
    expect(await world.guesses(1, { from })).toEqual({ 429: 1 });
  });

  test('delays only tokens from an address over the limit, and no call without a token', async () => {
    expect(await world.guesses(41, { from })).toEqual({ 401: 40, 429: 1 });
    const { headers, body } = await world.send('/free', { from, token: 'bob' });
    expect(headers['retry-after']).toBe('2');
    // Who guesses is not told how often he may.
    expect(Object.keys(headers).filter((name) => name.startsWith('ratelimit'))).toEqual([]);
    expect(JSON.parse(body)).toMatchObject({ status: 429, reason: 'failures.exceeded' });
    expect((await world.send('/free', { from, token: '' })).status).toBe(401);
    expect((await world.send('/free', { from: '127.0.0.4', token: 'bob' })).status).toBe(200);
    world.now += 2000;
    expect((await world.send('/free', { from, token: 'bob' })).status).toBe(200);
  });

  test('does not count calls without a token', async () => {
    expect(await world.statuses(100, '/free', { from, token: '' })).toEqual({ 401: 100 });
    expect((await world.send('/free', { from, token: 'bob' })).status).toBe(200);
  });

  test('does not count outages', async () => {
    world.issuer.intercept = (request, response) => {
      if (request.url !== '/introspect') return false;
      response.writeHead(500).end();
      return true;
    };
    try {
      const outage = await world.statuses(60, '/free', { from, token: 'carol' });
      expect(outage).toEqual({ 503: 60 });
    } finally {
      world.issuer.intercept = undefined;
    }
    world.now += 600_000;
    expect((await world.send('/free', { from, token: 'bob' })).status).toBe(200);
  });

  test('counts neither forged JWTs nor active tokens for another audience', async () => {
    const forged = `${(await world.issuer.sign({ aud: 'r', iat: world.now / 1000, exp: world.now / 1000 + 300 })).slice(0, -8)}AAAAAAAA`;
    expect(await world.statuses(60, '/free', { from, token: forged })).toEqual({ 401: 60 });
    world.issuer.introspection.set('elsewhere', { active: true, sub: 'alice', aud: 'another' });
    expect(await world.statuses(60, '/free', { from, token: 'elsewhere' })).toEqual({ 401: 60 });
    expect((await world.send('/free', { from, token: 'bob' })).status).toBe(200);
  });

  test('ignores X-Forwarded-For of an untrusted client', async () => {
    for (let time = 0; time < 41; time += 1) {
      const headers = { 'x-forwarded-for': `192.0.2.${time}` };
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect((await world.send('/free', { from, token: `guess${time}`, headers })).status).toBe(time < 40 ? 401 : 429);
    }
    const victim = { 'x-forwarded-for': '127.0.0.4' };
    await world.send('/free', { from, token: 'guess', headers: victim });
    expect((await world.send('/free', { from: '127.0.0.4', token: 'bob' })).status).toBe(200);
  });

  test('is 100 by default, and unlimited with `off`', async () => {
    const [usual, off] = await Promise.all([world.another(''), world.another('limits: { failures: off }\n')]);
    expect(await world.guesses(110, { to: usual })).toEqual({ 401: 100, 429: 10 });
    expect(await world.guesses(110, { to: off })).toEqual({ 401: 110 });
    await Promise.all([usual.close(), off.close()]);
  });
});
