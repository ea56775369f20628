import { beforeEach, describe, expect, test } from 'vitest';
import { granted, startExchangeWorld } from '../worlds/exchange.ts';
import { startBeforeAll } from '../support/start-before.ts';

const world = startBeforeAll(startExchangeWorld);
beforeEach(() => world.reset());

test.for([
  ['invalid_target', 400, 502, null],
  ['invalid_grant', 400, 401, 'Bearer error="invalid_token"'],
] as const)(
  'R-125, RFC 8693 §2.2.2: turns %s with %d into %d for the client',
  async ([error, status, expected, challenge]) => {
    world.answer = { status, body: { error } };
    const before = world.upstream.seen.length;
    expect(await world.send('/', { token: await world.freshToken() })).toMatchObject({ status: expected, challenge });
    expect(world.upstream.seen.length).toBe(before);
  },
);

test('R-125, RFC 8693 §2.2.2: answers 503 when the server is unavailable', async () => {
  world.answer = { status: 503, body: {} };
  const { status: seen, headers } = await world.send('/', { token: await world.freshToken() });
  expect([seen, headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)]);
  // Whatever waits before it asks again has waited.
  world.advance(120);
});

describe('invalid_grant (RFC 6749 §5.2) that no new token can cure', () => {
  test('R-125, RFC 8693 §2.2.2: answers 502 when the issuer of the token has just called it active', async () => {
    world.answer = { status: 400, body: { error: 'invalid_grant' } };
    const token = world.opaqueToken();
    expect(await world.send('/', { token })).toMatchObject({ status: 502, challenge: null });
    await world.gateway.decision({ allow: false, reason: 'exchange.refused' });
    expect(await world.send('/plain', { token })).toMatchObject({ status: 200 });
  });

  test('R-125, RFC 8693 §2.2.2: answers 502 when another server issued the token', async () => {
    world.answer = { status: 400, body: { error: 'invalid_grant' } };
    const token = await world.freshToken({ iss: 'https://other.example' });
    expect(await world.send('/foreign', { token })).toMatchObject({ status: 502, challenge: null });
  });
});

describe('invalid_request, the answer to an invalid subject token', () => {
  test('R-125, RFC 8693 §2.2.2: answers 401 when the token is no longer active, and forgets it', async () => {
    const token = world.opaqueToken();
    expect(await world.send('/plain', { token })).toMatchObject({ status: 200 });
    world.issuer.introspection.delete(token);
    expect(await world.send('/plain', { token })).toMatchObject({ status: 200 });

    world.answer = { status: 400, body: { error: 'invalid_request' } };
    expect(await world.send('/', { token })).toMatchObject({ status: 401, challenge: 'Bearer error="invalid_token"' });
    await world.gateway.decision({ reason: 'token.inactive' });
    expect(await world.send('/plain', { token })).toMatchObject({ status: 401 });
  });
});

describe('less scope than the gateway asked for', () => {
  const call = (token: string, tool: string) =>
    world.send('/mcp', {
      method: 'POST',
      token,
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: tool, arguments: {} } }),
    });
  const challenge = (scope: string): string =>
    `Bearer error="insufficient_scope", scope="${scope}", resource_metadata="http://gateway.test/.well-known/oauth-protected-resource/mcp"`;

  test.for([
    ['a narrower grant', 200, { ...granted, scope: 'other' }],
    ['invalid_scope', 400, { error: 'invalid_scope' }],
  ] as const)(
    'R-124, RFC 8693 §2.2.1: challenges for all scopes of the operation after %s',
    async ([, status, body]) => {
      world.answer = { status, body };
      const token = await world.freshToken({ scope: 'read payments' });
      expect(await call(token, 'pay')).toMatchObject({ status: 403, challenge: challenge('read payments api') });
      expect(await call(token, 'look')).toMatchObject({ status: 403, challenge: challenge('read api') });
      expect(await world.gateway.decision()).toMatchObject({
        allow: false,
        reason: 'exchange.insufficient_scope',
        needed_scope: 'read api',
      });
      const stepped = await world.freshToken({ scope: 'read payments api' });
      world.answer = { status: 200, body: { ...granted, scope: 'api' } };
      expect(await call(stepped, 'pay')).toMatchObject({ status: 200 });
    },
  );

  test('R-125, RFC 8693 §2.2.2: sends no challenge for a token that has the scope', async () => {
    world.answer = { status: 200, body: { ...granted, scope: 'other' } };
    const token = await world.freshToken({ scope: 'read api' });
    expect(await call(token, 'look')).toMatchObject({ status: 502, challenge: null });
    await world.gateway.decision({ reason: 'exchange.scope' });
  });

  test('R-125, RFC 8693 §2.2.2: sends no challenge for a token of another server', async () => {
    world.answer = { status: 400, body: { error: 'invalid_scope' } };
    const token = await world.freshToken({ iss: 'https://other.example' });
    expect(await world.send('/foreign', { token })).toMatchObject({ status: 502, challenge: null });
    world.answer = { status: 200, body: granted };
    expect(
      await world.send('/foreign', { token: await world.freshToken({ iss: 'https://other.example' }) }),
    ).toMatchObject({
      status: 200,
    });
  });
});
