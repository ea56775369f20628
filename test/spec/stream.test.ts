import { describe, expect, test } from 'vitest';
import { exchangeRaw, normalized } from '../support/raw.ts';
import { startService, toolList } from './service.ts';
import { startBeforeAll } from '../support/start-before.ts';

const service = startBeforeAll(startService);

const event = `event: message\ndata: ${JSON.stringify(toolList)}\n\n`;

test('R-134: streams in chunks, keeps the connection, and drops the length of the upstream', async () => {
  const { headers, status, text } = await service.message(service.agentToken(), 'tools/list');
  expect([status, text]).toEqual([200, event]);
  expect(Object.fromEntries(headers)).toMatchObject({
    'content-type': 'text/event-stream',
    'transfer-encoding': 'chunked',
    connection: 'keep-alive',
    'x-accel-buffering': 'no',
  });
  expect(headers.get('content-length')).toBeNull();
});

test('R-134: streams a tool listing with these bytes', async () => {
  const body = '{"jsonrpc":"2.0","id":7,"method":"tools/list"}';
  const raw = await exchangeRaw(
    service.gateway.url,
    [
      'POST /mcp HTTP/1.1',
      'Host: gateway.test',
      `Authorization: Bearer ${service.agentToken()}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
  expect(normalized(raw)).toBe(`HTTP/1.1 200 OK
content-type: text/event-stream
date: …
x-accel-buffering: no
connection: close
transfer-encoding: chunked

${Buffer.byteLength(event).toString(16)}\r\n${event}\r\n0\r\n\r\n`);
});

test('R-135: passes on one event named message with the JSON-RPC object of the MCP server', async () => {
  const { text } = await service.message(service.agentToken(), 'tools/list');
  const [, name, data] = /^event: (.*)\ndata: (.*)\n\n$/.exec(text) ?? [];
  expect(name).toBe('message');
  expect(JSON.parse(data ?? '')).toEqual(toolList);
});

describe('the token of the caller', () => {
  test('R-32, R-33: validates the token of each request and never passes it on', async () => {
    const token = service.agentToken();
    await service.message(token, 'tools/list');
    expect(await service.message(undefined, 'tools/list')).toMatchObject({ status: 401 });
    const seen = service.upstream.seen.at(-1);
    expect(JSON.stringify(seen)).not.toContain(token);
  });

  test('R-118: sends the MCP server a token for the API in its place', async () => {
    const token = service.agentToken();
    await service.message(token, 'tools/list');
    expect(service.upstream.seen.at(-1)?.headers.authorization).toBe('Bearer exchanged');
    const asked = service.issuer.requests.findLast(({ path }) => path === '/token');
    expect(Object.fromEntries(new URLSearchParams(asked?.body))).toMatchObject({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: token,
      audience: 'https://api.demo.example',
      scope: 'read',
    });
  });
});
