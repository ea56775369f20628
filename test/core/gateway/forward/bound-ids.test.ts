import { beforeEach, describe, expect, test } from 'vitest';
import { modernRequest, request, startMcpWorld, type SendOptions } from '../../../worlds/mcp.ts';
import { startBeforeAll } from '../../../support/start-before.ts';

// test/mcp/bindings.test.ts and test/mcp/handles-binding.test.ts have the tables of callers and the ids that they may present.

const related = 'io.modelcontextprotocol/related-task';
const alice = { sub: 'alice' };
const bob = { sub: 'bob' };

const world = startBeforeAll(startMcpWorld);
beforeEach(() => answer(result({})));

/** What the upstream answers from now on. */
function answer(text: string, type = 'application/json', more: Record<string, string> = {}): void {
  world.handle = (_request, response) => void response.writeHead(200, { 'content-type': type, ...more }).end(text);
}

function result(members: object): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, result: members });
}

/** A request of 2026-07-28 and its headers. */
function modern(method: string, params: Readonly<Record<string, unknown>>, name?: string): [object, SendOptions] {
  const { message, headers } = modernRequest(method, params);
  return [message, { headers: { ...headers, ...(name !== undefined && { 'mcp-name': name }) }, claims: alice }];
}

/** The task as alice sees it, whose own id is `id`. */
async function taskOf(id: string): Promise<string> {
  answer(result({ task: { taskId: id, status: 'working' } }));
  const response = await world.send(request('tools/call', { name: 'a', task: {} }), { claims: alice });
  const body = (await response.json()) as { result: { task: { taskId: string } } };
  answer(result({}));
  return body.result.task.taskId;
}

async function sessionOf(claims: Record<string, unknown>): Promise<string> {
  answer('{}', 'application/json', { 'mcp-session-id': 'theirs' });
  const initialize = request('initialize', { protocolVersion: '2025-06-18' });
  return (await world.send(initialize, { claims })).headers.get('mcp-session-id') ?? '';
}

const seen = (): (typeof world.upstream.seen)[number] =>
  world.upstream.seen.at(-1) as (typeof world.upstream.seen)[number];

describe('a session', () => {
  test('has a bound id for the client and its own for the upstream', async () => {
    const session = await sessionOf(alice);
    expect(session).not.toBe('theirs');
    for (const method of ['POST', 'GET', 'DELETE']) {
      const message = method === 'POST' ? request('ping') : undefined;
      const claims = { ...alice, jti: method };
      const response = await world.send(message, { method, claims, headers: { 'mcp-session-id': session } });
      expect(response.status).toBe(200);
      expect(seen().headers['mcp-session-id']).toBe('theirs');
    }
  });

  test('R-108: another person gets 404, with the id of the request, and nothing reaches the upstream', async () => {
    const session = await sessionOf(alice);
    const before = world.upstream.seen.length;
    const response = await world.send(request('ping'), { claims: bob, headers: { 'mcp-session-id': session } });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ id: 1, error: { data: { reason: 'session.unknown' } } });
    expect(world.upstream.seen.length).toBe(before);
  });

  test('R-109: ignores the header in MCP 2026-07-28, and creates no session', async () => {
    answer('{}', 'application/json', { 'mcp-session-id': 'theirs' });
    const [message, { headers }] = modern('server/discover', {});
    const response = await world.send(message, { headers: { ...headers, 'mcp-session-id': 'x' } });
    expect(response.status).toBe(200);
    expect(response.headers.get('mcp-session-id')).toBeNull();
    expect(seen().headers).not.toHaveProperty('mcp-session-id');
  });
});

