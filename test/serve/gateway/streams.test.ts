import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import { request, startMcpWorld, type McpWorld } from '../../worlds/mcp.ts';

let world: McpWorld;
afterEach(() => world.close());

/** Answers with an event stream and hands it over. */
function streaming(): Promise<ServerResponse> {
  return new Promise((resolve) => {
    world.handle = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
      resolve(response);
    };
  });
}

describe('revalidate', () => {
  test('R-139: ends a stream and its upstream cleanly when its token is revoked', async () => {
    world = await startMcpWorld({ route: 'revalidate: 50ms' });
    const active = { active: true, sub: 'alice', aud: 'http://gateway.test/mcp' };
    world.issuer.introspection.set('opaque', active);
    const opened = streaming();
    const response = await world.send(undefined, { method: 'GET', token: 'opaque' });
    const upstream = await opened;
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
    world = await startMcpWorld({ route: 'revalidate: 20ms' });
    world.issuer.introspection.set('opaque', { active: true, aud: 'http://gateway.test/mcp' });
    const opened = streaming();
    const response = await world.send(undefined, { method: 'GET', token: 'opaque' });
    const upstream = await opened;
    world.issuer.intercept = (_request, answer) => {
      answer.writeHead(500).end();
      return true;
    };
    const before = world.issuer.requests.length;
    await expect.poll(() => world.issuer.requests.length).toBeGreaterThan(before + 3);
    expect(upstream.closed).toBe(false);
    upstream.end('data: 2\n\n');
    expect(await response.text()).toBe('data: 1\n\ndata: 2\n\n');
  });
});

describe('keepalive', () => {
  test('sends comments on a quiet stream, never within an event', async () => {
    world = await startMcpWorld({ route: 'keepalive: 30ms' });
    const opened = streaming();
    const response = await world.send(request('tools/call', { name: 'a' }));
    const upstream = await opened;
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
