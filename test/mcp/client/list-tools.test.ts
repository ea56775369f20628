import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { listen } from '../../../demo/listen.ts';
import { startMcpServer } from '../../../demo/mcp-server.ts';
import { listDefinitions, listTools } from '../../../src/mcp/client/ask-server.ts';
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { startSessionServer } from '../../support/mcp-servers.ts';
import { startStatefulServer } from '../../clients/stateful-server.ts';

/** The URL of a server that answers as the test says. */
async function serverThat(answers: RequestListener): Promise<string> {
  const running = await listen(createServer(answers), 0);
  onTestFinished(() => running.close());
  return running.url;
}

test('lists the tools of a server of the stateless revision, with their hints', async () => {
  const server = await startMcpServer({ port: 0, apiUrl: 'http://127.0.0.1:9' });
  onTestFinished(() => server.close());
  const { revision, tools } = await listTools(`${server.url}/mcp`);
  expect(revision).toBe('2026-07-28');
  expect(tools).toContainEqual({ name: 'get_balance', readOnly: true });
  expect(tools).toContainEqual({ name: 'transfer_funds', readOnly: false });
  const found = await listDefinitions(`${server.url}/mcp`);
  expect(found.map(({ name }) => name)).toContain('transfer_funds');
  expect(found.every(({ sha256, members }) => sha256 !== '' && members['inputSchema'] !== undefined)).toBe(true);
});

test('lists the tools of a server with sessions, and ends its session', async () => {
  const server = await startStatefulServer();
  onTestFinished(() => server.close());
  const { revision, tools } = await listTools(`${server.url}/mcp`);
  expect(revision).toBe('2025-11-25');
  expect(tools.map(({ name }) => name)).toEqual(['list_accounts', 'close_account', 'transfer_funds']);
  const found = await listDefinitions(`${server.url}/mcp`);
  expect(found.map(({ name }) => name)).toEqual(tools.map(({ name }) => name));
  expect(await listDefinitions(`${server.url}/mcp`)).toEqual(found);
  expect(server.sessions.size).toBe(0);
});

const says =
  (status: number, type: string, body: string): RequestListener =>
  (_request, response) =>
    void response.writeHead(status, { 'content-type': type }).end(body);
const rpcError = (code: number, message: string): string =>
  JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } });
const html: RequestListener = (_request, response) => void response.setHeader('content-type', 'text/html').end('<p>');
test.for<[what: string, answers: RequestListener, kind: string, message: RegExp]>([
  ['demands a token', (_, response) => void response.writeHead(401).end(), 'unauthorized', /^answered 401/],
  ['refuses', (_, response) => void response.writeHead(403).end(), 'unauthorized', /^answered 403/],
  ['has another path', (_, response) => void response.writeHead(404).end(), 'other', /^answered 404; .*\/mcp$/],
  ['sends a page', html, 'other', /^answered 200, but not as MCP over Streamable HTTP$/],
  [
    'refuses a foreign Host',
    says(403, 'application/json', rpcError(-32000, 'Invalid Host: 10.0.0.1')),
    'host',
    /^answered 403, "Invalid Host: 10\.0\.0\.1": it checks Host, and does not serve this one$/,
  ],
  [
    'refuses a foreign Host in text',
    says(421, 'text/plain', 'Invalid Host header\n'),
    'host',
    /^answered 421, "Invalid Host header": it checks Host, and does not serve this one$/,
  ],
  [
    'refuses a foreign Host without a word',
    says(421, 'text/plain', ''),
    'host',
    /^answered 421: it checks Host, and does not serve this one$/,
  ],
  [
    'refuses the caller in words',
    says(403, 'application/json', '{"detail":"no such \\u001b[2J user"}'),
    'unauthorized',
    /^answered 403, "no such \\u001b\[2J user": it demands credentials of its own$/,
  ],
  [
    'fails in words that are long',
    says(500, 'application/problem+json', JSON.stringify({ title: 'x'.repeat(3000) })),
    'other',
    /^answered 500, "x{64}…"; many MCP servers listen at \/mcp$/,
  ],
  ['hangs up', (request) => void request.socket.destroy(), 'unreachable', /^UND_ERR_SOCKET$/],
])('a server that %s is a fault in one line', async ([, answers, kind, message]) => {
  const url = await serverThat(answers);
  await expect(listTools(url)).rejects.toMatchObject({ kind, message: expect.stringMatching(message) });
});

