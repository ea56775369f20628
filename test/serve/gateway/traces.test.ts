import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, expect, test, type TestContext } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { traefikCall } from '../../forward-auth/ask.ts';
import { startEditedGateway } from '../../support/gateway.ts';
import { startCollector, type Collector } from '../../support/collector.ts';
import type { CollectedSpan } from '../../support/otlp.ts';
import type { Line } from '../../support/written-log.ts';
import { startWorld } from '../../worlds/gateway.ts';
import { request, startMcpWorld, type McpWorld } from '../../worlds/mcp.ts';
import { granted } from '../../worlds/exchange.ts';
import { sendJson } from '../../support/upstream.ts';
import { forThisTest, startBeforeAll } from '../../support/start-before.ts';

// test/capabilities/traces/tracer.test.ts has the table of what is recorded, test/mcp/message.test.ts that of traces in messages.

/** The span id that the clients of these tests send. */
const clientSpan = '00f067aa0ba902b7';

/** The MCP world, and a collector of its spans. */
interface TracedWorld extends McpWorld {
  readonly collector: Collector;
  /** The spans of one trace by their names, once the server span and all parents have arrived. */
  trace(id: unknown): Promise<Readonly<Record<string, CollectedSpan>>>;
}

/** Starts one. `telemetry`: more members of that key; `top`: more YAML at the top level. */
async function startTracedWorld(telemetry = '', top = ''): Promise<TracedWorld> {
  const collector = await startCollector();
  const world = await startMcpWorld({
    policy: 'tools: { "get_*": {}, pay: { scope: payments } }',
    top: `telemetry: { otlp: "${collector.url}" ${telemetry} }\n${top}`,
  });
  const close = world.close.bind(world);
  return Object.assign(world, {
    collector,
    async trace(id: unknown) {
      const ofTrace = (all: readonly CollectedSpan[]) => all.filter((span) => span.traceId === id);
      await collector.until((all) => {
        const spans = ofTrace(all);
        return spans.some(({ kind }) => kind === 'server') && spans.every(({ parentId }) => isThere(parentId, spans));
      });
      return Object.fromEntries(ofTrace(collector.spans).map((span) => [span.name, span]));
    },
    async close() {
      await close();
      await collector.close();
    },
  });
}

function isThere(parentId: string, spans: readonly CollectedSpan[]): boolean {
  return parentId === '' || parentId === clientSpan || spans.some(({ spanId }) => spanId === parentId);
}

/** A tool call with a secret argument. */
function toolCall(name: string): object {
  return request('tools/call', { name, arguments: { secret: 'hunter2' } });
}

/** The tests run at once, because each waits until its spans are sent: a second. Each has a trace of its own. */
const anyTrace = () => {
  const traceId = randomBytes(16).toString('hex');
  return { traceId, traceparent: `00-${traceId}-${clientSpan}-01` };
};
/** A call whose `_meta` names a trace, as SEP-414 says. */
const callIn = (meta: object, name = 'get_price'): object => request('tools/call', { name, _meta: meta });

const world = startBeforeAll(() =>
  startTracedWorld('', 'forward_auth: { listen: "127.0.0.1:0", trusted: [127.0.0.1] }'),
);

/** A world of its own, for a test that ends a part of it. */
const ownWorld = (context: TestContext, telemetry?: string, top?: string): Promise<TracedWorld> =>
  forThisTest(startTracedWorld(telemetry, top), context);
/** The top level of a gateway that sends its spans to the collector of the world. */
const telemetry = (): string => `telemetry: { otlp: "${world.collector.url}" }`;

const decisionIn = (traceId: string): Promise<Line> => world.gateway.line({ msg: 'decision', trace_id: traceId });
const upstreamSaw = (traceId: string): (typeof world.upstream.seen)[number] | undefined =>
  world.upstream.seen.find(({ headers }) => String(headers.traceparent).includes(traceId));

