import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { refuses, upstream as upstreamLine } from '../../serve/config/edits.ts';
import { edited, loaded } from '../../serve/config/folder.ts';
import { sample, startEditedGateway } from '../../support/gateway.ts';
import { startIssuer } from '../../support/issuer.ts';
import { forThisTest, startBeforeAll } from '../../support/start-before.ts';
import { startUpstream } from '../../support/upstream.ts';
import { request } from '../../worlds/mcp.ts';

const issuer = startBeforeAll(startIssuer);

/** A gateway with bounds, and an upstream whose answers the test lets go. */
async function started(bounds: string, policy = '{}') {
  const held: ServerResponse[] = [];
  const upstream = await forThisTest(startUpstream((_, response) => void held.push(response)));
  const yamlOf = (concurrency: string): string => `
trusted_proxies: [127.0.0.1]
authorization_servers: { main: { issuer: "${issuer.url}", jwt: { algorithms: [RS256] } } }
routes:
  - { name: api, path: /api, public: true, upgrade: websocket, upstream: { url: "${upstream.url}"${concurrency} } }
  - { name: tools, path: /mcp, protocol: mcp, audience: a, policy: tools, upstream: { url: "${upstream.url}"${concurrency} } }
`;
  const gateway = await forThisTest(startEditedGateway(yamlOf(`, concurrency: ${bounds}`), { tools: policy }));
  const gauge = (name: string, route = 'api') => sample(gateway, `sallyport_upstream_${name}{route="${route}"}`);
  return {
    gateway,
    held,
    upstream,
    calls: (route?: string) => gauge('calls', route),
    queue: (route?: string) => gauge('queue', route),
    get: (path = '/api', signal?: AbortSignal) => fetch(gateway.url + path, signal ? { signal } : {}),
    from: (address: string) => fetch(`${gateway.url}/api`, { headers: { 'x-forwarded-for': address } }),
    call: async (subject: string, name = 'look', method = 'tools/call', signal?: AbortSignal) =>
      fetch(`${gateway.url}/mcp`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${await issuer.sign({ aud: 'a', sub: subject })}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body: JSON.stringify(request(method, { name, arguments: {} })),
        ...(signal && { signal }),
      }),
    reload: (concurrency: string) => gateway.save('gateway.yaml', yamlOf(concurrency)),
    has: async (count: number) => {
      await expect.poll(() => held.length).toBe(count);
    },
  };
}

const finish = (response: ServerResponse | undefined): void =>
  void response?.writeHead(200, { 'content-type': 'application/json' }).end('{}');

test('more calls than the upstream may have get 503 with Retry-After, and the upstream never has more', async () => {
  const { get, held, has, gateway, calls } = await started('{ calls: 2 }');
  const first = [get(), get()];
  await has(2);
  const refused = await get();
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)]);
  expect(await gateway.decision()).toMatchObject({
    reason: 'upstream.busy',
    detail: '2 calls are at the upstream, and 0 wait',
  });
  expect(await calls()).toBe(2);
  for (const response of held) finish(response);
  expect((await Promise.all(first)).map(({ status }) => status)).toEqual([200, 200]);
  await expect.poll(() => calls()).toBe(0);
});

test('callers wait in turn, one caller in order; what is over the queue or waits too long is refused', async () => {
  const { call, held, has, queue, upstream } = await started('{ calls: 1, queue: 4, wait: 1s }');
  const all = [call('alice')];
  await has(1);
  for (const [at, subject] of ['alice', 'alice', 'alice', 'bob'].entries()) {
    all.push(call(subject));
    await expect.poll(() => queue('tools')).toBe(at + 1);
  }
  expect((await call('carol')).status).toBe(503);
  const subjects = (): readonly string[] =>
    upstream.seen.map(({ headers: { authorization } }) => String(authorization));
  expect(subjects()).toHaveLength(1);
  finish(held[0]);
  await has(2);
  finish(held[1]);
  await has(3);
  await expect.poll(() => queue('tools')).toBe(2);
  // Alice's second call, then Bob's, then her third, which lasts until the last one has waited too long.
  const [one, two, ...others] = all as [Promise<Response>, Promise<Response>, ...Promise<Response>[]];
  expect([(await one).status, (await two).status]).toEqual([200, 200]);
  finish(held[2]);
  await has(4);
  expect((await (others[2] as Promise<Response>)).status).toBe(200);
  expect((await (others[1] as Promise<Response>)).status).toBe(503);
  finish(held[3]);
  expect((await (others[0] as Promise<Response>)).status).toBe(200);
});

