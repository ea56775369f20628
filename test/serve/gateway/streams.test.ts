import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { forThisTest } from '../../support/start-before.ts';
import { request, startMcpWorld, type McpWorld } from '../../worlds/mcp.ts';

/** A world with a stream that its upstream has begun: the answer to the client, and that of the upstream. */
async function streaming(route: string, ...send: Parameters<McpWorld['send']>) {
  const begun = Promise.withResolvers<ServerResponse>();
  const world = await forThisTest(
    startMcpWorld({
      route,
      handle(_request, answer) {
        answer.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
        begun.resolve(answer);
      },
    }),
  );
  world.issuer.introspection.set('opaque', { active: true, sub: 'alice', aud: 'http://gateway.test/mcp' });
  const response = await world.send(...send);
  return { world, response, upstream: await begun.promise };
}
const asOpaque = { method: 'GET', token: 'opaque' };

describe('revalidate', () => {
  test('R-139: ends a stream and its upstream cleanly when its token is revoked', async () => {
    const { world, response, upstream } = await streaming('revalidate: 50ms', undefined, asOpaque);
    const closed = new Promise((resolve) => upstream.once('close', resolve));
    const text = response.text();
    await expect.poll(() => world.issuer.requestsTo('/introspect').length).toBeGreaterThan(2);
    expect(upstream.closed).toBe(false);
    world.issuer.introspection.delete('opaque');
    expect(await text).toBe('data: 1\n\n');
    await closed;
    expect((await world.send(request('ping'), { token: 'opaque' })).status, 'the cache has forgotten it too').toBe(401);
  });

  test('keeps streams while the authorization server is unavailable', async () => {
    const { world, response, upstream } = await streaming('revalidate: 20ms', undefined, asOpaque);
    world.issuer.intercept = (_request, answer) => Boolean(answer.writeHead(500).end());
    const before = world.issuer.requests.length;
    await expect.poll(() => world.issuer.requests.length).toBeGreaterThan(before + 3);
    expect(upstream.closed).toBe(false);
    upstream.end('data: 2\n\n');
    expect(await response.text()).toBe('data: 1\n\ndata: 2\n\n');
  });
});

describe('keepalive', () => {
  test('sends comments on a quiet stream, never within an event', async () => {
    const { response, upstream } = await streaming('keepalive: 30ms', request('tools/call', { name: 'a' }));
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    const readUntil = async (wanted: string): Promise<void> => {
      while (!text.includes(wanted)) text += (await reader?.read())?.value ?? '';
    };
    await readUntil(': keepalive\n\n: keepalive\n\n');
    upstream.write('data: half');
    await readUntil('half');
    const before = text.length;
    await new Promise((resolve) => setTimeout(resolve, 120));
    upstream.end(' whole\n\n');
    await readUntil('whole\n\n');
    expect(text.slice(before)).toBe(' whole\n\n');
  });
});
