import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { callOf } from './requests.ts';
import { AUDIENCE, startAttackWorld, UPSTREAM_TEXT } from '../worlds/attacks.ts';
import { startBeforeEach } from '../support/start-before.ts';

/** A timer counts from the beginning of its turn of the event loop, which may be a moment ago on a busy machine. */
const EARLY_MS = 100;

let sockets: WebSocketServer;

const world = startBeforeEach(() =>
  startAttackWorld({
    server: 'introspection: { client_id: gateway, client_secret: s3cr3t, cache: 10m }, clock_tolerance: 0s',
    routes: [
      `name: asked, path: /asked, audience: "${AUDIENCE}", revalidate: 50ms, upgrade: websocket, upstream: { url: "UPSTREAM/asked" }`,
    ],
    answer: (request, response) => {
      if (request.url === '/alive') {
        response.end(UPSTREAM_TEXT);
        return;
      }
      response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .write(`data: ${JSON.stringify(UPSTREAM_TEXT)}\n\n`);
      // It never ends by itself, and says something all the time: who only waits for silence never ends it.
      const timer = setInterval(() => response.write('data: 1\n\n'), 5);
      response.on('close', () => clearInterval(timer));
    },
  }),
);
beforeEach(async () => {
  sockets = new WebSocketServer({ server: world.upstream.server });
});
afterEach(async () => {
  sockets.close();
});

/** Reads a stream to its end, and says when that was. */
async function endOf(path: string, token: string, post?: string): Promise<number> {
  const type = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const answer = await fetch(`${world.url}${path}`, {
    method: post === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${token}`, ...(post !== undefined && type) },
    ...(post !== undefined && { body: post }),
  });
  expect(answer.status).toBe(200);
  // Ended in order: the client connects again, and gets the reason of the refusal.
  await answer.text();
  return Date.now();
}

describe('a stream ends with its token', () => {
  test.each([
    ['an event stream', '/api', undefined],
    ['a stream of an MCP server', '/mcp', undefined],
    ['an answer of an MCP server', '/mcp', callOf('get_price')],
  ])('%s', async (_what, path, post) => {
    const exp = Math.ceil(Date.now() / 1000) + 2;
    const ended = await endOf(path, await world.token({ exp }), post);
    expect(ended).toBeGreaterThanOrEqual(exp * 1000 - EARLY_MS);
    expect(ended).toBeLessThan(exp * 1000 + 5_000);
    await expect.poll(() => world.gateway.metrics()).not.toMatch(/open_streams\{[^}]*\} [1-9]/);
  });

  test('a WebSocket', async () => {
    const exp = Math.ceil(Date.now() / 1000) + 2;
    const headers = { authorization: `Bearer ${await world.token({ exp })}` };
    const socket = new WebSocket(`${world.url.replace('http', 'ws')}/socket`, { headers });
    await once(socket, 'open');
    await once(socket, 'close');
    expect(Date.now()).toBeGreaterThanOrEqual(exp * 1000 - EARLY_MS);
  });

  test('ends even if the client reads nothing', async () => {
    const exp = Math.ceil(Date.now() / 1000) + 2;
    const { hostname, port } = new URL(world.url);
    // What it never read is reset with it.
    const socket = connect(Number(port), hostname).on('error', () => {});
    socket.write(
      `GET /api HTTP/1.1\r\nHost: gateway.test\r\nAuthorization: Bearer ${await world.token({ exp })}\r\n\r\n`,
    );
    await expect.poll(() => world.upstream.seen).toHaveLength(1);
    socket.pause();
    const [upstream] = [...world.upstream.sockets];
    // By a FIN or a reset, of which `once` would make an error.
    await expect.poll(() => upstream?.destroyed).toBe(true);
    expect(Date.now()).toBeGreaterThanOrEqual(exp * 1000 - EARLY_MS);
    socket.destroy();
  });
});

test('a stream ends when its token is revoked, although the token is cached', async () => {
  world.issuer.introspection.set('opaque', { active: true, sub: 'alice', aud: AUDIENCE, scope: 'read' });
  const streams = [endOf('/asked', 'opaque'), endOf('/asked', 'opaque')];
  await expect.poll(() => world.upstream.seen).toHaveLength(2);
  world.issuer.introspection.delete('opaque');
  await Promise.all(streams);
  expect((await fetch(`${world.url}/asked`, { headers: { authorization: 'Bearer opaque' } })).status).toBe(401);
});
