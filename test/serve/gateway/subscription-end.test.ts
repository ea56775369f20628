import { describe, expect, test } from 'vitest';
import { forThisTest } from '../../support/start-before.ts';
import { request, startMcpWorld, type McpWorld } from '../../worlds/mcp.ts';

const version = 'io.modelcontextprotocol/protocolVersion';
const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' };
const listen = request('subscriptions/listen', { notifications: {}, _meta: { [version]: '2026-07-28' } });
const acknowledged = 'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged"}\n\n';
const completed = {
  jsonrpc: '2.0',
  id: 1,
  result: { resultType: 'complete', _meta: { 'io.modelcontextprotocol/subscriptionId': 1 } },
};

interface Opened {
  readonly begins?: string;
  /** Whether its token expires soon. */
  readonly expires?: boolean;
  readonly send?: Parameters<McpWorld['send']>;
}

/** Opens a stream whose upstream never ends it, waits for what it begins with, and then reads the rest. */
async function opened({ begins = acknowledged, expires = false, send = [listen, { headers }] }: Opened) {
  const world = await forThisTest(
    startMcpWorld({
      handle: (_request, response) =>
        void response.writeHead(200, { 'content-type': 'text/event-stream' }).write(begins),
    }),
  );
  const claims = expires ? { exp: Math.ceil(Date.now() / 1000) + 1 } : {};
  const answer = await world.send(send[0], { ...send[1], claims });
  expect(answer.status).toBe(200);
  const reader = answer.body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  let begun = '';
  while (begun.length < begins.length) {
    begun += Buffer.from((await reader.read()).value ?? '').toString();
  }
  expect(begun.slice(0, begins.length)).toBe(begins);
  const rest = async (): Promise<string> => {
    let text = begun.slice(begins.length);
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return text;
      text += Buffer.from(value).toString();
    }
  };
  return { rest, restAfterStop: async () => (await Promise.all([rest(), world.gateway.close()]))[0] };
}

const wanted = `event: message\ndata: ${JSON.stringify(completed)}\n\n`;

describe('a subscription of 2026-07-28 that the gateway ends closes with its result', () => {
  test('R-140: when its token expires', async () => {
    const { rest } = await opened({ expires: true });
    expect(await rest()).toBe(wanted);
  });

  test('when the gateway stops', async () => {
    const { restAfterStop } = await opened({});
    expect(await restAfterStop()).toBe(wanted);
  });

  test('never within an event that the upstream has begun', async () => {
    const { restAfterStop } = await opened({ begins: `${acknowledged}data: {"half` });
    expect(await restAfterStop()).toBe('');
  });
});

test.each<[string, Parameters<McpWorld['send']>]>([
  ['a stream that a legacy GET opened', [undefined, { method: 'GET' }]],
  [
    'the stream of a call',
    [
      request('tools/call', { name: 'a', _meta: { [version]: '2026-07-28' } }),
      { headers: { ...headers, 'mcp-method': 'tools/call', 'mcp-name': 'a' } },
    ],
  ],
])('adds nothing to %s', async (_what, send) => {
  const { restAfterStop } = await opened({ send });
  expect(await restAfterStop()).toBe('');
});
