/** A client revokes its token at the front door: every gateway ends the streams of the token, wherever it runs. */
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Running, start } from '../../src/serve/start.ts';
import { sallyport } from '../serve/process.ts';
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts';
import { hasRedis, type Redis, startRedis } from '../support/redis.ts';
import { keepSecret } from '../support/secrecy.ts';
import { until } from '../support/until.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';
import { createWrittenLog, type WrittenLog } from '../support/written-log.ts';
import { type FrontDoorWorld, startFrontDoorWorld, writeFrontDoorFiles } from '../worlds/front-door.ts';
import { type OAuthClient, registerClient } from '../worlds/oauth-client.ts';

const sessionKey = 'k3y-of-at-least-thirty-two-characters';
keepSecret(sessionKey);

let upstream: Upstream;
beforeAll(async () => {
  upstream = await startUpstream((_request, response) => {
    const message = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`data: ${JSON.stringify(message)}\n\n`);
  });
});
afterAll(() => upstream.close());

/** Resolves when the stream is open. `ended` resolves when the gateway ends it. */
async function openStream(
  url: string,
  publicUrl: string,
  token: unknown,
): Promise<{ readonly ended: Promise<unknown> }> {
  const headers = {
    host: new URL(publicUrl).host,
    authorization: `Bearer ${String(token)}`,
    accept: 'text/event-stream',
  };
  const [response] = (await once(get(`${url}/mcp`, { headers, agent: false }), 'response')) as [IncomingMessage];
  expect(response.statusCode).toBe(200);
  await once(response, 'data');
  return { ended: once(response.on('error', () => {}).resume(), 'close') };
}

async function statusAt(url: string, publicUrl: string, token: unknown): Promise<number | undefined> {
  const headers = { host: new URL(publicUrl).host, authorization: `Bearer ${String(token)}` };
  const [response] = (await once(get(`${url}/mcp`, { headers, agent: false }), 'response')) as [IncomingMessage];
  response.destroy();
  return response.statusCode;
}

/** A client tries again where the front door answers 503 (RFC 7009 §2.2.1): on a busy machine the store is slow. */
async function revoke(client: OAuthClient, token: unknown): Promise<void> {
  await expect.poll(async () => (await client.post({ token: String(token) }, '/revoke')).status).toBe(200);
}

test.each(['1', '2'])('R-242: ends streams of %s workers, where serve started the front door', async (workers) => {
  const files = await writeFrontDoorFiles({ upstream: upstream.url });
  const gateway = sallyport(['serve', '--workers', workers], files.folder);
  try {
    await gateway.says(/"msg":"listening"/);
    await gateway.says(/"msg":"front door listening"/);
    const client = await registerClient(files.issuer);
    const { body } = await client.token();
    const stream = await openStream(files.gatewayUrl, files.gatewayUrl, body['access_token']);
    const untouched = await client.token();
    const other = await openStream(files.gatewayUrl, files.gatewayUrl, untouched.body['access_token']);
    await revoke(client, body['access_token']);
    await stream.ended;
    const [, reason] = await gateway.says(/"msg":"stream ended".*"reason":"([^"]+)"/);
    expect(reason).toBe('token.inactive');
    await revoke(client, untouched.body['access_token']);
    await other.ended;
  } finally {
    gateway.signal('SIGTERM');
    await gateway.ended;
    await files.close();
  }
});

