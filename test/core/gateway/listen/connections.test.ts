import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { connect, Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { listen as listenAt } from '../../../../demo/listen.ts';
import { Connections, watchSlowBodies } from '../../../../src/core/gateway/listen/connections.ts';
import { defaultPatience, listen } from '../../../../src/core/gateway/listen/server.ts';
import { open } from '../../../support/raw.ts';
import { forThisTest } from '../../../support/start-before.ts';
import { until } from '../../../support/until.ts';
import { isFreed } from '../../../support/small-collections.ts';

const pace = { windowMs: 200, bytes: 100 };

/** A listener that reads bodies, or not, and answers at their end; with the sockets that were found slow. */
async function start(reads = true) {
  const connections = new Connections();
  const sockets = new Set<Socket>();
  const slow: Socket[] = [];
  const server = createServer((request, response) => {
    connections.begun(request, response);
    if (reads) request.resume().once('end', () => response.end('ok'));
  }).on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).once('close', () => sockets.delete(socket));
  });
  const onSlow = (socket: Socket): void => {
    slow.push(socket);
    socket.destroy();
  };
  watchSlowBodies(server, { sockets, connections, onSlow, pace });
  const { url } = await forThisTest(listenAt(server, 0));
  const client = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {});
  onTestFinished(() => void client.destroy());
  let received = '';
  client.on('data', (chunk) => (received += chunk.toString()));
  return { slow, client, received: () => received };
}

/** Sends `bytes` of a body again and again until `enough`. */
async function dribble(client: Socket, bytes: number, everyMs: number, enough: () => boolean): Promise<void> {
  client.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n');
  while (!enough()) {
    client.write('x'.repeat(bytes));
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

test('ends a connection whose body comes a byte at a time', async () => {
  const { slow, client } = await start();
  await dribble(client, 1, 20, () => slow.length > 0);
  expect(slow).toHaveLength(1);
});

test('lets a steady body take many windows', async () => {
  const { slow, client } = await start();
  const end = performance.now() + 8 * pace.windowMs;
  // Far more than it must, so that a machine that stands still for a moment is none that dribbles.
  await dribble(client, 2_000, 4, () => performance.now() > end);
  expect(slow).toEqual([]);
});

test('does not end a connection whose body the gateway does not read', async () => {
  const { slow, client } = await start(false);
  const end = performance.now() + 4 * pace.windowMs;
  await dribble(client, 1, 20, () => performance.now() > end);
  expect(slow).toEqual([]);
});

test('does not end a connection that waits for an answer or for a next request', async () => {
  const { slow, client, received } = await start();
  client.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx');
  await expect.poll(received).toContain('ok');
  await new Promise((resolve) => setTimeout(resolve, 4 * pace.windowMs));
  expect(slow).toEqual([]);
});

// Node keeps a closed socket until the next full collection of garbage, and with it whatever is remembered for it: small
// collections took twenty times as long where each request had a connection of its own.
test('a closed connection frees its last response', async () => {
  const connections = new Connections();
  const socket = new Socket();
  const response = (): ServerResponse => {
    const request = new IncomingMessage(socket);
    const answer = new ServerResponse(request);
    connections.begun(request, answer);
    return answer;
  };
  expect(await isFreed(response)).toBe(false);
  const ofClosed = (): ServerResponse => {
    const last = response();
    socket.emit('close');
    return last;
  };
  expect(await isFreed(ofClosed)).toBe(true);
});

test('RFC 9112 §9.6: a header section that ends after its 408 is not served', async () => {
  expect(defaultPatience).toEqual({ handshakeMs: 10_000, headersMs: 15_000 });
  const events: string[] = [];
  const listener = await listen({
    address: { host: '127.0.0.1', port: 0 },
    maxHeaderBytes: 16_384,
    idleMs: 75_000,
    patience: { ...defaultPatience, headersMs: 200 },
    onRequest: ({ url }) => void events.push(`request of ${url}`),
    onMalformed(reason) {
      events.push(reason);
      return { status: 408, requestId: 'x' };
    },
  });
  const client = await open(listener.url, 'GET /late HTTP/1.1\r\nHost: a\r\n');
  await client.has('HTTP/1.1 408 ');
  client.socket.end('\r\n');
  await until(() => client.ended() !== undefined);
  expect(events).toEqual(['request.timeout']);
  await listener.close(0);
});
