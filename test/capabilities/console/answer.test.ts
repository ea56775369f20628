import { expect, test } from 'vitest';
import type { DecisionDetail, Past } from '../../../src/capabilities/console/messages.ts';
import { startConsoleWorld } from './world.ts';
import { forThisTest, startBeforeAll } from '../../support/start-before.ts';
import { request, startMcpWorld } from '../../worlds/mcp.ts';

const world = startBeforeAll(() => startConsoleWorld({ route: 'refusals: { final: tool_error }' }));

test.each([
  ['a tool result', 'ann', { scope: 'read payments', role: 'clerk' }, 200, []],
  [
    'a challenge',
    'bob',
    { scope: 'read', role: 'trader' },
    403,
    [
      'Bearer error="insufficient_scope", scope="read payments", resource_metadata="https://gateway.bank.example/.well-known/oauth-protected-resource/mcp"',
    ],
  ],
  ['no refusal', 'cleo', { scope: 'read payments', role: 'trader' }, 200, undefined],
])('a decision has the answer that the client got: %s', async (_what, sub, claims, status, challenges) => {
  expect(await world.call({ sub, ...claims }, 'transfer_funds', { amount: 10 })).toBe(status);
  const [row] = (await world.read<Past>(`/console/past?subject=${sub}`)).rows;
  const { answer } = await world.read<DecisionDetail>(`/console/decision?id=${row?.id}`);
  expect(answer).toEqual(challenges && { status, challenges });
});

test('a decision has who acted, the version of its policy, and what its list lacks', async () => {
  const tools = ['a', 'b', ...Array.from({ length: 70 }, (_, index) => `tool-${index}-${'x'.repeat(200)}`)];
  const own = await forThisTest(
    startMcpWorld({
      policy: 'tools: { a: {} }',
      handle: (_request, response) =>
        void response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools: tools.map((name) => ({ name })) } })),
    }),
  );
  const act = { sub: 'agent-7', act: { sub: 'planner' } };
  await (await own.send(request('tools/list'), { claims: { act } })).text();
  const read = async <Answer>(path: string): Promise<Answer> =>
    (await (await fetch(`${own.gateway.adminUrl}${path}`)).json()) as Answer;
  const [row] = (await read<Past>('/console/past')).rows;
  const detail = await read<DecisionDetail>(`/console/decision?id=${row?.id}`);
  expect(detail).toMatchObject({
    actors: ['agent-7', 'planner'],
    version: expect.stringMatching(/^tools@[0-9a-f]{12}$/) as string,
    list: { shown: 1, by: ['policy'], more: 7 },
  });
  expect(detail.list?.withheld).toHaveLength(64);
  expect(detail.list?.withheld.slice(0, 2)).toEqual(['b', `tool-0-${'x'.repeat(121)}`]);
});