describe.runIf(hasRedis)('with a shared store and a front door apart', () => {
  let redis: Redis;
  let proxy: FaultProxy;
  let world: FrontDoorWorld;
  let replica: Running;
  let log: WrittenLog;

  beforeEach(async () => {
    redis = await startRedis();
    proxy = await startFaultProxy(redis.port, 'client');
    world = await startFrontDoorWorld({
      top: `session_key: ${sessionKey}\nshared: ${redis.url}`,
      upstream: upstream.url,
      isApart: true,
    });
    const { output, ...written } = createWrittenLog();
    log = written;
    const shared = { url: `redis://127.0.0.1:${proxy.port}`, onFailure: 'closed' } as const;
    replica = await start({ ...world.config, listen: { host: '127.0.0.1', port: 0 }, shared }, { output });
    await Promise.all([log, world].map((each) => each.line({ msg: 'shared store available' })));
    // The front door has a connection of its own, which no line is about: until then it answers 503.
    const { issuer } = world;
    await until(async () => (await fetch(`${issuer}/authorize?client_id=unknown`)).status === 400);
  });
  afterEach(async () => {
    await Promise.all([world.close(), replica.close(0)]);
    await Promise.all([redis.close(), proxy.close()]);
  });

  /** The streams that the replica has ended. */
  async function ended(): Promise<number> {
    return (await log.lines()).filter(({ msg }) => msg === 'stream ended').length;
  }

  test('R-268: every replica ends streams, and forgets its positive answer', async () => {
    const client = await registerClient(world.issuer);
    const { body } = await client.token();
    const token = body['access_token'];
    const urls = [world.gateway.url, replica.url];
    const streams = await Promise.all(urls.map((url) => openStream(url, world.gateway.url, token)));
    await revoke(client, token);
    await Promise.all(streams.map(({ ended }) => ended));
    expect(await Promise.all(urls.map((url) => statusAt(url, world.gateway.url, token)))).toEqual([401, 401]);
    const line = await log.line({ msg: 'stream ended' });
    expect(line).toMatchObject({ route: 'tools', reason: 'token.inactive' });
  });

  test('R-268: a replica that was cut off from the store asks again when it is back', async () => {
    const client = await registerClient(world.issuer);
    const [lost, kept] = [(await client.token()).body['access_token'], (await client.token()).body['access_token']];
    const [ends, goesOn] = [
      await openStream(replica.url, world.gateway.url, lost),
      await openStream(replica.url, world.gateway.url, kept),
    ];
    await proxy.fault({ kind: 'refuse' });
    await log.line({ msg: 'shared store unavailable' });
    await revoke(client, lost);
    await proxy.fault(undefined);
    await ends.ended;
    expect(await ended()).toBe(1);
    await revoke(client, kept);
    await goesOn.ended;
    expect(await ended()).toBe(2);
  });

  test('R-268: streams end after an outage of the store, as soon as the front door can answer for them', async () => {
    const client = await registerClient(world.issuer);
    const { body } = await client.token();
    const urls = [world.gateway.url, replica.url];
    const streams = await Promise.all(urls.map((url) => openStream(url, world.gateway.url, body['access_token'])));
    await redis.kill();
    await Promise.all([log, world].map((each) => each.line({ msg: 'shared store unavailable' })));
    // It comes back empty: the front door no longer knows the token.
    await redis.restart();
    await Promise.all(streams.map(({ ended: end }) => end));
    expect(await ended()).toBe(1);
  });

  test('R-268: messages that no replica wrote end nothing', async () => {
    const client = await registerClient(world.issuer);
    const [one, other] = [(await client.token()).body['access_token'], (await client.token()).body['access_token']];
    const streams = [
      await openStream(replica.url, world.gateway.url, one),
      await openStream(replica.url, world.gateway.url, other),
    ] as const;
    const [channel = ''] = await redis.client.pubSubChannels();
    expect(channel).toMatch(/^sallyport:v1:channel:[\w-]{43}$/);
    const digest = hash('sha256', String(one), 'base64url');
    for (const text of [JSON.stringify([digest]), digest, '', 'A'.repeat(3_000_000)]) {
      // A gateway that the store has just lost subscribes again.
      await expect.poll(() => redis.client.publish(channel, text)).toBe(2);
    }
    await revoke(client, other);
    await streams[1].ended;
    expect(await ended()).toBe(1);
    await revoke(client, one);
    await streams[0].ended;
  });
});
