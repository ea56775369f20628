import { expect, test } from 'vitest';
import { startBeforeAll } from '../support/start-before.ts';
import { request, startMcpWorld } from '../worlds/mcp.ts';

const world = startBeforeAll(() =>
  startMcpWorld({
    top: 'approvals: { authorization_servers: [main] }',
    policy: `
tools:
  bound: { arguments: { /amount: { at_most: 10 } } }
  counted: { quota: [{ count: 100, per: 1h }] }
  approved: { approval: { when: { arguments: { /amount: { above: 10 } } }, by: { claims: { role: supervisor } } } }
  same: { never_after: { tool: unused, within: 1h, same: [/amount] } }
  later: { never_after: { tool: unused, within: 1h } }
  free: {}
  unused: {}
prompts:
  bound: { arguments: { /amount: { at_most: 10 } } }
  free: {}
`,
  }),
);

async function called(name: string, members: object, method = 'tools/call', beside: object = {}): Promise<unknown> {
  const message = { ...request(method, { name, arguments: { amount: 1 }, ...members }), ...beside };
  const { status, text } = await (async () => {
    const response = await world.send(message);
    return { status: response.status, text: await response.text() };
  })();
  return { status, reason: status === 200 ? undefined : /"reason":"([^"]+)"/.exec(text)?.[1] };
}

const denied = { status: 403, reason: 'argument.denied' };

test.each(['bound', 'counted', 'approved', 'same'])(
  'R-363: arguments beside `arguments` reach no tool whose call depends on them: %s',
  async (tool) => {
    expect(await called(tool, {})).toMatchObject({ status: 200 });
    expect(await called(tool, { secureArguments: { amount: 1000 } })).toEqual(denied);
    expect(await called(tool, { args: [1000], input: null })).toEqual(denied);
    expect(await called(tool, { ['x'.repeat(1_000)]: 1 })).toEqual(denied);
    expect(await called(tool, { _meta: {}, inputResponses: {} })).toMatchObject({ status: 200 });
  },
);

test('R-363: nor does a member of the message beside `params` reach it, nor one of a prompt', async () => {
  expect(await called('bound', {}, 'tools/call', { arguments: { amount: 1000 } })).toEqual(denied);
  expect(await called('bound', {}, 'prompts/get')).toMatchObject({ status: 200 });
  expect(await called('bound', { secureArguments: { amount: 1000 } }, 'prompts/get')).toEqual(denied);
  expect(await called('free', { secureArguments: { amount: 1000 } }, 'prompts/get')).toMatchObject({ status: 200 });
});

test.each(['free', 'later'])('other members pass where no argument decides: %s', async (tool) => {
  expect(await called(tool, { secureArguments: { amount: 1000 } })).toMatchObject({ status: 200 });
});

test('the log names the member', async () => {
  await called('bound', { secureArguments: {} });
  const lines = await world.gateway.lines();
  expect(lines.filter(({ detail }) => detail === 'params.secureArguments is not covered by this policy')).not.toEqual(
    [],
  );
});