test('an address without a server is a fault', async () => {
  const url = await serverThat(() => {});
  await expect(listTools(url.replace(/\d+$/, '1024'))).rejects.toMatchObject({ kind: 'unreachable' });
});

test('a redirect is not followed, and its target is escaped', async () => {
  let requests = 0;
  const url = await serverThat((_, response) => {
    requests += 1;
    response.writeHead(307, { location: '/elsewhere\u{9b}2J' }).end();
  });
  await expect(listTools(url)).rejects.toMatchObject({
    message: String.raw`answered 307 with a redirect to "/elsewhere\u{9b}2J"`,
  });
  expect(requests).toBe(1);
});

test('an answer without end stops at the limit', async () => {
  const url = await serverThat((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const more = (): void => {
      while (response.write('x'.repeat(65_536)));
    };
    response.on('drain', more);
    more();
  });
  await expect(listTools(url, { timeoutMs: 60_000, maxBytes: 200_000 })).rejects.toMatchObject({
    kind: 'other',
    message: 'answered 200, but not as MCP over Streamable HTTP: answered with more than 200000 bytes',
  });
});

test('a server that never answers is a fault after the timeout', async () => {
  const url = await serverThat(() => {});
  await expect(listTools(url, { timeoutMs: 50, maxBytes: 1000 })).rejects.toMatchObject({
    kind: 'unreachable',
    message: 'no answer within 0.05 s',
  });
});

test('a JSON-RPC error is a fault with its code and its words', async () => {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { id } = JSON.parse((await text(request)) || '{}') as { id?: unknown };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32603, message: 'database is down' } }));
  };
  const url = await serverThat((request, response) => void answer(request, response));
  await expect(listTools(url)).rejects.toMatchObject({
    kind: 'other',
    message: expect.stringMatching(/^answered 200 with the MCP error -32603, ".*database is down"$/) as unknown,
  });
});

describe('a server that shows more to clients with capabilities', () => {
  /** Shows `sample` only to clients with sampling, and `plain` only to those without. */
  const start = async (): Promise<string> => {
    const server = await startSessionServer(() => {
      const mcp = new McpServerV1({ name: 'x', version: '1' });
      const answer = () => ({ content: [] });
      mcp.registerTool('get_item', { description: 'Reads.' }, answer);
      mcp.registerPrompt('plan', {}, () => ({ messages: [] }));
      const sample = mcp.registerTool('sample', {}, answer);
      const plain = mcp.registerTool('plain', {}, answer);
      mcp.server.oninitialized = () => {
        const isCapable = mcp.server.getClientCapabilities()?.sampling !== undefined;
        (isCapable ? plain : sample).disable();
      };
      return mcp;
    });
    onTestFinished(() => server.close());
    return server.url;
  };

  test('lists what both get, and names what only the former get', async () => {
    const url = await start();
    const { tools, capableOnly, others } = await listTools(url);
    expect(tools.map(({ name }) => name)).toEqual(['get_item', 'sample', 'plain']);
    expect({ capableOnly, others }).toEqual({ capableOnly: ['sample'], others: ['prompts'] });
    const found = await listDefinitions(url);
    expect(found.map(({ name, needsCapabilities }) => [name, needsCapabilities])).toEqual([
      ['get_item', undefined],
      ['sample', true],
      ['plan', undefined],
      ['plain', undefined],
    ]);
  });
});
