import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { startTestGateway } from '../support/gateway.ts';
import { clientSpan, startTracedWorld, toolCall, traceId, type TracedWorld } from '../worlds/traces.ts';

let world: TracedWorld;
afterEach(() => world.close());

describe('a stream', () => {
  test('has spans of its full duration', async () => {
    world = await startTracedWorld();
    const opened = new Promise<ServerResponse>((resolve) => {
      world.handle = (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
        resolve(response);
      };
    });
    const response = await world.send(toolCall('get_price'));
    const upstream = await opened;
    await world.collector.until((all) => all.some(({ name }) => name === 'authorize'));
    expect(world.collector.spans.map(({ name }) => name)).not.toContain('POST /mcp');
    upstream.end('data: 2\n\n');
    expect(await response.text()).toBe('data: 1\n\ndata: 2\n\n');
    const spans = await world.trace((await world.decided())['trace_id']);
    expect(spans['POST']?.attributes['http.response.status_code']).toBe(200);
    expect(spans['POST /mcp']?.attributes['http.response.status_code']).toBe(200);
  });

  test('sends the context in the handshake of a WebSocket', async () => {
    world = await startTracedWorld();
    const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    await once(sockets, 'listening');
    const { port } = sockets.address() as { port: number };
    const gateway = await startTestGateway({
      yaml: `
telemetry: { otlp: "${world.collector.url}" }
routes:
  - { name: ws, path: /ws, public: true, upgrade: websocket, upstream: { url: "http://127.0.0.1:${port}" } }
`,
    });
    const connected = once(sockets, 'connection');
    const client = new WebSocket(`${gateway.url.replace('http', 'ws')}/ws`, {
      headers: { traceparent: `00-${traceId}-${clientSpan}-01` },
    });
    const [, handshake] = (await connected) as [WebSocket, { headers: Record<string, string> }];
    await once(client, 'open');
    client.close();
    const spans = await world.trace(traceId);
    expect(handshake.headers['traceparent']).toBe(`00-${traceId}-${spans['GET']?.spanId}-01`);
    expect(spans['GET /ws']?.attributes['http.response.status_code']).toBe(101);
    expect(spans['GET']?.attributes['http.response.status_code']).toBe(101);
    await gateway.close();
    sockets.close();
  });
});
