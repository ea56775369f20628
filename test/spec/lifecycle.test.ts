import { afterAll, beforeAll, expect, test } from 'vitest';
import { apiAudience, metadataUrl, startService, toolList, type Service } from './service.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const begin = `Bearer error="invalid_token", scope="read", resource_metadata="${metadataUrl}"`;
const stepUp = `Bearer error="insufficient_scope", scope="read payments", resource_metadata="${metadataUrl}"`;
const transfer = { name: 'transfer_funds', arguments: { from: 'savings', to: 'trading', amount: 10 } };

/** What the authorization server gives for the scope of the challenge. */
function highPrivilege(lifetimeS: number): string {
  const iat = Math.floor(Date.now() / 1000);
  return service.agentToken({ scope: 'read payments', iat, exp: iat + lifetimeS });
}

test('§1.1a, §3.6 — a valid and sufficient token: the message reaches the MCP server as it is, the data comes back', async () => {
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
  ['none', (): undefined => undefined],
  ['one that nobody issued', (): string => 'made-up'],
  ['one that was revoked', (): string => service.agentToken({ active: false })],
  ['one that has expired', (): string => service.agentToken({ exp: 1 })],
  ['one for another audience', (): string => service.agentToken({ aud: apiAudience })],
] as const)('§1.2b, §3.1, §7.1 — without a valid token: 401 and where to begin (%s)', async ([, token]) => {
  const before = service.upstream.seen.length;
  const { status, challenge } = await service.message(token(), 'tools/list');
  expect([status, challenge]).toEqual([401, begin]);
  expect(service.upstream.seen.length).toBe(before);
});

test('§3.7, §7.2 — a tool that needs more scope: 403, and all that this operation needs', async () => {
  const before = service.upstream.seen.length;
  const { status, challenge, text } = await service.message(service.agentToken(), 'tools/call', transfer);
  expect([status, challenge]).toEqual([403, stepUp]);
  expect(JSON.parse(text)).toMatchObject({ jsonrpc: '2.0', id: 7, error: { data: { reason: 'scope.insufficient' } } });
  expect(service.upstream.seen.length).toBe(before);
});

test('§3.7 — the same bytes each time and for everybody who lacks the same', async () => {
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

test('§3.8 — the new token for that scope: the repeated request passes', async () => {
  expect(await service.message(highPrivilege(60), 'tools/call', transfer)).toMatchObject({ status: 200 });
});

test('§8.2 — a high-privilege token that lives longer than a minute is refused, without a challenge to loop on', async () => {
  expect(await service.message(highPrivilege(61), 'tools/call', transfer)).toMatchObject({
    status: 403,
    challenge: null,
  });
  expect(await service.message(highPrivilege(900), 'tools/call', transfer)).toMatchObject({
    status: 403,
    challenge: null,
  });
});

test('§8.2 — but does everything else', async () => {
  expect(await service.message(highPrivilege(900), 'tools/list')).toMatchObject({ status: 200 });
});

test('§3.9 — the lifetime passes: 401 again, for a token that was just accepted and is cached', async () => {
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
