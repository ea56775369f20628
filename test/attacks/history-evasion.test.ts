import { beforeEach, describe, expect, test } from 'vitest';
import { traefikCall } from '../forward-auth/ask.ts';
import { startMcpWorld } from '../worlds/mcp.ts';
import { startBeforeAll } from '../support/start-before.ts';

const policy = `
tools:
  approve: {}
  disburse:
    after: { tool: approve, within: 1h, same: [/claim] }
  pay:
    quota: [{ sum: /amount, at_most: 5000, per: 1h }]
  "read_*": {}
  mail:
    never_after: { tool: read_secret, within: 1d }
`;

const initialized = '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}';
let callers = 0;
let subject: string;
const world = startBeforeAll(() =>
  startMcpWorld({ policy, top: 'forward_auth: { listen: 127.0.0.1:0, trusted: [127.0.0.1] }' }),
);
beforeEach(() => {
  callers += 1;
  subject = `mallory-${callers}`;
  answer('{"jsonrpc":"2.0","id":1,"result":{}}');
});

/** What the upstream answers from now on. */
function answer(text: string, status = 200, headers: Record<string, string> = {}): void {
  world.handle = (_request, response) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
}

/** The answer to a call whose `params` the attacker writes. */
async function answerTo(params: string, { claims = {}, headers = {}, id = '"id":1,', method = 'tools/call' } = {}) {
  const message = `{"jsonrpc":"2.0",${id}"method":"${method}","params":${params}}`;
  return world.post('/mcp', await world.token({ sub: subject, ...claims }), message, headers);
}

const attack = async (...sent: Parameters<typeof answerTo>): Promise<number> => (await answerTo(...sent)).status;
const pay = (amount: string): string => `{"name":"pay","arguments":{"amount":${amount}}}`;
const approve = '{"name":"approve","arguments":{"claim":7}}';
const disburse = '{"name":"disburse","arguments":{"claim":7}}';
const mail = '{"name":"mail"}';

// test/policy-parts/history/rules.test.ts has the table of amounts.
test.each([
  ['negative', pay('-5000'), 403],
  ['absent', '{"name":"pay"}', 403],
  ['there twice', '{"name":"pay","arguments":{"amount":1,"amount":5000}}', 400],
  ['there in two cases', '{"name":"pay","arguments":{"amount":1,"AMOUNT":5000}}', 400],
  ['in a text', '{"name":"pay","arguments":"{\\"amount\\":1}"}', 400],
  ['of another tool', '{"name":"read_x","name":"pay","arguments":{"amount":5000}}', 400],
])('an amount that is %s does not lower or hide a sum', async (_, params, status) => {
  const before = world.upstream.seen.length;
  expect(await attack(params)).toBe(status);
  expect(world.upstream.seen.length).toBe(before);
});

describe('one caller has one budget', () => {
  test('over its tokens, clients, scopes, revisions of the protocol, ids, and notifications', async () => {
    const as = (i: number, revision: string, id: string) => ({
      claims: { jti: String(i), client_id: `client-${i}`, scope: `scope-${i}` },
      headers: { 'mcp-protocol-version': revision },
      id,
    });
    expect(await attack(pay('2000'), as(1, '2025-06-18', '"id":1,'))).toBe(200);
    expect(await attack(pay('2000'), as(2, '2025-11-25', '"id":"2",'))).toBe(200);
    expect(await attack(pay('1000'), as(3, '2025-11-25', ''))).toBe(200);
    expect(await attack(pay('1'), as(4, '2025-11-25', ''))).toBe(429);
  });

  test('in a race', async () => {
    const statuses = await Promise.all(Array.from({ length: 20 }, () => attack(pay('1000'))));
    expect(statuses.filter((status) => status === 200)).toHaveLength(5);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
  });

  test('if a proxy asks, which sees the answers in place of the gateway', async () => {
    const ask = async (params: string): Promise<number> => {
      const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;
      return (await traefikCall(world.gateway, await world.token({ sub: subject }), body)).status;
    };
    expect([await ask(pay('5000')), await ask(pay('1'))]).toEqual([200, 429]);
    expect([await ask(approve), await ask(disburse)]).toEqual([200, 403]);
    expect([await ask('{"name":"read_secret"}'), await ask(mail)]).toEqual([200, 403]);
  });
});

test.each([
  ['another spelling', '{"name":"read_SECRET"}', {}],
  ['a notification', '{"name":"read_secret"}', { id: '' }],
])('a call that must not come first is not hidden by %s', async (_, params, options) => {
  expect(await attack(params, options)).toBe(200);
  expect(await attack(mail)).toBe(403);
});

describe('an approval that was not answered without an error is none', () => {
  test('if it is a notification', async () => {
    await attack(approve, { id: '' });
    expect(await attack(disburse)).toBe(403);
  });

  test('if a message about its task fetches the result of another task', async () => {
    const created = async (params: string, taskId: string): Promise<string> => {
      answer(`{"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"${taskId}","status":"working"}}}`);
      const { text } = await answerTo(params);
      return (JSON.parse(text) as { result: { task: { taskId: string } } }).result.task.taskId;
    };
    const approval = await created('{"name":"approve","arguments":{"claim":7},"task":{}}', 'of-approve');
    const taskId = await created('{"name":"read_x","task":{}}', 'of-read');
    answer('{"jsonrpc":"2.0","id":1,"result":{"content":[]}}');
    const related = { 'io.modelcontextprotocol/related-task': { taskId: approval } };
    const fetching = { method: 'tasks/result' };
    expect(await attack(JSON.stringify({ taskId, _meta: related }), fetching)).toBe(200);
    expect(await attack(disburse)).toBe(403);
    expect(await attack(JSON.stringify({ taskId: approval }), fetching)).toBe(200);
    expect(await attack(disburse)).toBe(200);
  });
});

test('an answer in a form that the caller refuses frees the id of its request', async () => {
  answer(initialized, 200, { 'mcp-session-id': 'session' });
  const opened = await answerTo('{}', { method: 'initialize' });
  const headers = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
  answer('', 406);
  expect([await attack(pay('1'), { headers }), await attack(pay('1'), { headers })]).toEqual([406, 406]);
});
