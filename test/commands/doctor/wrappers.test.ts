import { McpServer } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { examineUpstream } from '../../../src/commands/doctor/doctor.ts';
import { listTools } from '../../../src/mcp/client/ask-server.ts';
import { namedCallIn } from '../../../src/mcp/client/wrapper.ts';
import type { Route } from '../../../src/core/model/route.ts';
import { loaded } from '../../serve/config/folder.ts';
import { mcpHandler, startHttp } from '../../support/mcp-servers.ts';
import { forThisTest } from '../../support/start-before.ts';

test('a server with a tool that calls others, which the policy does not open, is warned of', async () => {
  const inputSchema = z.object({ tool_name: z.string(), parameters: z.object({}) });
  const handle = mcpHandler(() => {
    const server = new McpServer({ name: 'x', version: '1' });
    for (const name of ['call_tool', 'unlisted']) server.registerTool(name, { inputSchema }, () => ({ content: [] }));
    server.registerTool('search', {}, () => ({ content: [] }));
    return server;
  });
  const { url } = await forThisTest(startHttp((request, response) => void handle(request, response)));
  const found = async (policy: string): Promise<unknown> => {
    const config = await loaded({
      yaml: `public_url: http://127.0.0.1:9
authorization_servers: { main: { issuer: "http://127.0.0.1:9", jwt: { algorithms: [RS256] } } }
routes:
  - { name: mcp, path: /mcp, protocol: mcp, tokens: [jwt], policy: tools, upstream: { url: "${url}/mcp" } }
`,
      files: { 'policies/tools.yaml': policy },
    });
    return examineUpstream(config.routes[0] as Route);
  };
  expect((await listTools(`${url}/mcp`)).tools.map(({ inner }) => inner !== undefined)).toEqual([true, true, false]);
  expect(await found('tools: { call_tool: {}, search: {} }')).toMatchObject({
    status: 'warn',
    text: expect.stringContaining('call other tools, which the policy does not see: "call_tool"'),
    remedy: 'write `inner: { name: /tool_name, arguments: /parameters }` in the entry of "call_tool"',
  });
  expect(await found('tools: { call_tool: { inner: { name: /tool_name } }, search: {} }')).toMatchObject({
    status: 'ok',
  });
  expect(await found('tools: { search: {} }')).toMatchObject({ status: 'ok' });
});

test.each([
  [{ toolName: 'string', params: 'object' }, ['toolName'], { name: '/toolName', arguments: '/params' }],
  [{ name: 'string', input: 'object' }, ['name', 'input'], { name: '/name', arguments: '/input' }],
  [{ name: 'string', input: 'object' }, ['input'], undefined],
  [{ name: 'string', input: 'string' }, ['name'], undefined],
  [{ tool: 'string', input: 'object' }, ['tool'], undefined],
  [{ name: 'object', arguments: 'object' }, ['name'], undefined],
])('%j, of which %j is required: %j', (types, required, expected) => {
  const properties = Object.fromEntries(Object.entries(types).map(([key, type]) => [key, { type }]));
  expect(namedCallIn({ type: 'object', properties, required })).toEqual(expected);
});

test('arguments that may be null are an object too', () => {
  const parameters = { anyOf: [{ type: 'object' }, { type: 'null' }], default: null };
  const schema = { properties: { tool_name: { type: 'string' }, parameters }, required: ['tool_name'] };
  expect(namedCallIn(schema)).toEqual({ name: '/tool_name', arguments: '/parameters' });
});
