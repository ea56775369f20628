import type { ServerResponse } from 'node:http';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { hasRedis, startRedis } from '../support/redis.ts';
import { startBeforeAll } from '../support/start-before.ts';
import { until } from '../support/until.ts';
import { request, startMcpWorld } from '../worlds/mcp.ts';

const result = '{"jsonrpc":"2.0","id":1,"result":{"content":[]}}';
const json = { 'content-type': 'application/json' };
const long = `${' '.repeat(400_000)}${result}`;

const forms: readonly (readonly [string, (response: ServerResponse) => void])[] = [
  ['JSON', (response) => response.writeHead(200, { ...json, 'content-length': result.length }).end(result)],
  ['long JSON', (response) => response.writeHead(200, { ...json, 'content-length': long.length }).end(long)],
  ['JSON in chunks', (response) => response.writeHead(200, json).end(result)],
  [
    'an event stream',
    (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${result}\n\n`),
  ],
  ['an error', (response) => response.writeHead(500, { ...json, 'content-length': 2 }).end('{}')],
  ['a long error', (response) => response.writeHead(500, { ...json, 'content-length': long.length }).end(long)],
  ['an error without a body', (response) => response.writeHead(500, { 'content-length': 0 }).end()],
];

/** A wire to a store that withholds what is asked, on demand. */
async function startWire(target: number) {
  let isHolding = false;
  let asked = Promise.withResolvers<void>();
  let released = Promise.withResolvers<void>();
  const listener = createServer((client) => {
    const server = connect(target, '127.0.0.1');
    server.pipe(client);
    for (const socket of [client, server]) {
      socket.on('error', () => {}).on('close', () => [client, server].forEach((each) => each.destroy()));
    }
    client.on('data', (chunk) => {
      if (!isHolding) return void server.write(chunk);
      asked.resolve();
      void released.promise.then(() => server.write(chunk));
    });
  }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return {
    port: (listener.address() as AddressInfo).port,
    /** From now on, nothing reaches the store. Resolves when something is withheld. */
    hold(): Promise<void> {
      isHolding = true;
      [asked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      return asked.promise;
    },
    release(): void {
      isHolding = false;
      released.resolve();
    },
    close: () => void listener.close(),
  };
}

describe.skipIf(!hasRedis).each(['tools/call', 'ping'])(
  'a client that has its answer can go on at another replica: %s',
  (method) => {
    let headers: Record<string, string>;
    const answer = (response: ServerResponse): void =>
      void response.writeHead(200, { ...json, 'mcp-session-id': 'session' }).end(result);

    const world = startBeforeAll(async () => {
      const redis = await startRedis();
      const wire = await startWire(redis.port);
      const started = await startMcpWorld({
        top: `shared: redis://127.0.0.1:${wire.port}\nsession_key: k3y-of-at-least-thirty-two-characters`,
        policy: 'tools: { pay: { quota: [{ count: 100, per: 1h }] } }',
        handle: (_request, response) => answer(response),
      });
      const end = started.close;
      return Object.assign(started, {
        wire,
        async close() {
          await end();
          wire.close();
          await redis.close();
        },
      });
    });
    beforeAll(async () => {
      const opened = await world.send(request('initialize'));
      headers = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
    });
    beforeEach(async () => {
      world.handle = (_request, response) => answer(response);
      // The gateway starts without waiting for its store, which is away for a moment after it was withheld too long.
      await until(async () => (await world.send(request('tools/call', { name: 'pay' }), { headers })).ok);
    });
    afterEach(() => world.wire.release());

    test.each(forms)('%s', async (_, form) => {
      let settling: Promise<void> | undefined;
      const reached = Promise.withResolvers<void>();
      world.handle = (_request, response) => {
        settling ??= world.wire.hold();
        form(response);
        reached.resolve();
      };
      let hasAnswer = false;
      const call = async (): Promise<void> => {
        const response = await world.send(request(method, { name: 'pay' }), { headers });
        await response.text();
        hasAnswer = true;
      };
      const calling = call();
      await reached.promise;
      await settling;
      // Another answer arrives meanwhile, and what the gateway has sent before it.
      await (await world.send(request('ping'))).text();
      expect(hasAnswer).toBe(false);
      world.wire.release();
      await calling;
      expect(hasAnswer).toBe(true);
    });
  },
);
