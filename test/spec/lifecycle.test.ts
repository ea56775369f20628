import { describe, expect, test } from 'vitest';
import { apiAudience, mcpAudience, metadataUrl, startService, toolList } from './service.ts';
import { forThisTest, startBeforeAll } from '../support/start-before.ts';
import { exchangeRaw, normalized } from '../support/raw.ts';

const service = startBeforeAll(startService);

const begin = `Bearer error="invalid_token", scope="read", resource_metadata="${metadataUrl}"`;

const transfer = { name: 'transfer_funds', arguments: { from: 'savings', to: 'trading', amount: 10 } };

/** What the authorization server gives for the scope of the challenge. */
function highPrivilege(lifetimeS: number): string {
  const iat = Math.floor(Date.now() / 1000);
  return service.agentToken({ scope: 'read payments', iat, exp: iat + lifetimeS });
}

test('R-126: forwards the message of a valid token unchanged and returns the data', async () => {
  const { status, text } = await service.message(service.agentToken(), 'tools/call', { name: 'get_balance' });
  expect(status).toBe(200);
  expect(JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? '')).toEqual(toolList);
  expect(service.upstream.seen.at(-1)).toMatchObject({
    method: 'POST',
    url: '/mcp',
    body: '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get_balance"}}',
  });
});

test('R-86: passes the repeated request with the new token', async () => {
  expect(await service.message(highPrivilege(60), 'tools/call', transfer)).toMatchObject({ status: 200 });
});

test.for([61, 900])('R-19, R-85: refuses a high-privilege token of %i s without a challenge', async (lifetime) => {
  const refused = { status: 403, challenge: null };
  expect(await service.message(highPrivilege(lifetime), 'tools/call', transfer)).toMatchObject(refused);
});

test('R-85: serves the other tools to that token', async () => {
  expect(await service.message(highPrivilege(900), 'tools/list')).toMatchObject({ status: 200 });
});

test('R-138: answers 401 once a cached token has expired', async () => {
  const own = await forThisTest(startService());
  const iat = Math.floor(Date.now() / 1000);
  const token = own.agentToken({ iat, exp: iat + 60 });
  const answers: (readonly [number, string | null])[] = [];
  for (const seconds of [0, 45, 21]) {
    own.advance(seconds);
    const { status, challenge } = await own.message(token, 'tools/list');
    answers.push([status, challenge]);
  }
  expect(answers).toEqual([
    [200, null],
    [200, null],
    [401, begin],
  ]);
});

const event = `event: message\ndata: ${JSON.stringify(toolList)}\n\n`;

test('R-134, R-135: streams a tool listing with these bytes, one event named message', async () => {
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

const apiPaths = ['/demo/data', '/anything/else'];

test.for(apiPaths)('R-35: accepts an agent’s token at the MCP server and refuses it at %s', async (path) => {
  const token = service.agentToken({ risk: 20 });
  expect(await service.message(token, 'tools/list')).toMatchObject({ status: 200 });
  expect(await service.send(path, { token })).toMatchObject({ status: 401, challenge: 'Bearer error="invalid_token"' });
  expect(await service.message(token, 'tools/list')).toMatchObject({ status: 200 });
});

test('R-35: refuses a token for the API at the MCP server', async () => {
  const token = await service.apiToken();
  expect(await service.send('/demo/data', { token })).toMatchObject({ status: 200 });
  expect(await service.message(token, 'tools/list')).toMatchObject({
    status: 401,
    challenge: `Bearer error="invalid_token", scope="read", resource_metadata="${metadataUrl}"`,
  });
});

test.for([
  [apiAudience, 401],
  [`${mcpAudience}/`, 401],
  [undefined, 401],
  [mcpAudience, 200],
  [[apiAudience, mcpAudience], 200],
] as const)('R-37: answers an opaque token for %j alone at the MCP server with %d', async ([aud, status]) => {
  expect(await service.message(service.agentToken({ aud }), 'tools/list')).toMatchObject({ status });
});

test('R-38: refuses a JWT at the MCP server and an opaque token at the API', async () => {
  expect(await service.message(await service.apiToken({ aud: mcpAudience }), 'tools/list')).toMatchObject({
    status: 401,
  });
  const token = service.agentToken({ aud: apiAudience });
  expect(await service.send('/demo/data', { token })).toMatchObject({ status: 401 });
});
