import { expect, test } from 'vitest';
import { apiAudience, metadataUrl, startService, toolList } from './service.ts';
import { startBeforeAll } from '../support/start-before.ts';

const service = startBeforeAll(startService);

const begin = `Bearer error="invalid_token", scope="read", resource_metadata="${metadataUrl}"`;
const stepUp = `Bearer error="insufficient_scope", scope="read payments", resource_metadata="${metadataUrl}"`;
const transfer = { name: 'transfer_funds', arguments: { from: 'savings', to: 'trading', amount: 10 } };

/** What the authorization server gives for the scope of the challenge. */
function highPrivilege(lifetimeS: number): string {
  const iat = Math.floor(Date.now() / 1000);
  return service.agentToken({ scope: 'read payments', iat, exp: iat + lifetimeS });
}

test('R-126: forwards the message of a valid token unchanged and returns the data', async () => {
  const { status, text } = await service.message(service.agentToken(), 'tools/call', { name: 'get_balance' });
  expect(status).toBe(200);
  expect(JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? '')).toEqual(toolList);
  expect(service.upstream.seen.at(-1)).toMatchObject({
    method: 'POST',
    url: '/mcp',
    body: '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get_balance"}}',
  });
});

test.for([
  ['no token', (): undefined => undefined],
  ['an unknown token', (): string => 'made-up'],
  ['an expired token', (): string => service.agentToken({ exp: 1 })],
  ['a token for another audience', (): string => service.agentToken({ aud: apiAudience })],
] as const)('R-12, R-14: answers 401 with the metadata and the scope to begin with: %s', async ([, token]) => {
  const before = service.upstream.seen.length;
  const { status, challenge } = await service.message(token(), 'tools/list');
  expect([status, challenge]).toEqual([401, begin]);
  expect(service.upstream.seen.length).toBe(before);
});

test('R-17, R-18: answers 403 with all scopes that the tool needs', async () => {
  const before = service.upstream.seen.length;
  const { status, challenge, text } = await service.message(service.agentToken(), 'tools/call', transfer);
  expect([status, challenge]).toEqual([403, stepUp]);
  expect(JSON.parse(text)).toMatchObject({ jsonrpc: '2.0', id: 7, error: { data: { reason: 'scope.insufficient' } } });
  expect(service.upstream.seen.length).toBe(before);
});

test('R-22: sends the same challenge to all callers that lack the same scope', async () => {
  const tokens = [
    service.agentToken(),
    service.agentToken({ sub: 'bob' }),
    service.agentToken({ scope: 'read write' }),
  ];
  const answers = await Promise.all(
    [...tokens, ...tokens].map((token) => service.message(token, 'tools/call', transfer)),
  );
  expect(new Set(answers.map(({ challenge }) => challenge))).toEqual(new Set([stepUp]));
});

test('R-86: passes the repeated request with the new token', async () => {
  expect(await service.message(highPrivilege(60), 'tools/call', transfer)).toMatchObject({ status: 200 });
});

test('R-19, R-85: refuses a high-privilege token of over a minute without a challenge', async () => {
  expect(await service.message(highPrivilege(61), 'tools/call', transfer)).toMatchObject({
    status: 403,
    challenge: null,
  });
  expect(await service.message(highPrivilege(900), 'tools/call', transfer)).toMatchObject({
    status: 403,
    challenge: null,
  });
});

test('R-85: serves the other tools to that token', async () => {
  expect(await service.message(highPrivilege(900), 'tools/list')).toMatchObject({ status: 200 });
});

test('R-138: answers 401 once a cached token has expired', async () => {
  const own = await startService();
  const iat = Math.floor(Date.now() / 1000);
  const token = own.agentToken({ iat, exp: iat + 60 });
  const answers: (readonly [number, string | null])[] = [];
  for (const seconds of [0, 59, 7]) {
    own.advance(seconds);
    const { status, challenge } = await own.message(token, 'tools/list');
    answers.push([status, challenge]);
  }
  await own.close();
  expect(answers).toEqual([
    [200, null],
    [200, null],
    [401, begin],
  ]);
});
