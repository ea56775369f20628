import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { beforeEach, describe, expect, test } from 'vitest';
import { request, startMcpWorld, type SendOptions } from '../../worlds/mcp.ts';
import { startBeforeAll } from '../../support/start-before.ts';

const policy = `
scope: read
because: ask ops
tools:
  approve: {}
  disburse:
    after: { tool: approve, within: 1h, same: [/claim] }
  pay:
    quota: [{ sum: /amount, at_most: 5000, per: 1h }]
  read_secret: {}
  mail:
    scope: mail
    never_after: { tool: read_secret, within: 1d }
    quota: [{ count: 1, per: 1h, by: client }]
`;

let callers = 0;
/** Each test has a caller of its own. */
let claims: Record<string, unknown>;
const world = startBeforeAll(() => startMcpWorld({ policy }));
beforeEach(() => {
  callers += 1;
  claims = { sub: `caller-${callers}`, client_id: `client-${callers}`, scope: 'read' };
  answer(result({ content: [] }));
});

/** What the upstream answers from now on. */
function answer(text: string, type = 'application/json', status = 200): void {
  world.handle = (_request, response) => void response.writeHead(status, { 'content-type': type }).end(text);
}

function result(members: object): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, result: members });
}

const event = (text: string): string => `event: message\ndata: ${text}\n\n`;
const mails = { claims: { scope: 'read mail' } };
const revision = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };

async function send(
  tool: string,
  args: object = {},
  options: SendOptions & { params?: object } = {},
): Promise<Response> {
  const message = request('tools/call', { name: tool, arguments: args, ...options.params });
  return world.send(message, { ...options, claims: { ...claims, ...options.claims } });
}

/** The status of a call whose answer was read to its end, or `reason` of its refusal. */
async function outcome(...call: Parameters<typeof send>): Promise<number | string> {
  const response = await send(...call);
  const text = await response.text();
  if (response.status === 200) return 200;
  return (JSON.parse(text) as { error: { data?: { reason: string } } }).error.data?.reason ?? response.status;
}

/** A call of 2026-07-28. */
function modernCall(tool: string, args: object, params: object = {}): Parameters<typeof send> {
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': tool };
  return [tool, args, { headers, params: { ...params, _meta: revision } }];
}

test('R-249, R-253: `after` needs an answered call with the same argument, of the same person by any client', async () => {
  expect(await outcome('disburse', { claim: 7 })).toBe('history.missing');
  expect(await outcome('approve', { claim: 8 })).toBe(200);
  expect(await outcome('disburse', { claim: 7 })).toBe('history.missing');
  expect(await outcome('approve', { claim: 7 })).toBe(200);
  expect(await outcome('disburse', { claim: 7 }, { claims: { client_id: 'other', jti: 'x' } })).toBe(200);
  expect(await outcome('disburse', { claim: 7 }, { claims: { sub: 'mallory' } })).toBe('history.missing');
});

test('R-249: `never_after` refuses a call after another that is still in progress', async () => {
  const held: ServerResponse[] = [];
  world.handle = (_request, response) => void held.push(response);
  const reading = send('read_secret');
  await expect.poll(() => held.length).toBe(1);
  answer(result({}));
  expect(await outcome('mail', {}, mails)).toBe('history.forbidden');
  held[0]?.writeHead(200, { 'content-type': 'application/json' }).end(result({}));
  await (await reading).text();
  expect(await outcome('mail', {}, mails)).toBe('history.forbidden');
});

/** What becomes of calls of `disburse`, `pay` and `mail` that follow others with one answer. */
const effects = {
  'answers its call': [200, 'quota.exceeded', 'history.forbidden'],
  'gives back what its call used': ['history.missing', 200, 200],
  'leaves its call counted': ['history.missing', 'quota.exceeded', 'history.forbidden'],
} as const;
const error = '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}';

// test/mcp/answer-outcome.test.ts and test/core/gateway/forward/private-answers.test.ts have the tables of answers.
test.each<[what: string, keyof typeof effects, text: string, type?: string, status?: number]>([
  ['a result', 'answers its call', result({ content: [], isError: false })],
  ['an event stream', 'answers its call', `: hello\n\n${event(result({}))}`, 'text/event-stream'],
  ['a JSON-RPC error', 'gives back what its call used', error],
  ['a task', 'leaves its call counted', result({ task: { taskId: 't', status: 'working' } })],
  ['an answer without a body', 'leaves its call counted', '', 'application/json', 202],
  ['a form that the caller does not accept', 'leaves its call counted', '', 'text/plain', 406],
])('R-251, R-252: %s %s', async (_what, effect, ...answered) => {
  answer(...answered);
  const earlier = [
    ['approve', { claim: 7 }],
    ['pay', { amount: 5000 }],
    ['read_secret', {}],
  ] as const;
  for (const [tool, args] of earlier) await (await send(tool, args, { headers: { accept: '*/*' } })).text();
  answer(result({}));
  expect([
    await outcome('disburse', { claim: 7 }),
    await outcome('pay', { amount: 1 }),
    await outcome('mail', {}, mails),
  ]).toEqual(effects[effect]);
});

test('R-251: logs what was given back', async () => {
  answer(error);
  await (await send('pay', { amount: 5000 })).text();
  const { decision } = await world.gateway.decision({ subject: claims['sub'] });
  expect(await world.gateway.line({ msg: 'settled', decision })).toMatchObject({
    level: 'info',
    route: 'tools',
    detail: expect.stringContaining('answered') as string,
  });
});

