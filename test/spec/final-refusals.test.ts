import { describe, expect, test } from 'vitest';
import { publicUrl, startWorld, type Answer } from '../worlds/gateway.ts';
import { modernRequest } from '../worlds/mcp.ts';
import { toolCall } from '../worlds/wire.ts';
import { startBeforeAll } from '../support/start-before.ts';

const policy = `
scope: read
claims: { blocked: { not: true } }
because: Ask support for access.
tools:
  get_x: {}
  pay:
    scope: payments
    claims: { role: trader }
    arguments: { /amount: { at_most: 1000 } }
    because: For more use request_transfer.
  order: { scope: orders, because: For more use request_transfer. }
`;

const tools = (path: string, more = 'policy: tools'): string =>
  `name: ${path.slice(1)}, path: ${path}, protocol: mcp, audience: a, ${more}, upstream: { url: "UPSTREAM/mcp" }`;
const world = startBeforeAll(() =>
  startWorld({
    routes: [
      tools('/mcp'),
      tools('/dry', 'policy: dry'),
      'name: api, path: /api, audience: a, policy: api, upstream: { url: "UPSTREAM/api" }',
      tools('/words', 'policy: tools, refusals: { final: tool_error }'),
      tools('/wide', 'policy: tools, resource: { scopes_supported: [read, payments] }, first_challenge: supported'),
      tools('/silent', 'policy: tools, first_challenge: none'),
    ],
    policies: {
      tools: policy,
      dry: `mode: shadow\n${policy}`,
      api: 'scope: read\nclaims: { tenant: acme }\nbecause: Only Acme calls this.\n',
    },
    claims: { aud: 'a', scope: 'read payments', role: 'trader' },
  }),
);

async function call(tool: string, claims: Record<string, unknown>, path = '/mcp'): Promise<Answer> {
  return world.post(path, await world.token(claims), toolCall(tool));
}

/** The same call as MCP 2026-07-28 writes it. */
async function modernCall(tool: string, claims: Record<string, unknown>, path: string): Promise<Answer> {
  const { message, headers } = modernRequest('tools/call', { name: tool, arguments: {} });
  return world.post(path, await world.token(claims), JSON.stringify({ ...message, id: 7 }), headers);
}

describe('the words of the operator', () => {
  test.for([
    ['of the entry that refuses', 'pay', { role: 'clerk' }, 'claim.denied', 'For more use request_transfer.'],
    ['of the policy for what is not listed', 'drop', {}, 'tool.unlisted', 'Ask support for access.'],
  ] as const)('R-215: are %s', async ([, tool, claims, reason, because]) => {
    const { status, challenge, text } = await call(tool, claims);
    expect([status, challenge]).toEqual([403, null]);
    expect(JSON.parse(text)).toEqual({
      jsonrpc: '2.0',
      id: 7,
      error: { code: 403, message: 'Access denied', data: { reason, decision: expect.any(String), because } },
    });
  });

  test('R-215, RFC 9457 §3.1: are the detail of the problem document of an HTTP route', async () => {
    const { status, headers, text } = await world.send('/api', { token: await world.token({ tenant: 'globex' }) });
    expect([status, headers.get('content-type')]).toEqual([403, 'application/problem+json']);
    expect(JSON.parse(text)).toMatchObject({ title: 'Access denied', detail: 'Only Acme calls this.' });
  });

  test.for([
    ['are not for a missing scope', 'order', {}, 403, 'scope.insufficient'],
    ['are not for a token that is no longer valid', 'get_x', { exp: 1 }, 401, 'token.expired'],
  ] as const)('R-216: %s', async ([, tool, claims, status, reason]) => {
    const answer = await call(tool, claims);
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text)).toMatchObject({ error: { data: { reason } } });
    expect(answer.text).not.toContain('because');
  });

  test('R-216: are not for a call that shadow mode lets pass', async () => {
    const { status, text } = await call('drop', {}, '/dry');
    expect(status).toBe(200);
    expect(text).not.toContain('support');
  });

  test('R-28: are the only text of a policy that the client gets', async () => {
    const { text } = await call('pay', { role: 'clerk' });
    expect(text).not.toMatch(/trader|clerk|role|amount|1000/);
  });
});

describe('refusals: { final: tool_error }', () => {
  const words = (text: string): string | undefined => /^(.*) \(decision [\w-]+\)$/.exec(text)?.[1];

  test.for([
    ['pay', { role: 'clerk' }, 'claim.denied', 'Access denied: For more use request_transfer.'],
    ['drop', {}, 'tool.unlisted', 'Access denied: Ask support for access.'],
  ] as const)('R-219: answers %s of %j with a tool result in both eras', async ([tool, claims, reason, text]) => {
    for (const [send, era] of [
      [call, {}],
      [modernCall, { resultType: 'complete' }],
    ] as const) {
      await world.gateway.clearLog();
      const { status, challenge, headers, text: body } = await send(tool, claims, '/words');
      expect([status, challenge, headers.get('content-type')]).toEqual([200, null, 'application/json']);
      const { result, ...envelope } = JSON.parse(body) as { result: { content: [{ text: string }] } };
      expect(envelope).toEqual({ jsonrpc: '2.0', id: 7 });
      expect(result).toEqual({ ...era, content: [{ type: 'text', text: expect.any(String) }], isError: true });
      expect(words(result.content[0].text)).toBe(text);
      const decision = await world.gateway.decision({ reason });
      expect(decision).toMatchObject({ allow: false, tool });
      expect(result.content[0].text).toContain(`(decision ${String(decision['decision'])})`);
    }
  });

  test('R-219: counts it as a denial with its reason, and the status as 200', async () => {
    await call('drop', {}, '/words');
    const metrics = (): Promise<string> => world.gateway.metrics();
    await expect.poll(metrics).toContain('decisions_total{route="words",decision="deny",reason="tool.unlisted"}');
    expect(await metrics()).toContain('sallyport_tool_calls_total{route="words",tool="other",decision="deny"}');
    await expect.poll(metrics).toContain('requests_total{route="words",method="POST",status="200"}');
  });

  // test/core/gateway/respond/refuse.test.ts has the table.
  test('R-220: keeps HTTP for a missing scope', async () => {
    const answer = await call('order', {}, '/words');
    expect(answer.status).toBe(403);
    expect(JSON.parse(answer.text)).toMatchObject({ error: { data: { reason: 'scope.insufficient' } } });
  });
});

describe('first_challenge', () => {
  const metadata = (path: string): string =>
    `resource_metadata="${publicUrl}/.well-known/oauth-protected-resource${path}"`;

  test.for([
    ['/mcp', 'scope="read", '],
    ['/wide', 'scope="read payments", '],
    ['/silent', ''],
  ] as const)('R-221: a 401 of %s names %j', async ([path, scope]) => {
    for (const token of [undefined, await world.token({ exp: 1 })]) {
      const { status, challenge } = await world.send(path, { method: 'POST', ...(token !== undefined && { token }) });
      expect([status, challenge]).toEqual([401, `Bearer error="invalid_token", ${scope}${metadata(path)}`]);
    }
  });

  test('R-221: a challenge for a missing scope stays as it is', async () => {
    const { challenge } = await call('order', {}, '/silent');
    expect(challenge).toBe(`Bearer error="insufficient_scope", scope="read orders", ${metadata('/silent')}`);
  });
});
