import { expect, test } from 'vitest';
import type { DecisionDetail, Past } from '../../../src/capabilities/console/messages.ts';
import { startConsoleWorld } from './world.ts';
import { startBeforeAll } from '../../support/start-before.ts';

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
