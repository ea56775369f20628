/** What the gateway answers itself decides on calls and tokens: a token that names no resource must not open it. */
import { describe, expect, test } from 'vitest';
import { startWorld } from '../worlds/gateway.ts';
import { startBeforeAll } from '../support/start-before.ts';

const world = startBeforeAll(() =>
  startWorld({
    server: 'introspection: { client_id: gateway, client_secret: secret, audience: optional }',
    routes: ['name: api, path: /api, audience: "https://api.example", upstream: { url: UPSTREAM }'],
    top: `approvals: { authorization_servers: [main] }
revocation:
  endpoint: { path: /revoke-subject, authorization_servers: [main], scope: read }`,
  }),
);

describe('a token without aud, where introspection.audience is optional', () => {
  const token = (): string => world.opaque({ aud: undefined, scope: 'read' });

  test('opens a route', async () => {
    expect((await world.send('/api', { token: token() })).status).toBe(200);
  });

  test.each([
    ['GET', '/approvals'],
    ['POST', '/approvals/AAAAAAAAAAAAAAAAAAAAAA'],
    ['POST', '/revoke-subject'],
  ])('does not open an endpoint of the gateway: %s %s', async (method, path) => {
    const own = token();
    // Also where a cache knows it as valid.
    await world.send('/api', { token: own });
    expect((await world.send(path, { method, token: own })).status).toBe(401);
    await world.gateway.decision({ reason: 'token.audience', path });
  });

  test('does not keep a token that names the endpoint from opening it', async () => {
    const named = world.opaque({ aud: 'http://gateway.test/approvals' });
    expect((await world.send('/approvals', { token: named })).status).toBe(200);
  });
});
