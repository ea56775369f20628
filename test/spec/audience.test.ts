import { describe, expect, test } from 'vitest';
import { apiAudience, mcpAudience, metadataUrl, startService } from './service.ts';
import { startBeforeAll } from '../support/start-before.ts';

const service = startBeforeAll(startService);

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

describe('tokens that differ in their audience alone', () => {
  test.for(apiPaths)('R-35, R-42: refuses a JWT for the MCP server at %s', async (path) => {
    expect(await service.send(path, { token: await service.apiToken({ aud: mcpAudience }) })).toMatchObject({
      status: 401,
    });
  });

  test.for([
    [apiAudience, 401],
    [`${mcpAudience}/`, 401],
    [undefined, 401],
    [mcpAudience, 200],
    [[apiAudience, mcpAudience], 200],
  ] as const)('R-37: answers an opaque token for %j at the MCP server with %d', async ([aud, status]) => {
    expect(await service.message(service.agentToken({ aud }), 'tools/list')).toMatchObject({ status });
  });
});

test('R-38: refuses a JWT at the MCP server and an opaque token at the API', async () => {
  expect(await service.message(await service.apiToken({ aud: mcpAudience }), 'tools/list')).toMatchObject({
    status: 401,
  });
  const token = service.agentToken({ aud: apiAudience });
  expect(await service.send('/demo/data', { token })).toMatchObject({ status: 401 });
});

test('R-34: refuses a token of a server that is not trusted, and asks no server about it', async () => {
  const before = service.issuer.requests.length;
  const token = await service.apiToken({ iss: 'https://elsewhere.example' });
  expect(await service.message(token, 'tools/list')).toMatchObject({ status: 401 });
  expect(await service.send('/demo/data', { token })).toMatchObject({ status: 401 });
  expect(service.issuer.requests.slice(before).filter(({ path }) => path === '/introspect')).toEqual([]);
});

test.for([
  ['none', {}],
  ['Basic', { authorization: 'Basic YWxpY2U6c2VjcmV0' }],
  ['a cookie', { cookie: 'access_token=x' }],
] as const)('R-29: refuses other credentials than a bearer token in the header: %s', async ([, headers]) => {
  for (const path of apiPaths) expect(await service.send(path, { headers })).toMatchObject({ status: 401 });
  expect(await service.send('/mcp', { method: 'POST', headers })).toMatchObject({ status: 401 });
});