test('the event that answers a call settles it, although the stream stays open', async () => {
  let stream: ServerResponse | undefined;
  world.handle = (_request, response) => {
    stream = response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(event(result({})));
  };
  const response = await send('approve', { claim: 7 });
  const { value } = (await response.body?.getReader().read()) ?? {};
  expect(Buffer.from(value ?? []).toString()).toBe(event(result({})));
  const open = stream;
  answer(result({}));
  expect(await outcome('disburse', { claim: 7 })).toBe(200);
  open?.end();
});

test('R-250: sums up an argument, and refuses a call that would exceed it with the seconds to wait', async () => {
  expect(await outcome('pay', { amount: 2000 })).toBe(200);
  expect(await outcome('pay', { amount: 2000.5 })).toBe(200);
  const response = await send('pay', { amount: 1000 });
  expect(response.status).toBe(429);
  const retryAfter = response.headers.get('retry-after');
  expect(retryAfter).toMatch(/^3(?:600|59\d)$/);
  expect(await response.json()).toMatchObject({
    error: { data: { reason: 'quota.exceeded', retry_after: Number(retryAfter), because: 'ask ops' } },
  });
  expect(await world.gateway.decision({ reason: 'quota.exceeded', subject: claims['sub'] })).toMatchObject({
    allow: false,
    rule: 'tools.pay.quota[0]',
    detail: 'wanted a sum of /amount of at most 5000 per 1h, found more with this call',
  });
  expect(await outcome('pay', { amount: 999.5 })).toBe(200);
});

test('R-251: gives back what a call used that never reached the upstream', async () => {
  const { server } = world.upstream;
  const { port } = server.address() as { port: number };
  server.close();
  server.closeAllConnections();
  expect(await outcome('pay', { amount: 5000 })).toBe('upstream.unreachable');
  await once(server.listen(port, '127.0.0.1'), 'listening');
  expect(await outcome('pay', { amount: 5000 })).toBe(200);
});

test('R-252: counts a call that the upstream drops after it came', async () => {
  world.handle = (request) => void request.socket.destroy();
  expect(await outcome('pay', { amount: 5000 })).toBe('upstream.unreachable');
  answer(result({}));
  expect(await outcome('pay', { amount: 1 })).toBe('quota.exceeded');
});

test('R-252: counts a call that came although its client leaves', async () => {
  const leaves = new AbortController();
  const left = new Promise<IncomingMessage>((resolve) => {
    world.handle = (request) => {
      request.socket.once('close', () => resolve(request));
      leaves.abort();
    };
  });
  await expect(send('pay', { amount: 5000 }, { signal: leaves.signal })).rejects.toThrow('abort');
  await left;
  answer(result({}));
  expect(await outcome('pay', { amount: 1 })).toBe('quota.exceeded');
});

test('R-251: a call that is refused for something else uses up nothing', async () => {
  for (let i = 0; i < 3; i += 1) expect(await outcome('mail')).toBe('scope.insufficient');
  expect(await outcome('mail', {}, mails)).toBe(200);
  expect(await outcome('mail', {}, { claims: { ...mails.claims, sub: 'other' } })).toBe('quota.exceeded');
});

describe('R-254: the rounds of a call that needs input', () => {
  async function firstRound(tool: string, args: object): Promise<string> {
    answer(result({ resultType: 'input_required', requestState: 'state' }));
    const response = await send(...modernCall(tool, args));
    const body = (await response.json()) as { result: { requestState: string } };
    answer(result({ resultType: 'complete' }));
    return body.result.requestState;
  }

  test('count once, and anew with another amount or a state that was used', async () => {
    const requestState = await firstRound('pay', { amount: 2000 });
    const pay = (amount: number) => outcome(...modernCall('pay', { amount }, { requestState }));
    expect(await pay(4000)).toBe('quota.exceeded');
    expect([await pay(2000), await pay(2000), await pay(2000)]).toEqual([200, 200, 'quota.exceeded']);
  });

  test('answer a call only in the last one, and with the arguments of that', async () => {
    const requestState = await firstRound('approve', { claim: 7 });
    expect(await outcome('disburse', { claim: 7 })).toBe('history.missing');
    expect(await outcome(...modernCall('approve', { claim: 8 }, { requestState }))).toBe(200);
    expect([await outcome('disburse', { claim: 7 }), await outcome('disburse', { claim: 8 })]).toEqual([
      'history.missing',
      200,
    ]);
  });
});

test('R-254: a task is answered when its result is fetched, under one bound id', async () => {
  answer(result({ task: { taskId: 't', status: 'working' } }));
  const created = (await (await send('approve', { claim: 7 }, { params: { task: {} } })).json()) as {
    result: { task: { taskId: string } };
  };
  const { taskId } = created.result.task;
  const fetches = async (method: string, members: object): Promise<unknown> => {
    answer(result(members));
    return (await world.send(request(method, { taskId }), { claims })).json();
  };
  expect(await fetches('tasks/get', { taskId: 't', status: 'working' })).toMatchObject({ result: { taskId } });
  expect(await outcome('disburse', { claim: 7 })).toBe('history.missing');
  await fetches('tasks/result', { content: [] });
  expect(await outcome('disburse', { claim: 7 })).toBe(200);
});
