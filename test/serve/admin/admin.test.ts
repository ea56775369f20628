import { expect, test } from 'vitest';
import { startBeforeEach } from '../../support/start-before.ts';
import { startWorld, type Answer } from '../../worlds/gateway.ts';

const world = startBeforeEach(() =>
  startWorld({
    servers: 'away: { issuer: "http://127.0.0.1:2", jwt: { algorithms: [RS256] } }',
    routes: [
      'name: tools, path: /mcp, protocol: mcp, authorization_servers: [main], policy: tools, upstream: { url: "UPSTREAM" }',
      'name: away, path: /away, audience: a, authorization_servers: [away], upstream: { url: "UPSTREAM" }',
    ],
    policies: { tools: 'tools: { "get_*": {}, pay: { scope: payments } }\n' },
    claims: { aud: 'http://gateway.test/mcp' },
  }),
);

async function call(tool: string): Promise<Answer> {
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool } };
  return world.post('/mcp', await world.token(), JSON.stringify(message));
}

test('R-170: /healthz reports that the process lives', async () => {
  const response = await fetch(`${world.gateway.adminUrl}/healthz`);
  expect([response.status, await response.json()]).toEqual([200, { status: 'ok' }]);
});

test('R-170: /readyz reports ready, with the state of each authorization server', async () => {
  const problem = expect.stringContaining('ECONNREFUSED') as string;
  const main = { name: 'main', issuer: world.issuer.url, state: 'available' };
  const authorization_servers = [main, { name: 'away', state: 'unavailable', problem }];
  await expect.poll(() => world.gateway.ready()).toMatchObject({ status: 'ready', authorization_servers });
});

test.each([
  ['GET', '/nothing', 404],
  ['GET', '/toString', 404],
  ['POST', '/metrics', 405],
])('%s %s: %d', async (method, path, status) => {
  expect((await fetch(world.gateway.adminUrl + path, { method })).status).toBe(status);
});

test('R-169: /metrics counts a decision, a tool by its entry in the policy, and an answer', async () => {
  for (const tool of ['get_price', 'pay', 'made_up_by_a_caller']) await call(tool);
  await fetch(`${world.gateway.url}/away`, { method: 'BREW' });
  const answered = 'sallyport_requests_total{route="tools",method="POST",status="403"} 2\n';
  await expect.poll(() => world.gateway.metrics()).toContain(answered);
  const metrics = await world.gateway.metrics();
  for (const line of [
    'sallyport_decisions_total{route="tools",decision="allow",reason="none"} 1',
    'sallyport_decisions_total{route="tools",decision="deny",reason="scope.insufficient"} 1',
    'sallyport_decisions_total{route="tools",decision="deny",reason="tool.unlisted"} 1',
    'sallyport_tool_calls_total{route="tools",tool="get_*",decision="allow"} 1',
    'sallyport_tool_calls_total{route="tools",tool="pay",decision="deny"} 1',
    'sallyport_tool_calls_total{route="tools",tool="other",decision="deny"} 1',
    'sallyport_requests_total{route="tools",method="POST",status="200"} 1',
    'sallyport_authorization_server_requests_total{server="main",operation="jwks",result="ok"} 1',
    'sallyport_config_last_reload_successful 1',
  ]) {
    expect(metrics).toContain(`${line}\n`);
  }
  expect(metrics).toMatch(/sallyport_config_info\{hash="[0-9a-f]{64}"\} 1/);
  expect(metrics).toMatch(/process_cpu_user_seconds_total/);
  expect(metrics).not.toContain('made_up');
});

test('an unavailable authorization server gives 503 with Retry-After, and the process continues', async () => {
  const { status, headers } = await world.send('/away', {
    token: await world.token({ iss: 'http://127.0.0.1:2', aud: 'a' }),
  });
  expect([status, headers.get('retry-after')]).toEqual([503, '5']);
  expect((await call('get_price')).status).toBe(200);
});
