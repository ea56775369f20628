import { expect, test } from 'vitest';
import { forThisTest } from '../../../support/start-before.ts';
import { modernRequest, startMcpWorld, type McpWorld } from '../../../worlds/mcp.ts';

// test/mcp/private-filter.test.ts has the table of bodies.

const results: Readonly<Record<string, object>> = {
  'server/discover': { supportedVersions: ['2026-07-28'], capabilities: {} },
  'tools/list': { tools: [{ name: 'a' }] },
  'resources/list': { resources: [{ uri: 'a://b', name: 'b' }] },
  'resources/templates/list': { resourceTemplates: [] },
  'resources/read': { contents: [{ uri: 'a://b', text: '\\"cacheScope\\":\\"public\\"' }] },
  'prompts/list': { prompts: [] },
};

const start = (policy: string): Promise<McpWorld> => forThisTest(startMcpWorld({ policy }));

/** What the client gets of a public result. */
async function scopeOf(world: McpWorld, method: string, type = 'application/json', more = {}): Promise<unknown> {
  const result = { ...results[method], resultType: 'complete', ttlMs: 1, cacheScope: 'public' };
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, result });
  world.handle = (_request, response) =>
    void response
      .writeHead(200, { 'content-type': type, ...more })
      .end(type === 'application/json' ? text : `event: message\ndata: ${text}\n\n`);
  const { message, headers } = modernRequest(method, method === 'resources/read' ? { uri: 'a://b' } : {});
  const answer = await world.send(message, { claims: { scope: 'read' }, headers });
  return answer.status === 200 ? /"cacheScope":"(\w+)"/.exec(await answer.text())?.[1] : answer.status;
}

test.each(['filter', 'show'])(
  'R-97: a result that a cache could show to any user is private where the policy tells callers apart: %s',
  async (lists) => {
    const world = await start(
      `scope: read\ntools: { '*': {} }\nresources: { 'a://**': {} }\nprompts: {}\nlists: ${lists}\n`,
    );
    for (const method of Object.keys(results)) {
      expect(await scopeOf(world, method)).toBe('private');
      expect(await scopeOf(world, method, 'text/event-stream')).toBe('private');
    }
    expect(await scopeOf(world, 'server/discover', 'application/json', { 'content-encoding': 'gzip' })).toBe(502);
  },
);

test.each(['{}', 'scope: other\nmode: shadow\n'])(
  'it stays public if no other user could get it: %j',
  async (policy) => {
    const world = await start(policy);
    expect(await scopeOf(world, 'resources/read')).toBe('public');
    expect(await scopeOf(world, 'tools/list')).toBe('public');
  },
);
