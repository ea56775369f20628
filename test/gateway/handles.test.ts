import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { request, startMcpWorld, type McpWorld, type SendOptions } from '../worlds/mcp.ts';

const related = 'io.modelcontextprotocol/related-task';
const modernMeta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };

let world: McpWorld;
beforeAll(async () => {
  world = await startMcpWorld();
});
afterAll(() => world.close());
beforeEach(() => answer(result({})));

/** What the upstream answers from now on. */
function answer(text: string, type = 'application/json', more: Record<string, string> = {}): void {
  world.handle = (_request, response) => void response.writeHead(200, { 'content-type': type, ...more }).end(text);
}

function result(members: object): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, result: members });
}

/** A request of 2026-07-28 and its headers. */
function modern(method: string, params: object, name?: string): [object, SendOptions] {
  const headers = {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(name !== undefined && { 'mcp-name': name }),
  };
  return [request(method, { ...params, _meta: modernMeta }), { headers }];
}

/** A call whose bytes the test chooses. */
async function sendText(text: string, headers: Record<string, string> = {}): Promise<Response> {
  const authorization = `Bearer ${await world.token({ sub: 'alice' })}`;
  return fetch(`${world.gateway.url}/mcp`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json', ...headers },
    body: text,
  });
}

const alice = { sub: 'alice' };
const bob = { sub: 'bob' };

/** The task as alice sees it, whose own id is `id`. */
async function taskOf(id: string): Promise<string> {
  answer(result({ task: { taskId: id, status: 'working' } }));
  const response = await world.send(request('tools/call', { name: 'a', task: {} }), { claims: alice });
  const body = (await response.json()) as { result: { task: { taskId: string } } };
  answer(result({}));
  return body.result.task.taskId;
}

async function stateOf(state: string): Promise<string> {
  answer(result({ resultType: 'input_required', requestState: state }));
  const [message, options] = modern('tools/call', { name: 'a' }, 'a');
  const response = await world.send(message, { ...options, claims: alice });
  const body = (await response.json()) as { result: { requestState: string } };
  answer(result({}));
  return body.result.requestState;
}

const seen = (): (typeof world.upstream.seen)[number] =>
  world.upstream.seen.at(-1) as (typeof world.upstream.seen)[number];

const oddlySpaced = (id: string): string => `{"result": {"n":9007199254740993 , "e":1e400,"taskId":"${id}"}, "id":1}\n`;
const status = (id: string): string =>
  `event: message\ndata: {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"${id}","ttl":1e400}}\n\n`;
const taskEvents = (id: string): string =>
  `: hello\r\n\r\n${status(id)}data: ${result({ taskId: 'a' }).replace('"a"', `"${id}"`)}\n\n`;
const acknowledged = (id: string): string =>
  `data: {"method":"notifications/subscriptions/acknowledged","params":{"notifications":{"taskIds":["${id}"]}}}\n\n`;

