import { afterEach, expect, test, vi } from 'vitest';
import { leastPace } from '../../src/core/gateway/listen/connections.ts';
import { createKey } from '../support/issuer.ts';
import { createProver } from '../support/prover.ts';
import { hasRedis } from '../support/redis.ts';
import { startUpstream } from '../support/upstream.ts';
import { inAWeek, long, startBed } from './bed.ts';
import { patience, patient } from './patience.ts';
import { call } from './seen.ts';
import { head, open, type RawConnection, startRawUpstream } from '../support/raw.ts';
import { until } from '../support/until.ts';
import { startRoutesWorld } from '../worlds/routes.ts';

afterEach(() => void vi.useRealTimers());

test('upstream: closes a kept-alive connection as it is used', patient, async () => {
  const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
  const requests: string[] = [];
  const raw = await startRawUpstream(({ socket }) => {
    socket.on('data', (chunk) => requests.push(chunk.toString('latin1')));
    socket.write(answer);
  });
  const world = await startRoutesWorld([`name: raw, path: /raw, upstream: { url: ${raw.url} }`]);
  const authorization = `Authorization: Bearer ${await world.token()}`;
  for (const [at, request] of [
    head('POST /raw', authorization, 'Content-Length: 4') + 'once',
    head('GET /raw', authorization),
  ].entries()) {
    const client = await open(world.url, head('GET /raw', authorization));
    await client.has('\r\n\r\nok');
    const kept = raw.connections.at(-1) as RawConnection;
    // Closed with the first byte of the next request: the gateway cannot have known.
    kept.socket.prependOnceListener('data', () => kept.socket.resetAndDestroy());
    const [before, connections] = [client.received().length, raw.connections.length];
    client.socket.write(request);
    await until(() => /HTTP\/1\.1 (?:502|200) /.test(client.received().slice(before)), 'an answer');
    expect(client.received().slice(before), `request ${at}`).toContain(' 502 ');
    expect(raw.connections.length, 'it is not sent again').toBe(connections);
    client.socket.destroy();
  }
  await world.close();
  await raw.close();
});

test('upstream: sends interim answers without end', patient, async () => {
  const raw = await startRawUpstream(({ socket }) => {
    const timer = setInterval(() => socket.write('HTTP/1.1 102 Processing\r\n\r\n'), 50);
    socket.once('close', () => clearInterval(timer));
  });
  const world = await startRoutesWorld([
    `name: raw, path: /raw, upstream: { url: ${raw.url}, timeouts: { response: 1s } }`,
  ]);
  const authorization = `Authorization: Bearer ${await world.token()}`;
  const client = await open(world.url, head('GET /raw', authorization));
  await client.has('HTTP/1.1 504 ');
  expect(await until(() => raw.connections.every(({ ended }) => ended() !== undefined), 'it to be given up')).toBe(
    true,
  );
  client.socket.destroy();
  await world.close();
  await raw.close();
});

test('authorization server: comes back with other keys', patient, async () => {
  const bed = await startBed(long);
  const statusOf = async (token: string): Promise<number | undefined> =>
    (await call(bed, '/api', { headers: { authorization: `Bearer ${token}` } })).status;
  const { issuer } = bed.server;
  const [old, later] = [await bed.token(), await bed.token({ jti: 'not shown before' })];
  expect(await statusOf(old)).toBe(200);

  await bed.server.down();
  expect(await statusOf(old), 'one that is known').toBe(200);
  const next = await createKey('k2');
  const claims = { aud: 'r', scope: 'read' };
  const renewed = await issuer.sign({ ...claims, exp: inAWeek() }, { key: next });
  // The gateway does not know the key, and cannot fetch the new ones while the server is down.
  bed.advance(61);
  expect(await statusOf(renewed)).toBe(503);

  issuer.keys = [next.publicJwk];
  await bed.server.up();
  bed.advance(61);
  await expect.poll(() => statusOf(renewed), patience).toBe(200);
  expect(await statusOf(old), 'served before, signed by the key that is gone').toBe(401);
  expect(await statusOf(later), 'signed by the key that is gone').toBe(401);
  const forged = await issuer.sign({ ...claims, exp: inAWeek() }, { key: { ...issuer.key, kid: 'k2' } });
  expect(await statusOf(forged), 'signed by the key that is gone, as if by the new one').toBe(401);
  await bed.close();
});

test('shared store: is killed and comes back empty', patient, async () => {
  if (!hasRedis) return;
  const bed = await startBed(long);
  const prover = await createProver('ES256', bed.clock);
  const token = await bed.token({ cnf: prover.cnf });
  const proof = () => prover.headers({ url: 'http://gateway.test/proven', token });
  const statusOf = async (headers: Record<string, string>) => (await call(bed, '/proven', { headers })).status;
  const used = await proof();
  await expect.poll(async () => statusOf(await proof()), patience).toBe(200);
  await expect.poll(() => statusOf(used), patience).toBe(200);

  await bed.redis?.kill();
  expect(await statusOf(await proof()), 'no proof can be checked').toBe(503);
  expect(await statusOf(used)).toBe(503);
  const plain = { authorization: `Bearer ${await bed.token()}` };
  expect((await call(bed, '/api', { headers: plain })).status, 'what needs no store').toBe(200);

  await bed.redis?.restart();
  await expect.poll(async () => statusOf(await proof()), patience).toBe(200);
  await expect.poll(() => statusOf(used), patience).toBe(401);
  await bed.close();
});

test('client: sends a body too slowly', patient, async () => {
  // As slowly as the gateway lets it at most: what a window of its own length shows is in test/core/gateway/listen/connections.test.ts.
  expect(leastPace).toEqual({ windowMs: 30_000, bytes: 4_096 });
  const upstream = await startUpstream();
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const gateway = await startRoutesWorld([`name: slow, path: /slow, public: true, upstream: { url: ${upstream.url} }`]);
  const fields = ['Transfer-Encoding: chunked'];
  const client = await open(gateway.url, `${head('POST /slow', ...fields)}1\r\nx\r\n`);
  await expect
    .poll(() => {
      vi.advanceTimersByTime(leastPace.windowMs);
      return client.received();
    }, patience)
    .toMatch(/^HTTP\/1\.1 408 /);
  await expect.poll(client.ended, patience).toBeDefined();
  await gateway.decision({ allow: false, reason: 'request.timeout' });
  vi.useRealTimers();
  await Promise.all([gateway.close(), upstream.close()]);
});