test('the addresses of one network are one caller, and have no turns of their own', async () => {
  const { from, held, has, queue, upstream } = await started('{ calls: 1, queue: 3, wait: 1m }');
  const all = [from('203.0.113.1')];
  await has(1);
  for (const address of ['2001:db8::1', '2001:db8::2', '203.0.113.2']) {
    all.push(from(address));
    await expect.poll(() => queue()).toBe(all.length - 1);
  }
  for (const at of all.keys()) {
    await has(at + 1);
    finish(held[at]);
  }
  await Promise.all(all);
  const turns = upstream.seen.map(({ headers }) => headers['x-forwarded-for']);
  expect(turns).toEqual(
    ['203.0.113.1', '2001:db8::1', '203.0.113.2', '2001:db8::2'].map((each) => `${each}, 127.0.0.1`),
  );
});

test('a caller that leaves while it waits has no turn, and one that leaves its call gives it up', async () => {
  const { get, held, has, queue, calls } = await started('{ calls: 1, queue: 5, wait: 1m }');
  const leaving = new AbortController();
  const first = get('/api', leaving.signal).catch(() => undefined);
  await has(1);
  const waiting = new AbortController();
  const second = get('/api', waiting.signal).catch(() => undefined);
  await expect.poll(() => queue()).toBe(1);
  waiting.abort();
  await second;
  await expect.poll(() => queue()).toBe(0);
  leaving.abort();
  await first;
  await expect.poll(() => calls()).toBe(0);
  const third = get();
  await has(2);
  finish(held[1]);
  expect((await third).status).toBe(200);
});

test('streams count until their header section, other answers to their end', async () => {
  const { get, call, held, has, gateway, calls } = await started(
    '{ calls: 1 }',
    'tools: { look: {} }\nmethods: { "*": {} }',
  );
  const stream = get();
  await has(1);
  held[0]?.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
  await stream;
  await expect.poll(() => calls()).toBe(0);

  const answer = get();
  await has(2);
  held[1]?.writeHead(200).write('a');
  await answer;
  expect((await get()).status).toBe(503);
  held[1]?.end();
  await expect.poll(() => calls()).toBe(0);

  const result = call('alice');
  await has(3);
  held[2]?.writeHead(200, { 'content-type': 'text/event-stream' }).write(': \n\n');
  await result;
  expect((await call('bob')).status).toBe(503);
  held[2]?.end();
  await expect.poll(() => calls('tools')).toBe(0);

  const { port, hostname } = new URL(gateway.url);
  const socket = connect(Number(port), hostname);
  socket.write(
    'GET /api/ws HTTP/1.1\r\nHost: gateway.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  );
  await has(4);
  expect(await calls()).toBe(1);
  held[3]?.socket?.write(
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n',
  );
  await expect.poll(() => calls()).toBe(0);
  expect(socket.destroyed).toBe(false);
  socket.destroy();
});

test('a refused call gives back what quotas counted', async () => {
  const { call, held, has } = await started(
    '{ calls: 1 }',
    'tools: { pay: { quota: [{ count: 1, per: 1h }] }, look: {} }',
  );
  const first = call('bob');
  await has(1);
  expect((await call('alice', 'pay')).status).toBe(503);
  finish(held[0]);
  await first;
  const paid = call('alice', 'pay');
  await has(2);
  finish(held[1]);
  expect((await paid).status).toBe(200);
});

test('a reload keeps the counts, and its bounds apply at once', async () => {
  const { get, held, has, reload, queue } = await started('{ calls: 1, queue: 5, wait: 1m }');
  const all = [get()];
  await has(1);
  all.push(get(), get(), get());
  await expect.poll(() => queue()).toBe(3);
  await reload(', concurrency: { calls: 2, queue: 5, wait: 1m }');
  await has(2);
  expect(await queue()).toBe(2);
  await reload('');
  await has(4);
  for (const response of held) finish(response);
  expect((await Promise.all(all)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
});

refuses(`
upstream concurrency: {} → :13:20: routes[0].upstream.concurrency: missing key: calls
upstream concurrency: { calls: 0 } → :13:29: routes[0].upstream.concurrency.calls: expected an integer from 1 to 100000, found 0
upstream concurrency: { calls: 1, wait: 0s } → :13:38: routes[0].upstream.concurrency.wait: "0s" is too short: at least 1ms
upstream concurrency: { calls: 1, queue: 0, wait: 5m } → accepted
`);

test('with `shared`, check says that each process counts for itself', async () => {
  const { warnings } = await loaded({
    yaml: edited(upstreamLine('concurrency: { calls: 7 }')).concat(
      'session_key: k3y-of-at-least-thirty-two-characters\nshared: redis://127.0.0.1:6379\n',
    ),
  });
  expect(warnings).toContainEqual(expect.stringContaining('with N replicas or workers the upstream gets N × 7 calls'));
});
