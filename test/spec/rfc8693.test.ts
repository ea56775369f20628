import { beforeEach, describe, expect, test } from 'vitest';
import { granted, startExchangeWorld, type } from '../worlds/exchange.ts';
import { startBeforeAll } from '../support/start-before.ts';
import { toolCall } from '../worlds/wire.ts';

const world = startBeforeAll(startExchangeWorld);

beforeEach(() => world.reset());

describe('the request', () => {
  test('R-119, RFC 8693 §2.1: sends the token of the caller, the targets and its own credentials', async () => {
    const token = await world.freshToken();
    expect(await world.send('/', { token })).toMatchObject({ status: 200 });
    expect(Object.fromEntries(world.lastForm())).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: token,
      subject_token_type: type('access_token'),
      requested_token_type: type('access_token'),
      audience: 'b',
      resource: 'https://b.example/x',
      scope: 'read write',
    });
    expect(world.asked().at(-1)?.authorization).toBe(`Basic ${Buffer.from('gateway:secret').toString('base64')}`);
  });

  test('R-120, RFC 8693 §2.1: sends an actor_token with its type, and neither without the other', async () => {
    expect(await world.send('/delegated', { token: await world.freshToken() })).toMatchObject({ status: 200 });
    expect(Object.fromEntries(world.lastForm())).toMatchObject({
      actor_token: 'gateway-itself',
      actor_token_type: type('access_token'),
    });
    await world.send('/', { token: await world.freshToken() });
    expect([world.lastForm().has('actor_token'), world.lastForm().has('actor_token_type')]).toEqual([false, false]);
  });
});

test('R-122, RFC 8693 §2.2.1: sends the issued token upstream, and never the caller’s', async () => {
  const token = await world.freshToken();
  await world.send('/', { token });
  const seen = world.upstream.seen.at(-1);
  expect(seen?.headers.authorization).toBe('Bearer new');
  expect(JSON.stringify(seen)).not.toContain(token);
});

test('R-121, RFC 8693 §2.2.1: drops a refresh token beside a bearer token', async () => {
  world.answer = { status: 200, body: { ...granted, refresh_token: 'r3fresh' } };
  expect(await world.send('/', { token: await world.freshToken() })).toMatchObject({ status: 200 });
  const seen = world.upstream.seen.at(-1);
  expect(seen?.headers.authorization).toBe('Bearer new');
  expect(JSON.stringify([seen, await world.gateway.lines()])).not.toContain('r3fresh');
});

test('R-121, RFC 8693 §2.2.1: answers 502 for token_type N_A', async () => {
  world.answer = { status: 200, body: { ...granted, token_type: 'N_A' } };
  const before = world.upstream.seen.length;
  expect(await world.send('/', { token: await world.freshToken() })).toMatchObject({ status: 502, challenge: null });
  await world.gateway.decision({ allow: false, reason: 'exchange.invalid' });
  expect(world.upstream.seen.length).toBe(before);
});

test('R-123, RFC 8693 §2.2.1: keeps a token until shortly before expires_in, with one request in flight', async () => {
  const [token, before] = [await world.freshToken(), world.asked().length];
  await Promise.all([1, 2, 3, 4].map(() => world.send('/', { token })));
  expect(world.asked().length).toBe(before + 1);
  world.advance(75);
  await world.send('/', { token });
  expect(world.asked().length).toBe(before + 1);
  world.advance(16);
  await world.send('/', { token });
  expect(world.asked().length).toBe(before + 2);
});

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

test('R-125, RFC 8693 §2.2.2: answers invalid_grant with 502 when the issuer of the token has just called it active', async () => {
  world.answer = { status: 400, body: { error: 'invalid_grant' } };
  const token = world.opaqueToken();
  expect(await world.send('/', { token })).toMatchObject({ status: 502, challenge: null });
  await world.gateway.decision({ allow: false, reason: 'exchange.refused' });
  expect(await world.send('/plain', { token })).toMatchObject({ status: 200 });
});

describe('less scope than the gateway asked for', () => {
  const call = (token: string, tool: string) => world.post('/mcp', token, toolCall(tool));
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
});
