import { afterEach, describe, expect, test } from 'vitest';
import { request, startMcpWorld, type McpWorld } from '../worlds/mcp.ts';

let world: McpWorld;
afterEach(() => world.close());

const version = 'io.modelcontextprotocol/protocolVersion';
const results: Readonly<Record<string, object>> = {
  'server/discover': { supportedVersions: ['2026-07-28'], capabilities: {} },
  'tools/list': { tools: [{ name: 'a' }] },
  'resources/list': { resources: [{ uri: 'a://b', name: 'b' }] },
  'resources/templates/list': { resourceTemplates: [] },
  'resources/read': { contents: [{ uri: 'a://b', text: '\\"cacheScope\\":\\"public\\"' }] },
  'prompts/list': { prompts: [] },
};

/** What the client gets of a public result. */
async function scopeOf(method: string, type = 'application/json'): Promise<unknown> {
  const text = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    result: { ...results[method], resultType: 'complete', ttlMs: 1, cacheScope: 'public' },
  });
  world.handle = (_request, response) =>
    void response
      .writeHead(200, { 'content-type': type })
      .end(type === 'application/json' ? text : `event: message\ndata: ${text}\n\n`);
  const uri = method === 'resources/read' ? { uri: 'a://b' } : {};
  const answer = await world.send(request(method, { ...uri, _meta: { [version]: '2026-07-28' } }), {
    claims: { scope: 'read' },
    headers: {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(method === 'resources/read' && { 'mcp-name': 'a://b' }),
    },
  });
  expect(answer.status).toBe(200);
  return /"cacheScope":"(\w+)"/.exec(await answer.text())?.[1];
}

describe('a result that a cache could show to any user (MCP 2026-07-28, CacheableResult)', () => {
  test.each(Object.keys(results))('R-97: is private where the policy tells callers apart: %s', async (method) => {
    for (const lists of ['filter', 'show']) {
      // oxlint-disable no-await-in-loop -- One world at a time.
      world = await startMcpWorld({
        policy: `scope: read\ntools: { '*': {} }\nresources: { 'a://**': {} }\nprompts: {}\nlists: ${lists}\n`,
      });
      expect(await scopeOf(method)).toBe('private');
      expect(await scopeOf(method, 'text/event-stream')).toBe('private');
      await world.close();
      // oxlint-enable no-await-in-loop
    }
  });

  test.each(['{}', 'scope: other\nmode: shadow\n'])(
    'stays public if no other user could get it: %j',
    async (policy) => {
      world = await startMcpWorld({ policy });
      expect(await scopeOf('resources/read')).toBe('public');
      expect(await scopeOf('tools/list')).toBe('public');
    },
  );

  test('is refused if it is compressed', async () => {
    world = await startMcpWorld({ policy: 'scope: read' });
    world.handle = (_request, response) =>
      void response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end('x');
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'server/discover' };
    const params = { _meta: { [version]: '2026-07-28' } };
    const answer = await world.send(request('server/discover', params), { claims: { scope: 'read' }, headers });
    expect(answer.status).toBe(502);
  });
});
