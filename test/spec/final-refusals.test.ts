import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startWorld, type Answer, type World } from '../worlds/gateway.ts';
import { toolCall } from '../worlds/wire.ts';

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
  short: { max_lifetime: 60s, because: For more use request_transfer. }
`;

let world: World;
beforeAll(async () => {
  world = await startWorld({
    yaml: (issuer, upstream) => `
authorization_servers: { main: { issuer: "${issuer}", jwt: { algorithms: [RS256] } } }
routes:
  - { name: tools, path: /mcp, protocol: mcp, audience: a, policy: tools, upstream: { url: "${upstream}/mcp" } }
  - { name: dry, path: /dry, protocol: mcp, audience: a, policy: dry, upstream: { url: "${upstream}/mcp" } }
  - { name: api, path: /api, audience: a, policy: api, upstream: { url: "${upstream}/api" } }
`,
    policies: {
      tools: policy,
      dry: `mode: shadow\n${policy}`,
      api: 'scope: read\nclaims: { tenant: acme }\nbecause: Only Acme calls this.\n',
    },
    claims: { aud: 'a', scope: 'read payments', role: 'trader' },
  });
});
afterAll(() => world.close());

async function call(tool: string, claims: Record<string, unknown>, path = '/mcp'): Promise<Answer> {
  return world.send(path, {
    method: 'POST',
    token: await world.token(claims),
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: toolCall(tool),
  });
}

describe('the words of the operator', () => {
  test.for([
    ['of the entry that refuses', 'pay', { role: 'clerk' }, 'claim.denied', 'For more use request_transfer.'],
    ['of the entry for arguments', 'pay', {}, 'argument.denied', 'For more use request_transfer.'],
    ['of the policy for its own claims', 'pay', { blocked: true }, 'claim.denied', 'Ask support for access.'],
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

  const lifetime = { iat: Math.floor(Date.now() / 1000), exp: Math.floor(Date.now() / 1000) + 900 };
  test.for([
    ['are not for a missing scope', 'order', {}, 403, 'scope.insufficient'],
    ['are not for a lifetime', 'short', lifetime, 403, 'lifetime.exceeded'],
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
