import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startMcpWorld, type McpWorld, type SendOptions } from '../worlds/mcp.ts';

const policy = `
scope: read
because: ask ops
tools:
  approve: {}
  disburse:
    after: { tool: approve, within: 1h, same: [/claim] }
  pay:
    quota: [{ sum: /amount, at_most: 5000, per: 1h }]
  "get_*":
    quota: [{ count: 2, per: 1h }]
  read_secret: {}
  mail:
    scope: mail
    never_after: { tool: read_secret, within: 1d }
    quota: [{ count: 1, per: 1h, by: client }]
`;

let world: McpWorld;
let callers = 0;
/** Each test has a caller of its own. */
let claims: Record<string, unknown>;
beforeAll(async () => {
  world = await startMcpWorld({ policy });
});
afterAll(() => world.close());
beforeEach(() => {
  callers += 1;
  claims = { sub: `caller-${callers}`, client_id: `client-${callers}`, scope: 'read' };
  answer(result({ content: [] }));
});

/** What the upstream answers from now on. */
function answer(text: string, type = 'application/json', status = 200): void {
  world.handle = (_request, response) => void response.writeHead(status, { 'content-type': type }).end(text);
}

function result(members: object, id: unknown = 1): string {
  return JSON.stringify({ jsonrpc: '2.0', id, result: members });
}

const event = (text: string): string => `event: message\ndata: ${text}\n\n`;

async function send(
  tool: string,
  args: object = {},
  options: SendOptions & { params?: object } = {},
): Promise<Response> {
  const message = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: tool, arguments: args, ...options.params },
  };
  return world.send(message, { ...options, claims: { ...claims, ...options.claims } });
}

/** The status of a call whose answer was read to its end, or `reason` of its refusal. */
async function outcome(...call: Parameters<typeof send>): Promise<number | string> {
  const response = await send(...call);
  const text = await response.text();
  if (response.status === 200) return 200;
  return (JSON.parse(text) as { error: { data?: { reason: string } } }).error.data?.reason ?? response.status;
}