describe.concurrent('an allowed call', () => {
  test('continues the client’s trace to the upstream, with a span for each step', async (context) => {
    const own = await ownWorld(context);
    const { traceId, traceparent } = anyTrace();
    const response = await own.send(toolCall('get_price'), {
      claims: { scope: 'read' },
      headers: { traceparent, tracestate: 'rojo=1' },
    });
    expect(response.status).toBe(200);
    const spans = await own.trace(traceId);
    expect(Object.keys(spans).toSorted()).toEqual(['GET jwks', 'POST', 'POST /mcp', 'authenticate', 'authorize']);
    const server = spans['POST /mcp'] as CollectedSpan;
    expect(server).toMatchObject({ kind: 'server', parentId: clientSpan, traceState: 'rojo=1', isError: false });
    for (const name of ['authenticate', 'authorize', 'POST']) expect(spans[name]?.parentId).toBe(server.spanId);
    expect(spans['GET jwks']).toMatchObject({ kind: 'client', parentId: spans['authenticate']?.spanId });
    const { host, ...sent } = own.upstream.seen[0]?.headers ?? {};
    expect(sent).toMatchObject({ traceparent: `00-${traceId}-${spans['POST']?.spanId}-01`, tracestate: 'rojo=1' });
    const decided = await own.gateway.decision();
    expect(decided['trace_id']).toBe(traceId);
    expect(server.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/mcp',
      'http.response.status_code': 200,
      'url.path': '/mcp',
      'url.scheme': 'http',
      'server.address': 'gateway.test',
      'server.port': 80,
      'sallyport.route': 'tools',
      'sallyport.decision': decided['decision'],
      'sallyport.allow': true,
      'mcp.method.name': 'tools/call',
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'get_*',
    });
    expect(spans['POST']).toMatchObject({
      kind: 'client',
      attributes: {
        'http.request.method': 'POST',
        'http.response.status_code': 200,
        'server.address': '127.0.0.1',
        'server.port': Number(host?.split(':')[1]),
        'sallyport.route': 'tools',
      },
    });
    expect(spans['authorize']?.attributes).toEqual({ 'sallyport.policy': 'tools' });
    expect(server.resource).toMatchObject({ 'service.name': 'sallyport', 'telemetry.sdk.language': 'nodejs' });
    for (const span of Object.values(spans)) expect(span.startNs).toBeGreaterThanOrEqual(server.startNs);
  });

  test('has no content, identity or token of the caller in its spans', async (context) => {
    const own = await ownWorld(context);
    const token = await own.token({ scope: 'read', tenant: 'acme-inc' });
    await own.send(toolCall('made_up_by_caller'), { token, headers: { 'x-thing': 'header-value' } });
    await fetch(`${own.gateway.url}/mcp?query-name=query-value`, { headers: { 'user-agent': 'agent-name' } });
    await own.collector.until((all) => all.filter(({ kind }) => kind === 'server').length === 2);
    const text = JSON.stringify(own.collector.spans, (_key, value: unknown) => (typeof value === 'bigint' ? 0 : value));
    const unspoken = ['hunter2', 'made_up', 'alice', 'acme-inc', 'header-value', 'query', 'agent-name'];
    for (const word of [...unspoken, token.split('.')[1] ?? '']) expect(text).not.toContain(word);
  });

  test('R-148: uses the trace of the message for all spans, and forwards the message unchanged', async () => {
    const { traceId, traceparent } = anyTrace();
    const message = callIn({ traceparent, tracestate: 'rojo=1', baggage: 'userId=alice' });
    expect((await world.send(message)).status).toBe(200);
    const spans = await world.trace(traceId);
    const server = spans['POST /mcp'] as CollectedSpan;
    expect(server).toMatchObject({ kind: 'server', parentId: clientSpan, traceState: 'rojo=1' });
    for (const name of ['authenticate', 'authorize', 'POST']) expect(spans[name]?.parentId).toBe(server.spanId);
    const { body, headers } = upstreamSaw(traceId) ?? {};
    expect([body, headers?.traceparent]).toEqual([
      JSON.stringify(message),
      `00-${traceId}-${spans['POST']?.spanId}-01`,
    ]);
    expect((await decisionIn(traceId))['allow']).toBe(true);
  });

  test('prefers the trace of the header to that of the message', async () => {
    const { traceId, traceparent } = anyTrace();
    await world.send(callIn({ traceparent: anyTrace().traceparent }), { headers: { traceparent } });
    expect((await world.trace(traceId))['POST /mcp']?.parentId).toBe(clientSpan);
    expect((await decisionIn(traceId))['allow']).toBe(true);
  });

  test('without telemetry logs the trace of the header or of the message, and adds no header', async (context) => {
    const own = await forThisTest(startMcpWorld(), context);
    const [inMessage, inHeader] = [anyTrace(), anyTrace()];
    const call = callIn({ traceparent: inMessage.traceparent });
    await own.send(call);
    expect((await own.gateway.decision())['trace_id']).toBe(inMessage.traceId);
    expect(own.upstream.seen[0]?.headers.traceparent).toBeUndefined();
    await own.send(call, { headers: { traceparent: inHeader.traceparent } });
    expect((await own.gateway.decision({ trace_id: inHeader.traceId }))['allow']).toBe(true);
    expect(own.upstream.seen[1]?.headers.traceparent).toBe(inHeader.traceparent);
  });
});

