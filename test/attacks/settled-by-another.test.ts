import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startMcpWorld, type McpWorld } from '../worlds/mcp.ts';

const policy = `
tools:
  approve: {}
  disburse:
    after: { tool: approve, within: 1h }
  pay:
    quota: [{ sum: /amount, at_most: 5000, per: 1h }]
  read: {}
`;

let world: McpWorld;
let callers = 0;
let claims: Record<string, unknown>;
beforeAll(async () => {
  world = await startMcpWorld({ policy });
});
afterAll(() => world.close());
beforeEach(() => {
  callers += 1;
  claims = { sub: `mallory-${callers}` };
});

function answer(text: string, status = 200): void {
  world.handle = (_request, response) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(text);
}

async function send(method: string, params: object): Promise<{ status: number; text: string }> {
  const response = await world.send({ jsonrpc: '2.0', id: 1, method, params }, { claims });
  return { status: response.status, text: await response.text() };
}

async function call(name: string, args: object = {}): Promise<number> {
  return (await send('tools/call', { name, arguments: args })).status;
}

const result = (members: string): string => `{"jsonrpc":"2.0","id":1,"result":{${members}}}`;
const error = '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}';
const both = '{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":-32000,"message":"no"}}';

describe('an approval that was not answered without an error is none', () => {
  test('if a message about its task fetches the result of another task', async () => {
    const created = async (name: string, taskId: string): Promise<string> => {
      answer(result(`"task":{"taskId":"${taskId}","status":"working"}`));
      const { text } = await send('tools/call', { name, task: {} });
      return (JSON.parse(text) as { result: { task: { taskId: string } } }).result.task.taskId;
    };
    const approval = await created('approve', 'of-approve');
    const taskId = await created('read', 'of-read');
    answer(result('"content":[]'));
    const related = { 'io.modelcontextprotocol/related-task': { taskId: approval } };
    expect((await send('tasks/result', { taskId, _meta: related })).status).toBe(200);
    expect(await call('disburse')).toBe(403);
    expect((await send('tasks/result', { taskId: approval })).status).toBe(200);
    expect(await call('disburse')).toBe(200);
  });

  test.each([
    ['that says twice whether it is an error', result('"isError":true,"isError":false')],
    ['with a result and an error', both],
    ['that is two answers', `[${result('')},${error}]`],
  ])('by an answer %s', async (_, text) => {
    answer(text);
    expect(await call('approve')).toBe(200);
    answer(result(''));
    expect(await call('disburse')).toBe(403);
  });
});

describe('a call that may have acted does not get its part back', () => {
  test.each([
    ['that says twice whether it is an error', result('"isError":false,"isError":true')],
    ['with a result and an error', both],
    ['that is two answers', `[${error},${result('')}]`],
    ['of a proxy that got none in time', '', 504],
    ['of a proxy that got a broken one', '', 502],
    ['of a proxy whose client left', '', 499],
    ['of a network for content that got none in time', '', 524],
    ['of a network for content that got a broken one', '', 520],
    // Some frameworks look at these headers of the caller only when they write the answer.
    ['that no form of `Accept` fits', '', 406],
    ['whose `If-None-Match` of the caller is met', '', 412],
    ['whose `Range` of the caller has no part of it', '', 416],
  ])('by an answer %s', async (_, text, status = 200) => {
    answer(text, status);
    expect(await call('pay', { amount: 5000 })).toBe(status);
    answer(result(''));
    expect(await call('pay', { amount: 1 })).toBe(429);
  });
});

test('an answer in a form that the caller refuses frees the id of its request', async () => {
  world.handle = (_request, response) =>
    void response
      .writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'session' })
      .end(result('"protocolVersion":"2025-11-25"'));
  const message = (method: string, params: object): object => ({ jsonrpc: '2.0', id: 1, method, params });
  const opened = await world.send(message('initialize', {}), { claims });
  const headers = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
  const request = message('tools/call', { name: 'pay', arguments: { amount: 1 } });
  answer('', 406);
  expect((await world.send(request, { claims, headers })).status).toBe(406);
  expect((await world.send(request, { claims, headers })).status).toBe(406);
});
