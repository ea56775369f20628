import { afterEach, describe, expect, test } from 'vitest';
import type { CollectedSpan } from '../support/otlp.ts';
import { request, startMcpWorld, type McpWorld } from '../worlds/mcp.ts';
import { clientSpan, startTracedWorld, traceId, type TracedWorld } from '../worlds/traces.ts';

let world: McpWorld;
afterEach(() => world.close());

const other = 'a'.repeat(32);
const named = (flags = '01'): string => `00-${traceId}-${clientSpan}-${flags}`;
/** A call whose `_meta` names a trace, as SEP-414 says. */
const callIn = (meta: object, name = 'get_price'): object => request('tools/call', { name, _meta: meta });
const meta = { traceparent: named(), tracestate: 'rojo=1', baggage: 'userId=alice' };

async function startTraced(telemetry?: string): Promise<TracedWorld> {
  const started = await startTracedWorld(telemetry);
  world = started;
  return started;
}

describe('with telemetry', () => {
  test('R-148: uses the trace of the message for all spans, and forwards the message unchanged', async () => {
    const traced = await startTraced();
    const message = callIn(meta);
    expect((await traced.send(message)).status).toBe(200);
    const spans = await traced.trace(traceId);
    expect(Object.keys(spans).toSorted()).toEqual(['GET jwks', 'POST', 'POST /mcp', 'authenticate', 'authorize']);
    const server = spans['POST /mcp'] as CollectedSpan;
    expect(server).toMatchObject({ kind: 'server', parentId: clientSpan, traceState: 'rojo=1' });
    expect(server.attributes).toMatchObject({ 'http.route': '/mcp', 'mcp.method.name': 'tools/call' });
    for (const name of ['authenticate', 'authorize', 'POST']) expect(spans[name]?.parentId).toBe(server.spanId);
    expect(spans['GET jwks']?.parentId).toBe(spans['authenticate']?.spanId);
    const { headers, body } = traced.upstream.seen[0] ?? {};
    expect(body).toBe(JSON.stringify(message));
    expect(headers?.traceparent).toBe(`00-${traceId}-${spans['POST']?.spanId}-01`);
    expect((await traced.decided())['trace_id']).toBe(traceId);
    await traced.gateway.close();
    expect(traced.collector.spans.every((span) => span.traceId === traceId)).toBe(true);
  });

  test('uses the trace of the message for a refusal', async () => {
    const traced = await startTraced();
    expect((await traced.send(callIn(meta, 'unlisted'))).status).toBe(403);
    expect((await traced.trace(traceId))['POST /mcp']?.attributes).toMatchObject({
      'sallyport.reason': 'tool.unlisted',
    });
    expect((await traced.decided())['trace_id']).toBe(traceId);
  });

  test('prefers the header of the request', async () => {
    const traced = await startTraced();
    await traced.send(callIn(meta), { headers: { traceparent: `00-${other}-${clientSpan}-01` } });
    expect((await traced.trace(other))['POST /mcp']?.parentId).toBe(clientSpan);
    expect((await traced.decided())['trace_id']).toBe(other);
  });

  test.each([
    ['nothing is recorded where the message wants that', '', '00'],
    ['nothing is recorded where the dice say so', ', sample: 0', '01'],
  ])('%s, and sends the trace to the upstream and the log', async (_what, telemetry, flags) => {
    const traced = await startTraced(telemetry);
    await traced.send(callIn({ traceparent: named(flags) }));
    expect(traced.upstream.seen[0]?.headers.traceparent).toMatch(
      new RegExp(`^00-${traceId}-(?!${clientSpan}).{16}-00$`),
    );
    expect((await traced.decided())['trace_id']).toBe(traceId);
    await traced.gateway.close();
    expect(traced.collector.spans).toEqual([]);
  });

  test.each([undefined, '', 'x', 1, null, `00-${traceId}-${'0'.repeat(16)}-01`])(
    'ignores an invalid traceparent in the message: %j',
    async (traceparent) => {
      const traced = await startTraced();
      expect((await traced.send(callIn({ traceparent }))).status).toBe(200);
      const { trace_id: id } = await traced.decided();
      expect(id).not.toBe(traceId);
      const spans = await traced.trace(id);
      expect(spans['POST /mcp']?.parentId).toBe('');
      expect(spans['authenticate']?.parentId).toBe(spans['POST /mcp']?.spanId);
    },
  );
});

describe('without telemetry', () => {
  test('logs the trace of the message, and adds no header', async () => {
    world = await startMcpWorld();
    await world.send(callIn(meta));
    expect((await world.gateway.decision())['trace_id']).toBe(traceId);
    expect(world.upstream.seen[0]?.headers.traceparent).toBeUndefined();
  });

  test('prefers the header of the request', async () => {
    world = await startMcpWorld();
    const traceparent = `00-${other}-${clientSpan}-01`;
    await world.send(callIn(meta), { headers: { traceparent } });
    expect((await world.gateway.decision())['trace_id']).toBe(other);
    expect(world.upstream.seen[0]?.headers.traceparent).toBe(traceparent);
  });
});
