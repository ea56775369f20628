import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiAudience, mcpAudience, metadataUrl, startService, type Service } from './service.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const apiPaths = ['/demo/data', '/demo/highworthdata', '/anything/else'];

test.for(apiPaths)('§5.7 — an agent’s token opens the MCP server, and not %s', async (path) => {
  const token = service.agentToken({ risk: 20 });
  expect(await service.message(token, 'tools/list')).toMatchObject({ status: 200 });
  expect(await service.send(path, { token })).toMatchObject({ status: 401, challenge: 'Bearer error="invalid_token"' });
  expect(await service.message(token, 'tools/list')).toMatchObject({ status: 200 });
});

test('§5.7 — a token of the API does not open the MCP server', async () => {
  const token = await service.apiToken();
  expect(await service.send('/demo/data', { token })).toMatchObject({ status: 200 });
  expect(await service.message(token, 'tools/list')).toMatchObject({
    status: 401,
    challenge: `Bearer error="invalid_token", scope="read", resource_metadata="${metadataUrl}"`,
  });
});

describe('the audience alone decides, too', () => {
  test.for(apiPaths)('§5.7 — a JWT for the MCP server does not open %s', async (path) => {
    expect(await service.send(path, { token: await service.apiToken({ aud: mcpAudience }) })).toMatchObject({
      status: 401,
    });
  });

  test.for([
    [apiAudience, 401],
    [`${mcpAudience}/`, 401],
    [`${mcpAudience}/tools`, 401],
    [mcpAudience.slice(0, -1), 401],
    [undefined, 401],
    [[], 401],
    [{}, 401],
    [mcpAudience, 200],
    [[apiAudience, mcpAudience], 200],
  ] as const)('§5.7 — an opaque token for %j at the MCP server: %d', async ([aud, status]) => {
    expect(await service.message(service.agentToken({ aud }), 'tools/list')).toMatchObject({ status });
  });
});

test('§5.4a, §5.4b — the MCP server takes no JWT, and the API no opaque token', async () => {
  expect(await service.message(await service.apiToken({ aud: mcpAudience }), 'tools/list')).toMatchObject({
    status: 401,
  });
  const token = service.agentToken({ aud: apiAudience });
  expect(await service.send('/demo/data', { token })).toMatchObject({ status: 401 });
});

test('§1.2a, §5.9a, §1/threat3 — a token of a server that is not trusted is asked about at none', async () => {
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
  ['the token without a scheme', { authorization: 'x' }],
] as const)('§5.1 — other credentials than a bearer token in the header open nothing: %s', async ([, headers]) => {
  for (const path of apiPaths) expect(await service.send(path, { headers })).toMatchObject({ status: 401 });
  expect(await service.send('/mcp', { method: 'POST', headers })).toMatchObject({ status: 401 });
});
