import { afterEach, describe, expect, test } from 'vitest';
import { startTestGateway } from '../support/gateway.ts';
import type { CollectedSpan } from '../support/otlp.ts';
import { clientSpan, startTracedWorld, toolCall, traceId, type TracedWorld } from '../worlds/traces.ts';

let world: TracedWorld;
afterEach(() => world.close());

describe('an allowed call', () => {
  test('continues the client’s trace to the upstream, with a span for each step', async () => {
    world = await startTracedWorld();
    const response = await world.send(toolCall('get_price'), {
      claims: { scope: 'read' },
      headers: { traceparent: `00-${traceId}-${clientSpan}-01`, tracestate: 'rojo=1' },
    });
    expect(response.status).toBe(200);
    const spans = await world.trace(traceId);
    expect(Object.keys(spans).toSorted()).toEqual(['GET jwks', 'POST', 'POST /mcp', 'authenticate', 'authorize']);
    const server = spans['POST /mcp'] as CollectedSpan;
    expect(server).toMatchObject({ kind: 'server', parentId: clientSpan, traceState: 'rojo=1', isError: false });
    for (const name of ['authenticate', 'authorize', 'POST']) expect(spans[name]?.parentId).toBe(server.spanId);
    expect(spans['GET jwks']).toMatchObject({ kind: 'client', parentId: spans['authenticate']?.spanId });
    const { host, traceparent, tracestate } = world.upstream.seen[0]?.headers ?? {};
    expect(traceparent).toBe(`00-${traceId}-${spans['POST']?.spanId}-01`);
    expect(tracestate).toBe('rojo=1');
    expect((await world.decided())['trace_id']).toBe(traceId);

    expect(server.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/mcp',
      'http.response.status_code': 200,
      'url.path': '/mcp',
      'url.scheme': 'http',
      'server.address': 'gateway.test',
      'server.port': 80,
      'sallyport.route': 'tools',
      'sallyport.decision': (await world.decided())['decision'],
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

  test('has no content, identity or token of the caller in its spans', async () => {
    world = await startTracedWorld();
    const token = await world.token({ scope: 'read', tenant: 'acme-inc' });
    await world.send(toolCall('made_up_by_caller'), { token, headers: { 'x-thing': 'header-value' } });
    await fetch(`${world.gateway.url}/mcp?query-name=query-value`, { headers: { 'user-agent': 'agent-name' } });
    await world.collector.until((all) => all.filter(({ kind }) => kind === 'server').length === 2);
    const text = JSON.stringify(world.collector.spans, (_key, value: unknown) =>
      typeof value === 'bigint' ? 0 : value,
    );
    const unspoken = ['hunter2', 'made_up', 'alice', 'acme-inc', 'header-value', 'query', 'agent-name'];
    for (const word of [...unspoken, token.split('.')[1] ?? '']) expect(text).not.toContain(word);
  });

  test('starts a trace if the client names none', async () => {
    world = await startTracedWorld();
    await world.send(toolCall('get_price'));
    const begun = (await world.decided())['trace_id'];
    expect(begun).toMatch(/^[0-9a-f]{32}$/);
    const spans = await world.trace(begun);
    expect(spans['POST /mcp']?.parentId).toBe('');
    expect(world.upstream.seen[0]?.headers.traceparent).toBe(`00-${String(begun)}-${spans['POST']?.spanId}-01`);
  });
});

describe('a refused call', () => {
  test.each([
    ['by the policy', 'pay', 403, 'scope.insufficient'],
    ['since nothing lists it', 'unknown', 403, 'tool.unlisted'],
  ])('has the reason and no upstream: %s', async (_title, tool, status, reason) => {
    world = await startTracedWorld();
    expect((await world.send(toolCall(tool))).status).toBe(status);
    const spans = await world.trace((await world.decided())['trace_id']);
    expect(spans['POST']).toBeUndefined();
    expect(spans['authorize']?.attributes).toMatchObject({ 'sallyport.reason': reason });
    expect(spans['POST /mcp']).toMatchObject({
      isError: false,
      attributes: { 'sallyport.allow': false, 'sallyport.reason': reason, 'http.response.status_code': status },
    });
  });

  test('has a span in its trace even without a route', async () => {
    world = await startTracedWorld();
    const headers = { traceparent: `00-${traceId}-${clientSpan}-01` };
    expect((await fetch(`${world.gateway.url}/nowhere`, { headers })).status).toBe(404);
    expect((await world.decided())['trace_id']).toBe(traceId);
    expect((await world.trace(traceId))['GET']?.attributes).toMatchObject({
      'url.path': '/nowhere',
      'sallyport.reason': 'route.unknown',
    });
    // Not even canonical.
    expect((await fetch(`${world.gateway.url}/%2e%2e%5c`, { headers })).status).toBe(400);
    const spans = await world.collector.until((all) => all.filter(({ name }) => name === 'GET').length === 2);
    expect(spans.at(-1)?.attributes).toMatchObject({ 'sallyport.reason': 'request.path' });
    expect(spans.at(-1)?.attributes).not.toHaveProperty('url.path');
  });

  test('records an unavailable upstream or authorization server as an error with its reason', async () => {
    world = await startTracedWorld();
    await world.upstream.close();
    expect((await world.send(toolCall('get_price'))).status).toBe(502);
    const spans = await world.trace((await world.decided())['trace_id']);
    for (const name of ['POST', 'POST /mcp']) {
      expect(spans[name]).toMatchObject({ isError: true, attributes: { 'error.type': 'upstream.unreachable' } });
    }
    expect(spans['POST']?.attributes).not.toHaveProperty('http.response.status_code');
    world.issuer.intercept = (_request, response) => {
      response.writeHead(500).end();
      return true;
    };
    expect((await world.send(toolCall('get_price'), { token: 'opaque' })).status).toBe(503);
    const away = await world.trace((await world.decided())['trace_id']);
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

  test('does not record an upstream’s own error as one of the gateway', async () => {
    world = await startTracedWorld();
    world.handle = (_request, response) => void response.writeHead(500).end();
    expect((await world.send(toolCall('get_price'))).status).toBe(500);
    const spans = await world.trace((await world.decided())['trace_id']);
    expect(spans['POST']).toMatchObject({ isError: true, attributes: { 'error.type': '500' } });
    expect(spans['POST /mcp']).toMatchObject({ isError: true, attributes: { 'error.type': '500' } });
  });
});

describe('calls to an authorization server', () => {
  test('are children of the call that waits, and carry no trace', async () => {
    world = await startTracedWorld();
    const { issuer, upstream } = world;
    const exchanged = { access_token: 't', issued_token_type: 'urn:ietf:params:oauth:token-type:access_token' };
    const traceparents: unknown[] = [];
    issuer.introspection.set('opaque', { active: true, sub: 'alice', aud: 'https://api.example' });
    issuer.intercept = (incoming, response) => {
      traceparents.push(incoming.headers['traceparent']);
      if (incoming.url !== '/token') return false;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ ...exchanged, token_type: 'Bearer', expires_in: 60 }));
      return true;
    };
    const gateway = await startTestGateway({
      yaml: `
telemetry: { otlp: "${world.collector.url}" }
authorization_servers:
  main: { issuer: "${issuer.url}", introspection: { client_id: gateway, client_secret: secret } }
routes:
  - name: api
    path: /
    audience: https://api.example
    upstream: { url: "${upstream.url}", token: exchange, exchange: { audience: b } }
`,
    });
    const send = (): Promise<Response> => fetch(gateway.url, { headers: { authorization: 'Bearer opaque' } });
    expect((await send()).status).toBe(200);
    const spans = await world.trace((await gateway.decision())['trace_id']);
    expect(spans['POST introspection']?.parentId).toBe(spans['authenticate']?.spanId);
    expect(spans['POST exchange']?.parentId).toBe(spans['exchange']?.spanId);
    expect(spans['exchange']?.parentId).toBe(spans['GET /']?.spanId);
    expect(new Set(traceparents)).toEqual(new Set([undefined]));
    // Known now: no call waits.
    expect((await send()).status).toBe(200);
    const again = await world.trace((await gateway.decision())['trace_id']);
    expect(Object.keys(again).toSorted()).toEqual(['GET', 'GET /', 'authenticate', 'authorize', 'exchange']);
    await gateway.close();
  });
});