const modern: SendOptions = { headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call' } };

/** A call of 2026-07-28. */
function modernCall(tool: string, args: object, params: object = {}): Parameters<typeof send> {
  const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
  return [tool, args, { headers: { ...modern.headers, 'mcp-name': tool }, params: { ...params, _meta: meta } }];
}

describe('after', () => {
  test('R-249: lets a call pass only after an answered call of another tool with the same argument', async () => {
    expect(await outcome('disburse', { claim: 7 })).toBe('history.missing');
    expect(await outcome('approve', { claim: 8 })).toBe(200);
    expect(await outcome('disburse', { claim: 7 })).toBe('history.missing');
    expect(await outcome('approve', { claim: 7 })).toBe(200);
    expect(await outcome('disburse', { claim: 7 })).toBe(200);
    expect(await outcome('disburse', { claim: '7' })).toBe('history.missing');
    expect(await outcome('disburse', {})).toBe('history.missing');
  });

  test('R-253: knows a caller by issuer and subject, over its tokens and clients', async () => {
    expect(await outcome('approve', { claim: 7 })).toBe(200);
    expect(await outcome('disburse', { claim: 7 }, { claims: { client_id: 'other', jti: 'x' } })).toBe(200);
    expect(await outcome('disburse', { claim: 7 }, { claims: { sub: 'mallory' } })).toBe('history.missing');
  });

  test('compares integers beyond 2^53 as they are written', async () => {
    const text = (tool: string, claim: string): string =>
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${tool}","arguments":{"claim":${claim}}}}`;
    const sendText = async (body: string): Promise<number> => {
      const headers = { authorization: `Bearer ${await world.token(claims)}`, 'content-type': 'application/json' };
      return (await fetch(`${world.gateway.url}/mcp`, { method: 'POST', headers, body })).status;
    };
    expect(await sendText(text('approve', '9007199254740992'))).toBe(200);
    expect(await sendText(text('disburse', '9007199254740993'))).toBe(403);
    expect(await sendText(text('disburse', '9007199254740992'))).toBe(200);
  });

  test.each<[string, string, string?, number?]>([
    ['an HTTP error', 'no', 'text/plain', 500],
    ['a JSON-RPC error', '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}'],
    ['a tool error', result({ content: [], isError: true })],
    ['a tool error in an event stream', event(result({ isError: true })), 'text/event-stream'],
    ['a task', result({ task: { taskId: 't', status: 'working' } })],
    ['an answer to another request', result({ content: [] }, 2)],
    ['an answer that is not JSON', 'yes', 'text/plain'],
    ['an answer without a body', '', 'application/json', 202],
    ['a redirect', '', 'text/plain', 307],
  ])('%s does not answer a call', async (_, text, type, status) => {
    answer(text, type, status);
    await (await send('approve', { claim: 7 }, { headers: { accept: '*/*' } })).text();
    answer(result({}));
    expect(await outcome('disburse', { claim: 7 })).toBe('history.missing');
  });

  test.each<[string, string, string?]>([
    ['a result', result({ content: [], isError: false })],
    ['a batch of one result', `[${result({})}]`],
    [
      'an event stream',
      `: hello\n\n${event('{"jsonrpc":"2.0","method":"x"}')}${event(result({}))}`,
      'text/event-stream',
    ],
  ])('%s answers a call', async (_, text, type) => {
    answer(text, type);
    expect(await outcome('approve', { claim: 7 })).toBe(200);
    answer(result({}));
    expect(await outcome('disburse', { claim: 7 })).toBe(200);
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
});

describe('quota', () => {
  test('R-250: sums up an argument, and refuses a call that would exceed it with the seconds to wait', async () => {
    expect(await outcome('pay', { amount: 2000 })).toBe(200);
    expect(await outcome('pay', { amount: 2000.5 })).toBe(200);
    const response = await send('pay', { amount: 1000 });
    expect(response.status).toBe(429);
    expect(response.headers.get('retry-after')).toMatch(/^3(?:600|59\d)$/);
    expect(await response.json()).toMatchObject({
      error: {
        data: {
          reason: 'quota.exceeded',
          retry_after: Number(response.headers.get('retry-after')),
          because: 'ask ops',
        },
      },
    });
    expect(await world.gateway.decision({ reason: 'quota.exceeded', subject: claims['sub'] })).toMatchObject({
      allow: false,
      rule: 'tools.pay.quota[0]',
      detail: 'wanted a sum of /amount of at most 5000 per 1h, found that this call would exceed it',
    });
    expect(await outcome('pay', { amount: 999.5 })).toBe(200);
  });

  test('is shared by all tools under one pattern', async () => {
    expect([await outcome('get_a'), await outcome('get_b'), await outcome('get_c')]).toEqual([
      200,
      200,
      'quota.exceeded',
    ]);
  });

  test('R-250: three calls of 2,000 at once under 5,000 let exactly two pass', async () => {
    const outcomes = await Promise.all([1, 2, 3].map(() => outcome('pay', { amount: 2000 })));
    expect(outcomes.filter((each) => each === 200)).toHaveLength(2);
    expect(outcomes).toContain('quota.exceeded');
  });

  test.each<[string, string, string?, number?]>([
    ['an HTTP error', 'no', 'text/plain', 500],
    ['a JSON-RPC error', '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}'],
    ['a tool error', result({ content: [], isError: true })],
    ['a tool error in an event stream', event(result({ isError: true })), 'text/event-stream'],
  ])('R-251: %s gives its part back, which the decision log says', async (_, text, type, status) => {
    answer(text, type, status);
    for (let i = 0; i < 3; i += 1) await (await send('pay', { amount: 5000 })).text();
    answer(result({}));
    expect(await outcome('pay', { amount: 5000 })).toBe(200);
    const { decision } = await world.gateway.decision({ subject: claims['sub'] });
    const settled = (await world.gateway.lines()).filter(({ msg }) => msg === 'settled').slice(-3);
    expect(settled).toHaveLength(3);
    expect(settled).not.toContainEqual(expect.objectContaining({ decision }));
    expect(settled[0]).toMatchObject({
      level: 'info',
      route: 'tools',
      detail: expect.stringContaining('answered') as string,
    });
  });

  test.each<[string, string, string?, number?]>([
    ['a task', result({ task: { taskId: 't', status: 'working' } })],
    ['an answer that cannot be read', 'no', 'text/plain'],
    ['a redirect', '', 'text/plain', 303],
  ])('R-252: %s counts', async (_, text, type, status) => {
    answer(text, type, status);
    await (await send('pay', { amount: 5000 })).text();
    answer(result({}));
    expect(await outcome('pay', { amount: 1 })).toBe('quota.exceeded');
  });

  test('R-251: a call that never reached the upstream gives its part back', async () => {
    const { server } = world.upstream;
    const { port } = server.address() as { port: number };
    server.close();
    server.closeAllConnections();
    expect(await outcome('pay', { amount: 5000 })).toBe('upstream.unreachable');
    await once(server.listen(port, '127.0.0.1'), 'listening');
    expect(await outcome('pay', { amount: 5000 })).toBe(200);
  });

  test('R-252: a call that the upstream drops after it came counts', async () => {
    world.handle = (request) => void request.socket.destroy();
    expect(await outcome('pay', { amount: 5000 })).toBe('upstream.unreachable');
    answer(result({}));
    expect(await outcome('pay', { amount: 1 })).toBe('quota.exceeded');
  });

  test('R-252: a client that leaves after its call came does not get its part back', async () => {
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

  test('refuses an amount that is none, and one that alone is too much, with no time to wait', async () => {
    for (const amount of [-1, '5', null, 5000.1, true]) {
      const response = await send('pay', { amount });
      expect([response.status, response.headers.get('retry-after')]).toEqual([403, null]);
      expect(await response.json()).toMatchObject({
        error: { data: { reason: 'argument.denied', because: 'ask ops' } },
      });
    }
  });
});

describe('never_after', () => {
  test('R-249: refuses a call after another, also one that is still in progress', async () => {
    const held: ServerResponse[] = [];
    world.handle = (_request, response) => void held.push(response);
    const reading = send('read_secret');
    await expect.poll(() => held.length).toBe(1);
    answer(result({}));
    expect(await outcome('mail', {}, { claims: { scope: 'read mail' } })).toBe('history.forbidden');
    held[0]?.writeHead(200, { 'content-type': 'application/json' }).end(result({}));
    await (await reading).text();
    expect(await outcome('mail', {}, { claims: { scope: 'read mail' } })).toBe('history.forbidden');
  });

  test('R-251: a call that was answered with an error does not forbid a later one', async () => {
    answer(result({ isError: true }));
    await (await send('read_secret')).text();
    answer(result({}));
    expect(await outcome('mail', {}, { claims: { scope: 'read mail' } })).toBe(200);
  });
});

test('R-251: a call that is refused for something else uses up nothing', async () => {
  for (let i = 0; i < 3; i += 1) expect(await outcome('mail')).toBe('scope.insufficient');
  expect(await outcome('mail', {}, { claims: { scope: 'read mail' } })).toBe(200);
  expect(await outcome('mail', {}, { claims: { scope: 'read mail', sub: 'other' } })).toBe('quota.exceeded');
});

describe('R-254: the rounds of a call that needs input', () => {
  const needsInput = result({ resultType: 'input_required', requestState: 'state' });

  async function firstRound(tool: string, args: object): Promise<string> {
    answer(needsInput);
    const response = await send(...modernCall(tool, args));
    const body = (await response.json()) as { result: { requestState: string } };
    answer(result({ resultType: 'complete' }));
    return body.result.requestState;
  }

  test('count once', async () => {
    const requestState = await firstRound('pay', { amount: 3000 });
    expect(await outcome('pay', { amount: 3000 })).toBe('quota.exceeded');
    expect(await outcome(...modernCall('pay', { amount: 3000 }, { requestState }))).toBe(200);
    expect(await outcome('pay', { amount: 2000 })).toBe(200);
    expect(await outcome('pay', { amount: 1 })).toBe('quota.exceeded');
  });

  test('count anew with another amount, and when a state is used twice', async () => {
    const requestState = await firstRound('pay', { amount: 2000 });
    expect(await outcome(...modernCall('pay', { amount: 4000 }, { requestState }))).toBe('quota.exceeded');
    expect(await outcome(...modernCall('pay', { amount: 2000 }, { requestState }))).toBe(200);
    expect(await outcome(...modernCall('pay', { amount: 2000 }, { requestState }))).toBe(200);
    expect(await outcome(...modernCall('pay', { amount: 2000 }, { requestState }))).toBe('quota.exceeded');
  });

  test('answer a call only in the last one', async () => {
    const requestState = await firstRound('approve', { claim: 7 });
    expect(await outcome('disburse', { claim: 7 })).toBe('history.missing');
    expect(await outcome(...modernCall('approve', { claim: 7 }, { requestState }))).toBe(200);
    expect(await outcome('disburse', { claim: 7 })).toBe(200);
  });

  test('replayed with another argument they approve only that', async () => {
    const requestState = await firstRound('approve', { claim: 7 });
    expect(await outcome(...modernCall('approve', { claim: 8 }, { requestState }))).toBe(200);
    expect(await outcome('disburse', { claim: 7 })).toBe('history.missing');
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
    const response = await world.send({ jsonrpc: '2.0', id: 1, method, params: { taskId } }, { claims });
    return response.json();
  };
  expect(await fetches('tasks/get', { taskId: 't', status: 'working' })).toMatchObject({ result: { taskId } });
  expect(await outcome('disburse', { claim: 7 })).toBe('history.missing');
  await fetches('tasks/result', { isError: true });
  expect(await outcome('disburse', { claim: 7 })).toBe('history.missing');
  await fetches('tasks/result', { content: [] });
  expect(await outcome('disburse', { claim: 7 })).toBe(200);
});

test('R-254: a task of 2026-07-28 is answered when tasks/get holds its result', async () => {
  answer(result({ resultType: 'task', taskId: 't', status: 'working' }));
  const created = (await (await send(...modernCall('approve', { claim: 7 }))).json()) as { result: { taskId: string } };
  const { taskId } = created.result;
  const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  };
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tasks/get', 'mcp-name': taskId };
  answer(result({ resultType: 'complete', taskId: 't', status: 'completed', result: { content: [] } }));
  const message = { jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { taskId, _meta: meta } };
  const fetched = await (await world.send(message, { claims, headers })).json();
  expect(fetched).toMatchObject({ result: { taskId } });
  expect(await outcome('disburse', { claim: 7 })).toBe(200);
});

describe('the answer to a call that rules over time refuse', () => {
  const quota = 'because: try tomorrow\ntools: { pay: { quota: [{ count: 1, per: 1h }] } }';

  test('is a tool result where final refusals are, with the time to wait', async () => {
    const own = await startMcpWorld({ policy: quota, route: 'refusals: { final: tool_error }' });
    own.handle = (_request, response) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(result({}));
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'pay' } };
    expect((await own.send(message)).status).toBe(200);
    const response = await own.send(message);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      result: {
        isError: true,
        content: [
          { text: expect.stringMatching(/^Too many requests: try tomorrow Try again in 3\d{3} seconds\./) as string },
        ],
      },
    });
    expect(await own.gateway.metrics()).toContain(
      'sallyport_decisions_total{route="tools",decision="deny",reason="quota.exceeded"} 1',
    );
    await own.close();
  });

  test('is the answer of the upstream in shadow mode, where every call is counted', async () => {
    const own = await startMcpWorld({ policy: `mode: shadow\n${quota}` });
    own.handle = (_request, response) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(result({}));
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'pay' } };
    for (let i = 0; i < 3; i += 1) expect((await own.send(message)).status).toBe(200);
    expect(await own.gateway.decision({ reason: 'quota.exceeded' })).toMatchObject({
      allow: true,
      shadow: true,
      rule: 'tools.pay.quota[0]',
    });
    await own.close();
  });
});