describe.concurrent('the sampled flag of a client', () => {
  test('is subject to `sample` in a header or a message, and the trace is sent on and logged', async (context) => {
    const own = await ownWorld(context, ', sample: 0');
    for (const place of ['header', 'message']) {
      const { traceId, traceparent } = anyTrace();
      if (place === 'message') await own.send(callIn({ traceparent }));
      else await own.send(toolCall('get_price'), { headers: { traceparent } });
      const sent = new RegExp(`^00-${traceId}-(?!${clientSpan}).{16}-00$`);
      expect(own.upstream.seen.at(-1)?.headers.traceparent).toMatch(sent);
      expect((await own.gateway.decision())['trace_id']).toBe(traceId);
    }
    await own.gateway.close();
    expect(own.collector.spans).toEqual([]);
  });

  test('is obeyed if the client is a trusted proxy', async (context) => {
    const own = await ownWorld(context, ', sample: 0', 'trusted_proxies: [127.0.0.1]');
    const { traceId, traceparent } = anyTrace();
    await own.send(toolCall('get_price'), { headers: { traceparent } });
    expect((await own.trace(traceId))['POST /mcp']?.parentId).toBe(clientSpan);
  });
});

describe.concurrent('a refused call', () => {
  test('has the reason and no upstream, in the trace of its message', async () => {
    const { traceId, traceparent } = anyTrace();
    expect((await world.send(callIn({ traceparent }, 'pay'))).status).toBe(403);
    const spans = await world.trace(traceId);
    const reason = 'scope.insufficient';
    expect(spans['POST']).toBeUndefined();
    expect(spans['authorize']?.attributes).toMatchObject({ 'sallyport.reason': reason });
    expect(spans['POST /mcp']).toMatchObject({
      isError: false,
      attributes: { 'sallyport.allow': false, 'sallyport.reason': reason, 'http.response.status_code': 403 },
    });
  });

  test('has a span in its trace even without a route', async () => {
    const { traceId, traceparent } = anyTrace();
    const headers = { traceparent };
    expect((await fetch(`${world.gateway.url}/nowhere`, { headers })).status).toBe(404);
    expect((await decisionIn(traceId))['reason']).toBe('route.unknown');
    expect((await world.trace(traceId))['GET']?.attributes).toMatchObject({
      'url.path': '/nowhere',
      'sallyport.reason': 'route.unknown',
    });
    // Not even canonical.
    expect((await fetch(`${world.gateway.url}/%2e%2e%5c`, { headers })).status).toBe(400);
    const ofTrace = (all: readonly CollectedSpan[]) => all.filter((span) => span.traceId === traceId);
    const last = ofTrace(await world.collector.until((all) => ofTrace(all).length === 2)).at(-1);
    expect(last?.attributes).toMatchObject({ 'sallyport.reason': 'request.path' });
    expect(last?.attributes).not.toHaveProperty('url.path');
  });

  test('records an unavailable upstream or authorization server as an error with its reason', async (context) => {
    const own = await ownWorld(context);
    await own.upstream.close();
    expect((await own.send(toolCall('get_price'))).status).toBe(502);
    const spans = await own.trace((await own.gateway.decision())['trace_id']);
    for (const name of ['POST', 'POST /mcp']) {
      expect(spans[name]).toMatchObject({ isError: true, attributes: { 'error.type': 'upstream.unreachable' } });
    }
    expect(spans['POST']?.attributes).not.toHaveProperty('http.response.status_code');
    own.issuer.intercept = (_request, response) => Boolean(response.writeHead(500).end());
    expect((await own.send(toolCall('get_price'), { token: 'opaque' })).status).toBe(503);
    const away = await own.trace((await own.gateway.decision())['trace_id']);
    expect(away['POST introspection']).toMatchObject({
      isError: true,
      attributes: { 'error.type': 'authorization_server.unavailable', 'sallyport.authorization_server': 'main' },
      parentId: away['authenticate']?.spanId,
    });
    expect(away['POST /mcp']).toMatchObject({
      isError: true,
      attributes: { 'http.response.status_code': 503, 'error.type': 'authorization_server.unavailable' },
    });
  });

  test('does not record an upstream’s own error as one of the gateway', async (context) => {
    const own = await ownWorld(context);
    own.handle = (_request, response) => void response.writeHead(500).end();
    expect((await own.send(toolCall('get_price'))).status).toBe(500);
    const spans = await own.trace((await own.gateway.decision())['trace_id']);
    for (const name of ['POST', 'POST /mcp']) {
      expect(spans[name]).toMatchObject({ isError: true, attributes: { 'error.type': '500' } });
    }
  });
});

