import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { callOf } from './requests.ts';
import { startAttackWorld, UPSTREAM_TEXT } from '../worlds/attacks.ts';
import { startBeforeAll } from '../support/start-before.ts';

/** A timer counts from the beginning of its turn of the event loop, which may be a moment ago on a busy machine. */
const EARLY_MS = 100;

const world = startBeforeAll(() =>
  startAttackWorld({
    server: 'clock_tolerance: 0s',
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
startBeforeAll(() => new WebSocketServer({ server: world.upstream.server }));

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

/** Opens a WebSocket, and says when it ended. */
async function endOfSocket(token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  const socket = new WebSocket(`${world.url.replace('http', 'ws')}/socket`, { headers });
  await once(socket, 'open');
  await once(socket, 'close');
  return Date.now();
}

/** Opens a stream without reading anything of it, and says when it ended at the upstream. */
async function endOfUnread(token: string): Promise<number> {
  const { hostname, port } = new URL(world.url);
  // What the client never read is reset with it.
  const socket = connect(Number(port), hostname).on('error', () => {});
  socket.write(`GET /api/unread HTTP/1.1\r\nHost: gateway.test\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  const [{ socket: upstream }] = (await once(world.upstream.server, 'request')) as [IncomingMessage];
  socket.pause();
  // By a FIN or a reset, of which `once` would make an error.
  await expect.poll(() => upstream.destroyed).toBe(true);
  socket.destroy();
  return Date.now();
}

test('a stream ends with its token', async () => {
  const exp = Math.ceil(Date.now() / 1000) + 4;
  const token = await world.token({ exp });
  world.upstream.seen.length = 0;
  const unread = endOfUnread(token);
  await expect.poll(() => world.upstream.seen).toHaveLength(1);
  const ends = {
    unread,
    'an event stream': endOf('/api', token),
    'a stream of an MCP server': endOf('/mcp', token),
    'an answer of an MCP server': endOf('/mcp', token, callOf('get_price')),
    'a WebSocket': endOfSocket(token),
  };
  for (const [stream, end] of Object.entries(ends)) {
    expect(await end, stream).toBeGreaterThanOrEqual(exp * 1000 - EARLY_MS);
    expect(await end, stream).toBeLessThan(exp * 1000 + 20_000);
  }
  await expect.poll(() => world.gateway.metrics()).not.toMatch(/open_streams\{[^}]*\} [1-9]/);
});
