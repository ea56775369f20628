import { describe, expect, test } from 'vitest';
import { startBeforeAll } from '../support/start-before.ts';
import { request, startMcpWorld } from '../worlds/mcp.ts';

const world = startBeforeAll(() =>
  startMcpWorld({
    policy: `
tools:
  call_tool: { inner: { name: /tool_name, arguments: /parameters } }
  run_batch: { inner: { each: /calls, name: /name, arguments: /args } }
  search: {}
  'get_*': {}
  transfer_funds: { scope: payments, arguments: { /amount: { at_most: 10 } } }
  once: { quota: [{ count: 2, per: 1h }] }
`,
  }),
);

interface Answered {
  readonly status: number;
  readonly reason?: unknown;
  readonly tool?: unknown;
  readonly scope?: unknown;
}

async function answered(response: Response): Promise<Answered> {
  const text = await response.text();
  if (response.status === 200) return { status: 200 };
  const { error } = JSON.parse(text) as { error: { data: { reason: string; tool?: string; scope?: string } } };
  const { reason, tool, scope } = error.data;
  return {
    status: response.status,
    reason,
    ...(tool !== undefined && { tool }),
    ...(scope !== undefined && { scope }),
  };
}

const called = async (name: string, args: unknown): Promise<Answered> =>
  answered(await world.send(request('tools/call', { name, arguments: args as object })));

/** Sends arguments as they are written. */
async function written(args: string): Promise<Answered> {
  const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"call_tool","arguments":${args}}}`;
  const headers = { authorization: `Bearer ${await world.token()}`, 'content-type': 'application/json' };
  return answered(await fetch(`${world.gateway.url}/mcp`, { method: 'POST', headers, body }));
}

const unreadable = { status: 403, reason: 'argument.denied' };
const nested = (levels: number): object =>
  levels === 0 ? { tool_name: 'search' } : { tool_name: 'call_tool', parameters: nested(levels - 1) };

describe('R-362: a tool that calls others leads around no rule', () => {
  test('of the inner tool, which the challenge and the body name', async () => {
    const lacking = { status: 403, reason: 'scope.insufficient', tool: 'transfer_funds' };
    const pay = { tool_name: 'transfer_funds', parameters: { amount: 1 } };
    expect(await called('call_tool', pay)).toMatchObject(lacking);
    expect(await called('call_tool', { tool_name: 'call_tool', parameters: pay })).toMatchObject(lacking);
    expect(await called('run_batch', { calls: [{ name: 'search' }, { name: 'call_tool', args: pay }] })).toMatchObject(
      lacking,
    );
    expect(await called('call_tool', { tool_name: 'transfer_funds', parameters: { amount: 11 } })).toEqual({
      status: 403,
      reason: 'argument.denied',
      tool: 'transfer_funds',
    });
    expect(await called('call_tool', { tool_name: 'search', parameters: {} })).toEqual({ status: 200 });
  });

  test.each(['Transfer_Funds', 'transfer_funds ', 'transfer\u200b_funds', 'drop', ''])(
    'by another spelling of a name: %j',
    async (name) => {
      expect(await called('call_tool', { tool_name: name })).toMatchObject({ status: 403, reason: 'tool.unlisted' });
    },
  );

  test.each<[string, unknown]>([
    ['null arguments', { tool_name: 'search', parameters: null }],
    ['arguments in a text', { tool_name: 'search', parameters: '{"amount":1}' }],
    ['a list of names', { tool_name: ['search', 'transfer_funds'] }],
    ['a name with a NUL', { tool_name: 'get_x\u0000' }],
    ['five levels', nested(4)],
    ['thirty levels', nested(30)],
  ])('by what servers read in other ways: %s', async (_name, args) => {
    expect(await called('call_tool', args)).toMatchObject(unreadable);
  });

  test('by members that parsers read differently', async () => {
    const ambiguous = { status: 400, reason: 'body.ambiguous' };
    expect(await written('{"tool_name":"search","tool_name":"transfer_funds"}')).toEqual(ambiguous);
    expect(await written('{"tool_name":"search","Tool_Name":"transfer_funds"}')).toEqual(ambiguous);
    expect(await written('{"tool_name":"search","parameters":{"a":1,"A":2}}')).toEqual(ambiguous);
  });

  test('by a huge batch, alone or of batches', async () => {
    const calls = Array.from({ length: 33 }, () => ({ name: 'search' }));
    expect(await called('run_batch', { calls })).toEqual(unreadable);
    const batches = Array.from({ length: 32 }, () => ({ name: 'run_batch', args: { calls: calls.slice(0, 32) } }));
    expect(await called('run_batch', { calls: batches })).toEqual(unreadable);
  });

  test('by a batch that uses a quota more than once', async () => {
    const once = { name: 'once' };
    expect(await called('run_batch', { calls: [once, once, once] })).toMatchObject({ reason: 'quota.exceeded' });
    expect(await called('run_batch', { calls: [once, once] })).toEqual({ status: 200 });
    expect(await called('once', {})).toMatchObject({ reason: 'quota.exceeded' });
  });
});

test('the log names the inner tools of calls that were allowed or refused', async () => {
  await called('run_batch', { calls: [{ name: 'get_log' }, { name: 'x'.repeat(200) }] });
  await called('run_batch', { calls: [{ name: 'get_log' }, { name: 'search' }] });
  const lines = await world.gateway.lines();
  const inner = lines.flatMap((line) =>
    Array.isArray(line['inner']) && line['inner'][0] === 'get_log' ? [line['inner']] : [],
  );
  expect(inner).toEqual([
    ['get_log', 'x'.repeat(128)],
    ['get_log', 'search'],
  ]);
});