test.concurrent('calls to an authorization server are children of the call that waits, and carry no trace', async (context) => {
  const own = await forThisTest(
    startWorld({
      top: telemetry(),
      server: 'introspection: { client_id: gateway, client_secret: secret }',
      routes: [
        'name: api, path: /, audience: a, upstream: { url: "UPSTREAM", token: exchange, exchange: { audience: b } }',
      ],
    }),
    context,
  );
  const { issuer, gateway } = own;
  const token = own.opaque();
  const traceparents: unknown[] = [];
  issuer.intercept = (incoming, response) => {
    traceparents.push(incoming.headers['traceparent']);
    if (incoming.url !== '/token') return false;
    sendJson(response, 200, granted);
    return true;
  };
  expect((await own.send('/', { token })).status).toBe(200);
  const spans = await world.trace((await gateway.decision())['trace_id']);
  expect(spans['POST introspection']?.parentId).toBe(spans['authenticate']?.spanId);
  expect(spans['POST exchange']?.parentId).toBe(spans['exchange']?.spanId);
  expect(spans['exchange']?.parentId).toBe(spans['GET /']?.spanId);
  expect(new Set(traceparents)).toEqual(new Set([undefined]));
  // Known now: no call waits.
  expect((await own.send('/', { token })).status).toBe(200);
  const again = await world.trace((await gateway.decision())['trace_id']);
  expect(Object.keys(again).toSorted()).toEqual(['GET', 'GET /', 'authenticate', 'authorize', 'exchange']);
});

test.concurrent('a stream has spans of its full duration', async (context) => {
  const own = await ownWorld(context);
  const opened = new Promise<ServerResponse>((resolve) => {
    own.handle = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
      resolve(response);
    };
  });
  const response = await own.send(toolCall('get_price'));
  const upstream = await opened;
  await own.collector.until((all) => all.some(({ name }) => name === 'authorize'));
  expect(own.collector.spans.map(({ name }) => name)).not.toContain('POST /mcp');
  upstream.end('data: 2\n\n');
  expect(await response.text()).toBe('data: 1\n\ndata: 2\n\n');
  const spans = await own.trace((await own.gateway.decision())['trace_id']);
  expect(spans['POST']?.attributes['http.response.status_code']).toBe(200);
  expect(spans['POST /mcp']?.attributes['http.response.status_code']).toBe(200);
});

test.concurrent('the handshake of a WebSocket carries the context', async (context) => {
  const { traceId, traceparent } = anyTrace();
  const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(sockets, 'listening');
  const { port } = sockets.address() as { port: number };
  const routes = [
    `name: ws, path: /ws, public: true, upgrade: websocket, upstream: { url: "http://127.0.0.1:${port}" }`,
  ];
  const { gateway } = await forThisTest(startWorld({ top: telemetry(), routes }), context);
  const connected = once(sockets, 'connection');
  const client = new WebSocket(`${gateway.url.replace('http', 'ws')}/ws`, { headers: { traceparent } });
  const [, handshake] = (await connected) as [WebSocket, { headers: Record<string, string> }];
  await once(client, 'open');
  client.close();
  const spans = await world.trace(traceId);
  expect(handshake.headers['traceparent']).toBe(`00-${traceId}-${spans['GET']?.spanId}-01`);
  for (const name of ['GET /ws', 'GET']) expect(spans[name]?.attributes['http.response.status_code']).toBe(101);
  sockets.close();
});

test.concurrent('records the decision on a proxy’s question without an upstream', async () => {
  const { traceId, traceparent } = anyTrace();
  const token = await world.token({ scope: 'read' });
  const message = JSON.stringify(toolCall('get_price'));
  const { status } = await traefikCall(world.gateway, token, message, `traceparent: ${traceparent}`);
  expect(status).toBe(200);
  const spans = await world.trace(traceId);
  expect(spans['POST']).toBeUndefined();
  expect(spans['authorize']?.parentId).toBe(spans['POST /mcp']?.spanId);
  expect((await decisionIn(traceId))['allow']).toBe(true);
});

test.concurrent('keeps tracing after an edit, and logs that another collector needs a restart', async (context) => {
  const yaml = (top: string, name: string): string =>
    `${top}\nroutes:\n  - { name: ${name}, path: /, public: true, upstream: { url: "${world.upstream.url}" } }\n`;
  const gateway = await forThisTest(startEditedGateway(yaml(telemetry(), 'a'), {}), context);
  /** Waits for the span of a call on a route. */
  const traced = async (name: string): Promise<void> => {
    await fetch(gateway.url);
    await world.collector.until((all) =>
      all.some(({ kind, attributes }) => kind === 'server' && attributes['sallyport.route'] === name),
    );
  };

  await gateway.save('gateway.yaml', yaml(telemetry(), 'b'));
  await traced('b');
  const warned = async (): Promise<boolean> =>
    (await gateway.lines()).some(({ msg }) => String(msg).startsWith('telemetry changed: a restart'));
  expect(await warned()).toBe(false);

  await gateway.save('gateway.yaml', yaml('', 'c'));
  expect(await warned()).toBe(true);
  await traced('c');
});
