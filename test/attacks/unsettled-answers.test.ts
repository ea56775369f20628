import type { ServerResponse } from 'node:http';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createMemoryLedger } from '../../src/capabilities/history/memory-ledger.ts';
import { request, startMcpWorld } from '../worlds/mcp.ts';
import { startBeforeAll } from '../support/start-before.ts';

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

describe.each(['tools/call', 'ping'])('a client that has its answer can go on at another replica: %s', (method) => {
  let headers: Record<string, string>;
  let settling: PromiseWithResolvers<void>;
  let settled: PromiseWithResolvers<void>;

  const world = startBeforeAll(async () => {
    const ledger = createMemoryLedger(() => 0);
    return startMcpWorld({
      policy: 'tools: { pay: { quota: [{ count: 100, per: 1h }] } }',
      ledger: {
        reserve: (reservation) => ledger.reserve(reservation),
        async settle(id, outcome) {
          settling.resolve();
          await settled.promise;
          ledger.settle(id, outcome);
        },
      },
      handle: (_request, response) =>
        void response.writeHead(200, { ...json, 'mcp-session-id': 'session' }).end(result),
    });
  });
  beforeAll(async () => {
    const opened = await world.send(request('initialize'));
    headers = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
  });
  beforeEach(() => {
    [settling, settled] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  });
  afterEach(() => settled.resolve());

  test.each(forms)('%s', async (_, form) => {
    world.handle = (_request, response) => form(response);
    let hasAnswer = false;
    const call = async (): Promise<void> => {
      const response = await world.send(request(method, { name: 'pay' }), { headers });
      await response.text();
      hasAnswer = true;
    };
    const calling = call();
    await settling.promise;
    // Another answer arrives meanwhile, and what the gateway has sent before it.
    await (await world.send(request('ping'))).text();
    expect(hasAnswer).toBe(false);
    settled.resolve();
    await calling;
    expect(hasAnswer).toBe(true);
  });
});