describe('a task of 2025-11-25', () => {
  test('has a bound id for the client and its own for the upstream', async () => {
    const task = await taskOf('task-1');
    expect(task).not.toContain('task-1');
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
      answer(result({ taskId: 'task-1', _meta: { [related]: { taskId: 'task-1' } } }));
      const response = await world.send(request(method, { taskId: task }), { claims: { ...alice, jti: method } });
      expect(await response.json()).toMatchObject({ result: { taskId: task, _meta: { [related]: { taskId: task } } } });
      expect(JSON.parse(seen().body)).toEqual(request(method, { taskId: 'task-1' }));
    }
  });

  test.each([
    ['another person', bob],
    ['a client without a subject', { sub: undefined, client_id: 'alice' }],
  ])('R-110: %s gets 404, with the id of the request, and nothing reaches the upstream', async (_, claims) => {
    const task = await taskOf('task-1');
    const before = world.upstream.seen.length;
    const response = await world.send(request('tasks/get', { taskId: task }), { claims });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ id: 1, error: { data: { reason: 'handle.unknown' } } });
    expect(world.upstream.seen.length).toBe(before);
  });

  test('is not found by the upstream’s own id', async () => {
    for (const params of [
      { taskId: 'task-1' },
      { taskId: 'task-1.' },
      { _meta: { [related]: { taskId: 'task-1' } }, taskId: await taskOf('task-1') },
    ]) {
      expect((await world.send(request('tasks/get', params), { claims: alice })).status).toBe(404);
    }
  });

  test('leaves the rest of body and answer unchanged', async () => {
    const task = await taskOf('t');
    const body = (id: string): string =>
      `{ "jsonrpc":"2.0",\t"id" : 1, "method":"tasks/cancel" ,"params":{"arguments":{"taskId":"${task}"}, "x":[1e400, -0.10,"\\u00e9é"],"taskId" :"${id}"}}\n`;
    answer(oddlySpaced('t'));
    const response = await sendText(body(task));
    expect(seen().body).toBe(body('t'));
    expect(seen().headers['content-length']).toBe(String(Buffer.byteLength(body('t'))));
    expect(await response.text()).toBe(oddlySpaced(task));
  });

  test('does not change ids in arguments and results of tools', async () => {
    const says = result({
      content: [{ type: 'text', text: '"taskId"' }],
      structuredContent: { taskId: 'x', requestState: 'y' },
    });
    answer(says);
    const message = request('tools/call', { name: 'a', task: {}, arguments: { taskId: 'x', requestState: 'y' } });
    const response = await world.send(message, { claims: alice });
    expect(seen().body).toBe(JSON.stringify(message));
    expect(await response.text()).toBe(says);
  });

  test('R-111: is never listed, because a list would show the tasks of all callers', async () => {
    const own = await taskOf('a');
    answer(`{"jsonrpc":"2.0","id":1,"result":{"tasks":[{"taskId":"b"}],"tasks":[], "nextCursor":"c"}}`);
    const listed = await world.send(request('tasks/list'), { claims: alice });
    expect(await listed.text()).toBe(result({ tasks: [], nextCursor: 'c' }));
    expect(seen().headers['accept-encoding']).toBe('identity');
    answer(result({}));
    expect((await world.send(request('tasks/get', { taskId: own }), { claims: alice })).status).toBe(200);
  });

  test('is never listed, even if the list cannot be read', async () => {
    answer('not really', 'application/json', { 'content-encoding': 'x-other' });
    expect((await world.send(request('tasks/list'), { claims: alice })).status).toBe(502);
    answer('{"result":{"tasks":[{"taskId":"a"}', 'application/json');
    expect((await world.send(request('tasks/list'), { claims: alice })).status).toBe(502);
  });
});

describe('event streams', () => {
  test('bind ids on a POST', async () => {
    const task = await taskOf('a');
    answer(taskEvents('a'), 'text/event-stream');
    const response = await world.send(request('tasks/get', { taskId: task }), { claims: alice });
    expect(await response.text()).toBe(taskEvents(task));
  });

  test('bind ids on a GET in a session, and pass them unbound without one', async () => {
    answer('{}', 'application/json', { 'mcp-session-id': 's' });
    const session = (await world.send(request('initialize'), { claims: alice })).headers.get('mcp-session-id') ?? '';
    const task = await taskOf('a');
    answer(status('a'), 'text/event-stream');
    const inSession = { claims: alice, method: 'GET', headers: { 'mcp-session-id': session } };
    expect(await (await world.send(undefined, inSession)).text()).toBe(status(task));
    expect(await (await world.send(undefined, { claims: alice, method: 'GET' })).text()).toBe(status('a'));
    answer(`data: ${result({ tasks: [{ taskId: 'a' }] })}\n\ndata: {"taskId"\n\n`, 'text/event-stream');
    const resumed = `data: ${result({ tasks: [] })}\n\ndata: {"taskId"\n\n`;
    expect(await (await world.send(undefined, inSession)).text()).toBe(resumed);
  });
});

describe('2026-07-28', () => {
  test('R-112: returns requestState to the upstream unchanged', async () => {
    const state = await stateOf('{"step":1,"é":"\\u0000"}');
    const [message, options] = modern('tools/call', { name: 'a', requestState: state, inputResponses: {} }, 'a');
    expect((await world.send(message, { ...options, claims: alice })).status).toBe(200);
    expect(JSON.parse(seen().body)).toMatchObject({ params: { requestState: '{"step":1,"é":"\\u0000"}' } });
  });

  test('refuses the requestState of another caller, unbound, or by an older revision', async () => {
    const state = await stateOf('secret');
    const before = world.upstream.seen.length;
    for (const [requestState, claims] of [
      [state, bob],
      ['secret', alice],
    ] as const) {
      const [message, options] = modern('tools/call', { name: 'a', requestState }, 'a');
      const response = await world.send(message, { ...options, claims });
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ id: 1, error: { data: { reason: 'handle.unknown' } } });
      expect((await world.send(request('tools/call', { name: 'a', requestState }), { claims })).status).toBe(404);
    }
    expect(world.upstream.seen.length).toBe(before);
  });

  test.each([
    ['task-1', 'task-1'],
    ['tâche', '=?base64?dMOiY2hl?='],
  ])('keeps Mcp-Name equal to the body on both sides: %s', async (own, field) => {
    answer(result({ resultType: 'task', taskId: own, status: 'working' }));
    const [call, callOptions] = modern('tools/call', { name: 'a' }, 'a');
    const response = await world.send(call, { ...callOptions, claims: alice });
    const { taskId } = ((await response.json()) as { result: { taskId: string } }).result;
    answer(result({}));
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const [message, options] = modern(method, { taskId }, taskId);
      expect((await world.send(message, { ...options, claims: alice })).status).toBe(200);
      expect(seen().headers['mcp-name']).toBe(field);
      expect(JSON.parse(seen().body)).toMatchObject({ params: { taskId: own } });
    }
  });

  test('subscriptions to tasks', async () => {
    const task = await taskOf('a');
    answer(acknowledged('a'), 'text/event-stream');
    const [message, options] = modern('subscriptions/listen', { notifications: { taskIds: [task] } });
    const response = await world.send(message, { ...options, claims: alice });
    expect(await response.text()).toBe(acknowledged(task));
    expect(JSON.parse(seen().body)).toMatchObject({ params: { notifications: { taskIds: ['a'] } } });
    expect((await world.send(message, { ...options, claims: bob })).status).toBe(404);
    // A server that acknowledges, or tells of, a task that was not asked for does not hand it out.
    answer(acknowledged('b') + status('b'), 'text/event-stream');
    expect(await (await world.send(message, { ...options, claims: alice })).text()).toBe(
      acknowledged('b') + status('b'),
    );
  });
});

