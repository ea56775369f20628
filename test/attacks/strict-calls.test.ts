import { expect, test } from 'vitest';
import { asEvents, asJson, type LockedWorld, startLockedWorld } from '../worlds/locked.ts';
import { request } from '../worlds/mcp.ts';
import { forThisTest } from '../support/start-before.ts';

const object = { type: 'object' } as const;
const pay = {
  name: 'pay',
  inputSchema: {
    ...object,
    properties: { amount: { type: 'integer', maximum: 100 }, to: { type: 'string' } },
    required: ['amount'],
  },
  outputSchema: { ...object, properties: { id: { type: 'string' } }, required: ['id'] },
};
const wrapper = {
  name: 'call_tool',
  inputSchema: {
    ...object,
    properties: { tool_name: { type: 'string' }, parameters: object },
    required: ['tool_name'],
  },
};
const slow = { name: 'slow', inputSchema: { ...object, properties: { a: { pattern: '^(a+)+$' } } } };
const approved = { tools: [pay, wrapper, slow] };
const policy = `
lock: deny
calls: strict
tools: { pay: {}, call_tool: { inner: { name: /tool_name, arguments: /parameters } }, slow: {}, hidden: {} }
`;

async function start(): Promise<LockedWorld> {
  const world = await forThisTest(startLockedWorld({ approved, policy }));
  await world.compared();
  return world;
}

async function called(world: LockedWorld, name: string, args: unknown, members: object = {}): Promise<unknown> {
  const response = await world.send(request('tools/call', { name, arguments: args, ...members }));
  const text = await response.text();
  const reason = /"reason":"([^"]+)"/.exec(text)?.[1];
  const { error } = (text.startsWith('{') ? JSON.parse(text) : {}) as {
    error?: { code: number; data: { errors?: unknown; tool?: unknown } };
  };
  if (reason === undefined || error === undefined) return { status: response.status };
  const { errors, tool } = error.data;
  return {
    status: response.status,
    code: error.code,
    reason,
    ...(errors !== undefined && { errors }),
    ...(tool !== undefined && { tool }),
  };
}

const invalid = (pointer: string, keyword: string, more: object = {}): object => ({
  status: 400,
  code: -32602,
  reason: 'arguments.invalid',
  errors: [{ pointer, keyword }],
  ...more,
});

test('R-364: arguments that the approved schema does not allow or name reach no server', async () => {
  const world = await start();
  world.form = (response, text) =>
    asJson(response, text.replace('"content"', '"structuredContent":{"id":"x"},"content"'));
  expect(await called(world, 'pay', { amount: 5, to: 'bob' })).toEqual({ status: 200 });
  expect(await called(world, 'pay', { amount: 101 })).toEqual(invalid('/amount', 'maximum'));
  expect(await called(world, 'pay', { amount: '5' })).toEqual(invalid('/amount', 'type'));
  expect(await called(world, 'pay', {})).toEqual(invalid('/amount', 'required'));
  expect(await called(world, 'pay', undefined)).toEqual(invalid('/amount', 'required'));
  expect(await called(world, 'pay', { amount: 5, as_admin: true })).toEqual(
    invalid('/as_admin', 'unevaluatedProperties'),
  );
  const says = 'wanted arguments as the schema of the tool says: ';
  const detail = `${says}/as_admin is a member that the schema does not name`;
  await called(world, 'pay', { amount: 5, as_admin: true });
  expect(await world.gateway.decision({ reason: 'arguments.invalid', detail })).toMatchObject({ allow: false });
  expect(await called(world, 'pay', { amount: 5, Amount: 500 })).toMatchObject({ reason: 'body.ambiguous' });
  expect(await called(world, 'pay', { amount: 5 }, { secureArguments: {} })).toMatchObject({
    reason: 'argument.denied',
  });
});

test('an inner call is judged by the schema of the inner tool, and one that the server hides by the policy alone', async () => {
  const world = await start();
  const inner = (tool: string, parameters: object): Promise<unknown> =>
    called(world, 'call_tool', { tool_name: tool, parameters });
  expect(await inner('pay', { amount: 5 })).toEqual({ status: 200 });
  expect(await inner('pay', { amount: 5, x: 1 })).toEqual(invalid('/x', 'unevaluatedProperties', { tool: 'pay' }));
  expect(await inner('hidden', { any: 1 })).toEqual({ status: 200 });
});

test('a tool whose schema may be slow is not called', async () => {
  const world = await start();
  expect(await called(world, 'slow', { a: 'a' })).toMatchObject({ status: 403, reason: 'tool.changed' });
  expect(await world.names('tools')).toEqual(['pay', 'call_tool']);
});

test('before a definition was seen, a call waits', async () => {
  const world = await forThisTest(startLockedWorld({ approved, policy, showsGateway: 401 }));
  expect(await called(world, 'pay', { amount: 5 })).toMatchObject({ status: 503, reason: 'lock.unverified' });
});

test.each([
  ['JSON', asJson],
  ['a stream', asEvents],
])('R-365: a result that the output schema does not allow reaches no client, in %s', async (_name, form) => {
  const world = await start();
  const answered = async (structured: string): Promise<string> => {
    world.form = (response, text) => form(response, text.replace('"content"', `${structured}"content"`));
    const response = await world.send(request('tools/call', { name: 'pay', arguments: { amount: 5 } }));
    return response.text().catch(() => '');
  };
  expect(await answered('"structuredContent":{"id":"x","more":1},')).toContain('"more"');
  expect(await answered('"structuredContent":{"id":"x"},"isError":true,')).toContain('isError');
  expect(await answered('"isError":true,')).toContain('isError');
  expect(await answered('"structuredContent":{"id":7},')).not.toContain('structuredContent');
  expect(await answered('')).not.toContain('"content"');
});
