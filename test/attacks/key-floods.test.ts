import { request } from 'node:http';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { get } from './requests.ts';
import { type AttackWorld, AUDIENCE, startAttackWorld } from '../worlds/attacks.ts';

let world: AttackWorld;
let passedMs: number;
const began = Date.now();
const asked = (path: string): number => world.issuer.requests.filter((each) => each.path === path).length;

async function start(yaml: string, server = ''): Promise<void> {
  passedMs = 0;
  world = await startAttackWorld({ yaml, server, clock: () => began + passedMs });
}
afterEach(() => world.close());

/** Statuses of a call for each token, a hundred at a time. */
async function statusesOf(tokens: readonly string[]): Promise<Set<number>> {
  const statuses = new Set<number>();
  for (let from = 0; from < tokens.length; from += 100) {
    const calls = tokens.slice(from, from + 100).map(async (token) => {
      const answer = await fetch(`${world.url}/api`, { headers: { authorization: `Bearer ${token}` } });
      await answer.body?.cancel();
      statuses.add(answer.status);
    });
    await Promise.all(calls);
  }
  return statuses;
}

describe('two hundred tokens that each name another key', () => {
  beforeEach(() => start('limits: { failures: off }'));

  test('cause rare fetches of the keys, and do not stop tokens of known keys', async () => {
    await world.forwards(get('/api', await world.token()), 'GET /api');
    const [, claims, signature] = (await world.issuer.sign({ aud: AUDIENCE, scope: 'read' })).split('.');
    const tokens = Array.from({ length: 200 }, (_, i) => {
      const header = JSON.stringify({ alg: 'RS256', typ: 'at+jwt', kid: `k-${i}` });
      return `${Buffer.from(header).toString('base64url')}.${claims}.${signature}`;
    });
    passedMs += 6_000;
    const before = asked('/jwks');
    expect(await statusesOf(tokens)).toEqual(new Set([401]));
    expect(asked('/jwks') - before).toBe(1);
    await world.forwards(get('/api', await world.token({ jti: 'new' })), 'GET /api');
    passedMs += 6_000;
    await statusesOf(tokens.slice(0, 100));
    expect(asked('/jwks') - before).toBe(2);
  });
});

describe('many callers from a few addresses at a slow authorization server', () => {
  beforeEach(() => start('', 'introspection: { client_id: gateway, client_secret: s3cr3t }, timeout: 30s'));

  test('do not delay the first introspection of another caller’s token', async () => {
    world.issuer.intercept = ({ url }, _response, body) => url === '/introspect' && body.includes('guess');
    world.issuer.introspection.set('quiet', { active: true, sub: 'bob', aud: AUDIENCE, scope: 'read' });
    const crowd = Array.from({ length: 500 }, (_, i) => call(`guess-${i}`, `127.0.0.${2 + (i % 5)}`));
    await expect.poll(() => asked('/introspect')).toBeGreaterThan(200);
    expect(await call('quiet', '127.0.0.9').status).toBe(200);
    for (const { abort } of crowd) abort();
    world.upstream.seen.length = 0;
  });
});

/** A call from an address of this machine. */
function call(token: string, localAddress: string): { readonly status: Promise<number>; readonly abort: () => void } {
  const sent = request(`${world.url}/api`, { localAddress, headers: { authorization: `Bearer ${token}` } });
  const status = new Promise<number>((resolve) => {
    sent.on('response', (response) => resolve(response.resume().statusCode ?? 0)).on('error', () => resolve(0));
  });
  sent.end();
  return { status, abort: () => void sent.destroy() };
}
