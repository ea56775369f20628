/** One caller must not fill the memory of a process by calls that do not end. */
import type { ServerResponse } from 'node:http';
import { beforeEach, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { startTestGateway } from '../support/gateway.ts';
import { startIssuer } from '../support/issuer.ts';
import { head, open } from '../support/raw.ts';
import { startBeforeEach } from '../support/start-before.ts';
import { until } from '../support/until.ts';
import { startUpstream } from '../support/upstream.ts';

/** Answers that the upstream has begun and does not end. */
let held: ServerResponse[];

const issuer = startBeforeEach(startIssuer);
const upstream = startBeforeEach(() =>
  startUpstream((_request, response) => {
    held.push(response);
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
  }),
);
const gateway = startBeforeEach(() =>
  startTestGateway({
    yaml: `
trusted_proxies: [127.0.0.1]
limits: { calls: 2 }
authorization_servers: { main: { issuer: "${issuer.url}", jwt: { algorithms: [RS256] } } }
routes:
  - { name: api, path: /api, audience: a, upgrade: websocket, upstream: { url: "${upstream.url}" } }
  - { name: tools, path: /mcp, protocol: mcp, audience: a, upstream: { url: "${upstream.url}" } }
  - { name: public, path: /public, public: true, upstream: { url: "${upstream.url}" } }
`,
  }),
);
beforeEach(() => {
  held = [];
});

const get = async (path: string, subject?: string, address = '192.0.2.1'): Promise<Response> =>
  fetch(gateway.url + path, {
    headers: {
      'x-forwarded-for': address,
      ...(subject !== undefined && { authorization: `Bearer ${await issuer.sign({ aud: 'a', sub: subject })}` }),
    },
  });

describe('a caller with as many calls under way as a process serves gets 503', () => {
  test('and no other caller does', async () => {
    const streams = [await get('/api', 'alice'), await get('/api', 'alice')];
    const refused = await get('/api', 'alice');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await gateway.decision()).toMatchObject({ reason: 'calls.no_room', subject: 'alice' });
    expect([(await get('/api', 'bob')).status, (await get('/public')).status]).toEqual([200, 200]);
    expect(held).toHaveLength(4);
    await streams[0]?.body?.cancel();
    await until(async () => (await get('/api', 'alice')).status === 200, 'the place of a stream that has ended');
  });

  test('and messages that do not arrive count too', async () => {
    const lines = [`Authorization: Bearer ${await issuer.sign({ aud: 'a', sub: 'alice' })}`, 'Content-Length: 100'];
    const begun = head('POST /mcp', 'Content-Type: application/json', ...lines);
    const parked = [await open(gateway.url, `${begun}{`), await open(gateway.url, `${begun}{`)];
    expect(await until(async () => (await get('/api', 'alice')).status === 503, 'both to be counted')).toBe(true);
    for (const { socket } of parked) socket.destroy();
    await until(async () => (await get('/api', 'alice')).status === 200, 'both to be counted no longer');
  });

  test('and so do handshakes of WebSockets', async () => {
    const authorization = `Bearer ${await issuer.sign({ aud: 'a', sub: 'alice' })}`;
    const sockets = [1, 2].map(
      () => new WebSocket(gateway.url.replace('http', 'ws') + '/api', { headers: { authorization } }),
    );
    for (const socket of sockets) socket.on('error', () => {});
    expect(await until(async () => (await get('/api', 'alice')).status === 503, 'both to be counted')).toBe(true);
    for (const socket of sockets) socket.terminate();
    await until(async () => (await get('/api', 'alice')).status === 200, 'both to be counted no longer');
  });

  test('and without a token the addresses of one network are one caller', async () => {
    await get('/public', undefined, '2001:db8::1');
    await get('/public', undefined, '2001:db8::2');
    expect((await get('/public', undefined, '2001:db8::3')).status).toBe(503);
    expect((await get('/public', undefined, '2001:db8:0:1::1')).status).toBe(200);
  });
});

test('calls that have ended are counted no longer, whatever their answer', async () => {
  for (let left = 3; left > 0; left -= 1) {
    expect((await get('/nowhere', 'alice')).status).toBe(404);
    expect((await fetch(`${gateway.url}/api`)).status).toBe(401);
    const answer = await get('/api', 'alice');
    expect(answer.status).toBe(200);
    held.at(-1)?.end();
    await answer.text();
  }
});
