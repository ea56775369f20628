import { createServer } from 'node:http';

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { beforeAll, describe, expect, it } from 'vitest';

import { listen } from '../../demo/listen.ts';
import { startMcpServer } from '../../demo/mcp-server.ts';
import { startBeforeAll } from '../support/start-before.ts';
import { sendJson } from '../support/upstream.ts';

/** Stands for the demo API: answers with what it was shown. */
let url: URL;

const api = startBeforeAll(async () => {
  const echo = createServer(({ url, headers: { authorization } }, response) => {
    sendJson(response, 200, { url, authorization });
  });
  return listen(echo, 0);
});
const server = startBeforeAll(() => startMcpServer({ port: 0, apiUrl: api.url }));
beforeAll(async () => {
  url = new URL(`${server.url}/mcp`);
});

const toolNames = [
  'list_accounts',
  'get_balance',
  'get_prices',
  'transfer_funds',
  'close_account',
  'get_demo_data',
  'get_high_worth_data',
];
const balance = { name: 'get_balance', arguments: { account: 'savings' } };
const balanceAnswer = [{ type: 'text', text: '{"id":"savings","currency":"SEK","balance":12500}' }];

async function connect(mode: 'legacy' | { pin: string }, headers: Record<string, string> = {}): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
  return client;
}

describe.each([
  { revision: '2026-07-28', mode: { pin: '2026-07-28' } },
  { revision: '2025-11-25', mode: 'legacy' as const },
])('the official client v2 in revision $revision', ({ revision, mode }) => {
  it('R-207: lists and calls the tools', async () => {
    const client = await connect(mode);
    expect(client.getNegotiatedProtocolVersion()).toBe(revision);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(toolNames);
    expect(tools.every(({ inputSchema }) => inputSchema.type === 'object')).toBe(true);
    expect((await client.callTool(balance)).content).toEqual(balanceAnswer);
    await client.close();
  });

  it('R-209: calls the API with the credential of its own request', async () => {
    const client = await connect(mode, { authorization: 'Bearer exchanged' });
    const result = await client.callTool({ name: 'get_demo_data', arguments: {} });
    expect(result.content).toEqual([{ type: 'text', text: '{"url":"/demo/data","authorization":"Bearer exchanged"}' }]);
    await client.close();
  });
});

it('R-208: answers a listing with one event named message on a chunked stream', async () => {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/list' }),
  });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  expect(response.headers.get('transfer-encoding')).toBe('chunked');
  expect(response.headers.get('connection')).toBe('keep-alive');
  const frame = await response.text();
  const [, payload] = /^event: message\ndata: (.*)\n\n$/.exec(frame) ?? [];
  expect(JSON.parse(payload ?? frame)).toMatchObject({ jsonrpc: '2.0', id: 7, result: { tools: expect.any(Array) } });
});