describe('tasks of 2026-07-28 and a client that does not declare them', () => {
  const capabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
  const declaring = { ...modernMeta, 'io.modelcontextprotocol/clientCapabilities': capabilities };

  async function sendTask(method: string, taskId: string, meta: object, claims: object): Promise<Response> {
    const [, options] = modern(method, {}, taskId);
    const message = request(method, { taskId, inputResponses: {}, _meta: meta });
    return world.send(message, { ...options, claims: { ...claims } });
  }

  test.each(['tasks/get', 'tasks/update', 'tasks/cancel'])(
    'checks the capability before the task: %s',
    async (method) => {
      const task = await taskOf('a');
      const before = world.upstream.seen.length;
      for (const [taskId, claims] of [
        ['unknown', alice],
        [task, bob],
      ] as const) {
        const response = await sendTask(method, taskId, modernMeta, claims);
        expect(response.status).toBe(400);
        expect(await response.json()).toMatchObject({
          id: 1,
          error: { code: -32021, data: { requiredCapabilities: capabilities, reason: 'message.capability' } },
        });
        const declared = await sendTask(method, taskId, declaring, claims);
        expect(declared.status).toBe(404);
        expect(await declared.json()).toMatchObject({
          id: 1,
          error: { code: -32602, data: { reason: 'handle.unknown' } },
        });
      }
      expect(world.upstream.seen.length).toBe(before);
    },
  );

  test('leaves the caller’s own task to the server', async () => {
    const task = await taskOf('a');
    expect((await sendTask('tasks/get', task, modernMeta, alice)).status).toBe(200);
    expect(JSON.parse(seen().body)).toMatchObject({ params: { taskId: 'a' } });
  });

  test('requires no capability in revisions with sessions', async () => {
    const response = await world.send(request('tasks/get', { taskId: 'unknown' }), { claims: alice });
    expect(await response.json()).toMatchObject({ error: { code: -32602 } });
  });
});

describe('other answers', () => {
  test('are neither buffered nor requested uncompressed', async () => {
    answer(result({ taskId: 'a' }), 'application/json', { etag: '"1"' });
    const plain = await world.send(request('tools/call', { name: 'a' }), { headers: { 'accept-encoding': 'br' } });
    expect(seen().headers['accept-encoding']).toBe('br');
    expect(await plain.text()).toBe(result({ taskId: 'a' }));
    expect(plain.headers.get('etag')).toBe('"1"');
    await world.send(request('tools/call', { name: 'a', task: {} }), { headers: { 'accept-encoding': 'br' } });
    expect(seen().headers['accept-encoding']).toBe('identity');
  });

  test('are forwarded unchanged if they are compressed', async () => {
    answer('not really', 'application/json', { 'content-encoding': 'x-other' });
    const [message, options] = modern('tools/call', { name: 'a' }, 'a');
    expect(await (await world.send(message, options)).text()).toBe('not really');
  });

  test('forwards an event without a handle at once', async () => {
    const task = await taskOf('a');
    world.handle = (_request, response) =>
      void response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\ndata: half');
    const leaving = new AbortController();
    const response = await world.send(request('tasks/result', { taskId: task }), {
      claims: alice,
      signal: leaving.signal,
    });
    const reader = response.body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('data: 1\n\n');
    leaving.abort();
  });
});