describe('a task', () => {
  test('has a bound id for the client and its own for the upstream', async () => {
    const task = await taskOf('task-1');
    expect(task).not.toContain('task-1');
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) {
      answer(result({ taskId: 'task-1', _meta: { [related]: { taskId: 'task-1' } } }));
      const response = await world.send(request(method, { taskId: task }), { claims: { ...alice, jti: method } });
      expect(await response.json()).toMatchObject({ result: { taskId: task, _meta: { [related]: { taskId: task } } } });
      const { body, headers } = seen();
      expect(JSON.parse(body)).toEqual(request(method, { taskId: 'task-1' }));
      expect(headers['content-length']).toBe(String(Buffer.byteLength(body)));
    }
  });

  test('R-110: another person gets 404, with the id of the request, and nothing reaches the upstream', async () => {
    const task = await taskOf('task-1');
    const before = world.upstream.seen.length;
    const response = await world.send(request('tasks/get', { taskId: task }), { claims: bob });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ id: 1, error: { data: { reason: 'handle.unknown' } } });
    expect(world.upstream.seen.length).toBe(before);
  });

  test('R-111: is never listed, because a list would show the tasks of all callers', async () => {
    const task = await taskOf('a');
    answer(`{"jsonrpc":"2.0","id":1,"result":{"tasks":[{"taskId":"b"}],"tasks":[], "nextCursor":"c"}}`);
    const listed = await world.send(request('tasks/list'), { claims: alice });
    expect(await listed.text()).toBe(result({ tasks: [], nextCursor: 'c' }));
    answer('not really', 'application/json', { 'content-encoding': 'x-other' });
    expect((await world.send(request('tasks/list'), { claims: alice })).status).toBe(502);
    answer('{"result":{"tasks":[{"taskId":"a"}', 'application/json');
    expect((await world.send(request('tasks/list'), { claims: alice })).status).toBe(502);
    answer(result({}));
    expect((await world.send(request('tasks/get', { taskId: task }), { claims: alice })).status).toBe(200);
  });

  test('of 2026-07-28 has one id in Mcp-Name and body, on both sides', async () => {
    answer(result({ resultType: 'task', taskId: 'tâche', status: 'working' }));
    const response = await world.send(...modern('tools/call', { name: 'a' }));
    const { taskId } = ((await response.json()) as { result: { taskId: string } }).result;
    answer(result({}));
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      expect((await world.send(...modern(method, { taskId }, taskId))).status).toBe(200);
      expect(seen().headers['mcp-name']).toBe('=?base64?dMOiY2hl?=');
      expect(JSON.parse(seen().body)).toMatchObject({ params: { taskId: 'tâche' } });
    }
  });
});

describe('an event stream', () => {
  const status = (id: string): string =>
    `event: message\ndata: {"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"${id}","ttl":1e400}}\n\n`;
  const acknowledged = (id: string): string =>
    `data: {"method":"notifications/subscriptions/acknowledged","params":{"notifications":{"taskIds":["${id}"]}}}\n\n`;

  test('has bound ids on a POST', async () => {
    const task = await taskOf('a');
    const events = (id: string): string => `: hello\r\n\r\n${status(id)}data: ${result({ taskId: id })}\n\n`;
    answer(events('a'), 'text/event-stream');
    const response = await world.send(request('tasks/get', { taskId: task }), { claims: alice });
    expect(await response.text()).toBe(events(task));
  });

  test('has bound ids on a GET in a session, and unbound ones without it', async () => {
    const session = await sessionOf(alice);
    const task = await taskOf('a');
    answer(status('a'), 'text/event-stream');
    const inSession = { claims: alice, method: 'GET', headers: { 'mcp-session-id': session } };
    expect(await (await world.send(undefined, inSession)).text()).toBe(status(task));
    expect(await (await world.send(undefined, { claims: alice, method: 'GET' })).text()).toBe(status('a'));
    answer(`data: ${result({ tasks: [{ taskId: 'a' }] })}\n\ndata: {"taskId"\n\n`, 'text/event-stream');
    const resumed = `data: ${result({ tasks: [] })}\n\ndata: {"taskId"\n\n`;
    expect(await (await world.send(undefined, inSession)).text()).toBe(resumed);
  });

  test('of a subscription has bound ids of the tasks that were asked for', async () => {
    const task = await taskOf('a');
    answer(acknowledged('a'), 'text/event-stream');
    const [message, options] = modern('subscriptions/listen', { notifications: { taskIds: [task] } });
    expect(await (await world.send(message, options)).text()).toBe(acknowledged(task));
    expect(JSON.parse(seen().body)).toMatchObject({ params: { notifications: { taskIds: ['a'] } } });
    expect((await world.send(message, { ...options, claims: bob })).status).toBe(404);
    // A server that acknowledges, or tells of, a task that was not asked for does not hand it out.
    answer(acknowledged('b') + status('b'), 'text/event-stream');
    expect(await (await world.send(message, options)).text()).toBe(acknowledged('b') + status('b'));
  });

  test('forwards an event without a handle at once', async () => {
    const task = await taskOf('a');
    world.handle = (_request, response) =>
      void response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\ndata: half');
    const leaving = new AbortController();
    const asked = request('tasks/result', { taskId: task });
    const response = await world.send(asked, { claims: alice, signal: leaving.signal });
    const reader = response.body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('data: 1\n\n');
    leaving.abort();
  });
});

test('other answers are neither buffered nor requested uncompressed', async () => {
  const compressed = { headers: { 'accept-encoding': 'br' } };
  answer(result({ taskId: 'a' }), 'application/json', { etag: '"1"' });
  const plain = await world.send(request('tools/call', { name: 'a' }), compressed);
  expect(seen().headers['accept-encoding']).toBe('br');
  expect(await plain.text()).toBe(result({ taskId: 'a' }));
  expect(plain.headers.get('etag')).toBe('"1"');
  await world.send(request('tools/call', { name: 'a', task: {} }), compressed);
  expect(seen().headers['accept-encoding']).toBe('identity');
  answer('not really', 'application/json', { 'content-encoding': 'x-other' });
  expect(await (await world.send(...modern('tools/call', { name: 'a' }))).text()).toBe('not really');
});
