import { describe, expect, test } from 'vitest';
import { startBeforeAll } from '../../../support/start-before.ts';
import { startWorld } from '../../../worlds/gateway.ts';

describe('R-325, RFC 9470 §3: on the wire', () => {
  const world = startBeforeAll(() =>
    startWorld({
      yaml: (issuer, upstream) => `
authorization_servers: { main: { issuer: ${issuer}, jwt: { algorithms: [RS256] } } }
routes:
  - { name: mcp, path: /mcp, protocol: mcp, audience: a, policy: pay, upstream: { url: '${upstream}/mcp' } }
`,
      policies: { pay: 'tools:\n  pay: { scope: pay, acr: [mfa, phr], max_age: 5m }\n' },
    }),
  );

  const now = (): number => Math.floor(Date.now() / 1000);
  const call = async (claims: Record<string, unknown>) => {
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'pay', arguments: {} } };
    return world.send('/mcp', {
      method: 'POST',
      token: await world.token(claims),
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify(message),
    });
  };

  test('a recent sign-in of the right kind passes', async () => {
    expect((await call({ scope: 'pay', acr: 'mfa', auth_time: now() - 10 })).status).toBe(200);
  });

  test('a sign-in that is too old is asked for again, with the scope that is missing too', async () => {
    const { status, challenge, text } = await call({ acr: 'mfa', auth_time: now() - 400 });
    expect(status).toBe(401);
    expect(challenge).toBe(
      'Bearer error="insufficient_user_authentication", acr_values="mfa phr", max_age="300", scope="pay", resource_metadata="http://gateway.test/.well-known/oauth-protected-resource/mcp"',
    );
    const { error } = JSON.parse(text) as { error: { data: object } };
    expect(error.data).toMatchObject({ reason: 'authentication.insufficient', acr_values: 'mfa phr', max_age: 300 });
  });
});
