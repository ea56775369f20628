import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ConnectionPool } from '../../../../src/core/gateway/forward/connection-pool.ts';

interface Answer {
  readonly status: Promise<number>;
  readonly ended: Promise<void>;
  readonly failed: Promise<Error>;
}

/** Sends a GET over `connections`. */
function get(connections: ConnectionPool, path: string, headers: readonly string[] = []): Answer {
  const [status, ended, failed] = [
    Promise.withResolvers<number>(),
    Promise.withResolvers<void>(),
    Promise.withResolvers<Error>(),
  ];
  const handler: Dispatcher.DispatchHandler = {
    onRequestStart() {},
    onResponseStart: (_, code) => status.resolve(code),
    onResponseData() {},
    onResponseEnd: () => ended.resolve(),
    onResponseError: (_, error) => failed.resolve(error),
  };
  connections.dispatch({ path, method: 'GET', headers: [...headers], body: null }, handler);
  return { status: status.promise, ended: ended.promise, failed: failed.promise };
}

/** undici frees the connection of a whole answer a turn of the event loop later. */
async function free({ ended }: Answer): Promise<void> {
  await ended;
  await turn();
  await turn();
}

/** An upstream that holds each stream open, and the connections to it. */
async function started(
  connectionLifetimeMs?: number,
  idleMs = 4_000,
): Promise<{
  readonly connections: ConnectionPool;
  readonly sockets: readonly Socket[];
  readonly streams: readonly ServerResponse[];
}> {
  const sockets: Socket[] = [];
  const streams: ServerResponse[] = [];
  const server = createServer((request: IncomingMessage, response) => {
    if (request.url !== '/stream') {
      response.end('whole');
      return;
    }
    streams.push(response);
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  });
  server.on('connection', (socket) => sockets.push(socket));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const connections = new ConnectionPool({
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connectTimeoutMs: 5_000,
    idleMs,
    connectionLifetimeMs,
  });
  onTestFinished(async () => {
    await connections.destroy();
    server.closeAllConnections();
    server.close();
  });
  return { connections, sockets, streams };
}

test('answers a request beside open streams over one further connection, which it uses again', async () => {
  const { connections, sockets, streams } = await started();
  const open = Array.from({ length: 20 }, () => get(connections, '/stream'));
  expect(await Promise.all(open.map(({ status }) => status))).toEqual(Array.from({ length: 20 }, () => 200));
  for (let request = 0; request < 10; request += 1) await free(get(connections, '/'));
  expect({ streams: streams.length, connections: sockets.length }).toEqual({ streams: 20, connections: 21 });
});

test('uses the connection of a stream again after its end', async () => {
  const { connections, sockets, streams } = await started();
  const stream = get(connections, '/stream');
  await stream.status;
  streams[0]?.end();
  await free(stream);
  for (let request = 0; request < 5; request += 1) await free(get(connections, '/'));
  expect(sockets.length).toBe(1);
});

test('uses the connection again after undici refused a request itself', async () => {
  const { connections, sockets } = await started();
  await free(get(connections, '/'));
  for (let request = 0; request < 5; request += 1) {
    expect(await get(connections, '/', ['bad name', 'x']).failed).toBeInstanceOf(Error);
  }
  await free(get(connections, '/'));
  expect(sockets.length).toBe(1);
});

test('connects anew where the upstream has closed the free connection', async () => {
  const { connections, sockets } = await started();
  await free(get(connections, '/'));
  sockets[0]?.destroy();
  await once(sockets[0] as Socket, 'close');
  await free(get(connections, '/'));
  expect(sockets.length).toBe(2);
});

test('keeps nothing of connections that were closed while they were free', async () => {
  const { connections, sockets, streams } = await started();
  const open = Array.from({ length: 20 }, () => get(connections, '/stream'));
  await Promise.all(open.map(({ status }) => status));
  for (const stream of streams) stream.end();
  await Promise.all(open.map(free));
  expect(connections.size).toBe(20);
  for (const socket of sockets.slice(1)) socket.destroy();
  await vi.waitFor(() => expect(connections.size).toBe(1), { timeout: 10_000 });
  await free(get(connections, '/'));
  expect(sockets.length).toBe(20);
});

test('fails the requests in flight when it is destroyed', async () => {
  const { connections } = await started();
  const stream = get(connections, '/stream');
  await stream.status;
  await connections.destroy();
  expect(await stream.failed).toBeInstanceOf(Error);
});

test('a connection past its lifetime is replaced when it is unused, and a stream on it goes on', async () => {
  const { connections, sockets, streams } = await started(1);
  const stream = get(connections, '/stream');
  await stream.status;
  await free(get(connections, '/'));
  await wait(2);
  await free(get(connections, '/'));
  await free(get(connections, '/'));
  expect(sockets.length).toBeGreaterThanOrEqual(3);
  expect(sockets[0]?.destroyed).toBe(false);
  streams[0]?.end();
  await stream.ended;
});

test('an unused connection is closed after its idle time', async () => {
  const { connections, sockets } = await started(undefined, 1_000);
  await free(get(connections, '/'));
  const [socket] = sockets;
  if (socket?.destroyed === false) await once(socket, 'close');
  await free(get(connections, '/'));
  expect(sockets).toHaveLength(2);
});
