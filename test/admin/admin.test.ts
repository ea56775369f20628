import { describe, expect, test } from 'vitest';
import { startTestGateway } from '../support/gateway.ts';
import { startIssuer } from '../support/issuer.ts';
import { startUpstream } from '../support/upstream.ts';
import { startBeforeEach } from '../support/start-before.ts';

const issuer = startBeforeEach(startIssuer);
const upstream = startBeforeEach(startUpstream);
const gateway = startBeforeEach(() =>
  startTestGateway({
    yaml: `
authorization_servers:
  main: { issuer: ${issuer.url}, jwt: { algorithms: [RS256] } }
  away: { issuer: http://127.0.0.1:2, jwt: { algorithms: [RS256] } }
routes:
  - name: tools
    path: /mcp
    protocol: mcp
    authorization_servers: [main]
    policy: tools
    upstream: { url: ${upstream.url} }
  - name: away
    path: /away
    audience: a
    authorization_servers: [away]
    upstream: { url: ${upstream.url} }
`,
    policies: { tools: 'tools: { "get_*": {}, pay: { scope: payments } }\n' },
  }),
);

const get = (path: string): Promise<Response> => fetch(gateway.adminUrl + path);

async function call(tool: string): Promise<Response> {
  const token = await issuer.sign({ aud: 'http://gateway.test/mcp' });
  return fetch(`${gateway.url}/mcp`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool } }),
  });
}

test('R-170: /healthz reports that the process lives', async () => {
  const response = await get('/healthz');
  expect([response.status, await response.json()]).toEqual([200, { status: 'ok' }]);
});

test('R-170: /readyz reports ready, with the state of each authorization server', async () => {
  await expect
    .poll(async () => (await get('/readyz')).json())
    .toMatchObject({
      status: 'ready',
      authorization_servers: [
        { name: 'main', issuer: issuer.url, state: 'available' },
        { name: 'away', state: 'unavailable', problem: expect.stringContaining('ECONNREFUSED') as string },
      ],
    });
});

test.each([
  ['GET', '/nothing', 404],
  ['GET', '/toString', 404],
  ['POST', '/metrics', 405],
])('%s %s: %d', async (method, path, status) => {
  expect((await fetch(gateway.adminUrl + path, { method })).status).toBe(status);
});

describe('/metrics', () => {
  test('R-169: counts a decision, a tool by its entry in the policy, and an answer', async () => {
    for (const tool of ['get_price', 'pay', 'made_up_by_a_caller']) await call(tool);
    await fetch(`${gateway.url}/away`, { method: 'BREW' });
    const answered = 'sallyport_requests_total{route="tools",method="POST",status="403"} 2\n';
    await expect.poll(() => gateway.metrics()).toContain(answered);
    const metrics = await gateway.metrics();
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
});

test('an unavailable authorization server gives 503 with Retry-After, and the process continues', async () => {
  const token = await issuer.sign({ iss: 'http://127.0.0.1:2', aud: 'a' });
  const response = await fetch(`${gateway.url}/away`, { headers: { authorization: `Bearer ${token}` } });
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
  expect((await call('get_price')).status).toBe(200);
});
