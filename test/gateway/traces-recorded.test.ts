import { afterEach, describe, expect, test } from 'vitest';
import { clientSpan, startTracedWorld, toolCall, traceId, type TracedWorld } from '../worlds/traces.ts';

let world: TracedWorld;
afterEach(() => world.close());

test('records the decision on a proxy’s question without an upstream', async () => {
  world = await startTracedWorld('', 'forward_auth: { listen: "127.0.0.1:0", trusted: [127.0.0.1] }');
  const response = await fetch(`${world.gateway.forwardAuthUrl}/_sallyport/authorize`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await world.token({ scope: 'read' })}`,
      'content-type': 'application/json',
      'x-forwarded-method': 'POST',
      'x-forwarded-uri': '/mcp',
      'x-forwarded-host': 'gateway.test',
      traceparent: `00-${traceId}-${clientSpan}-01`,
    },
    body: JSON.stringify(toolCall('get_price')),
  });
  expect(response.status).toBe(200);
  const spans = await world.trace(traceId);
  expect(spans['POST']).toBeUndefined();
  expect(spans['authorize']?.parentId).toBe(spans['POST /mcp']?.spanId);
  expect((await world.decided())['trace_id']).toBe(traceId);
});

describe('the sampled flag of a client', () => {
  const ask = (flags: string): Promise<Response> =>
    world.send(toolCall('get_price'), { headers: { traceparent: `00-${traceId}-${clientSpan}-${flags}` } });

  test('is obeyed and forwarded if it is unset', async () => {
    world = await startTracedWorld();
    await ask('00');
    expect(world.upstream.seen[0]?.headers.traceparent).toMatch(
      new RegExp(`^00-${traceId}-(?!${clientSpan}).{16}-00$`),
    );
    expect((await world.decided())['trace_id']).toBe(traceId);
    await world.gateway.close();
    expect(world.collector.spans.filter((span) => span.traceId === traceId)).toEqual([]);
  });

  test('is subject to `sample` if the client is not trusted', async () => {
    world = await startTracedWorld(', sample: 0');
    await ask('01');
    expect(world.upstream.seen[0]?.headers.traceparent).toMatch(
      new RegExp(`^00-${traceId}-(?!${clientSpan}).{16}-00$`),
    );
    await world.send(toolCall('get_price'));
    expect((await world.decided())['trace_id'], 'not recorded, but named').toMatch(/^[0-9a-f]{32}$/);
    await world.gateway.close();
    expect(world.collector.spans).toEqual([]);
  });

  test('is obeyed if the client is a trusted proxy', async () => {
    world = await startTracedWorld(', sample: 0', 'trusted_proxies: [127.0.0.1]');
    await ask('01');
    expect((await world.trace(traceId))['POST /mcp']?.parentId).toBe(clientSpan);
  });
});
