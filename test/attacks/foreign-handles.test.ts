import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bodyOf, post } from './requests.ts';
import { type AttackWorld, startAttackWorld, UPSTREAM_TEXT } from '../worlds/attacks.ts';

const tasksOfAll = [
  { taskId: 'task-of-alice', status: 'working', statusMessage: 'pays the doctor' },
  { taskId: 'task-of-bob', status: 'completed' },
];
const related = 'io.modelcontextprotocol/related-task';

/** What the upstream answers from now on. */
let result: object = {};
let answeredAsEvents = false;

let now = Date.now();
/** Minutes pass. */
function later(minutes: number): void {
  now += minutes * 60_000;
}

let world: AttackWorld;
beforeAll(async () => {
  world = await startAttackWorld({
    clock: () => now,
    routes: [
      'name: open, path: /open, protocol: mcp, audience: "http://gateway.test/mcp", policy: open, upstream: { url: "UPSTREAM/mcp" }',
      'name: exact, path: /exact, protocol: mcp, audience: "http://gateway.test/mcp", policy: exact, upstream: { url: "UPSTREAM/mcp" }',
      'name: pattern, path: /pattern, protocol: mcp, audience: "http://gateway.test/mcp", policy: pattern, upstream: { url: "UPSTREAM/mcp" }',
      'name: any, path: /any, protocol: mcp, audience: "http://gateway.test/mcp", policy: any, upstream: { url: "UPSTREAM/mcp" }',
    ],
    policies: {
      open: '{}',
      exact: 'methods: { tasks/list: {} }',
      pattern: 'methods: { "tasks/*": {} }',
      any: 'methods: { "*": {} }',
    },
    answer: (_request, response) => {
      const message = JSON.stringify({ jsonrpc: '2.0', id: 1, result, text: UPSTREAM_TEXT });
      if (answeredAsEvents)
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${message}\n\n`);
      else response.writeHead(200, { 'content-type': 'application/json' }).end(message);
    },
  });
});
afterAll(() => world.close());

const tokenOf = (sub: string): Promise<string> => world.token({ sub, exp: Math.floor(now / 1000) + 3600 });
const by = async (sub: string): Promise<string> => `Authorization: Bearer ${await tokenOf(sub)}`;
const request = (method: string, params: object): string => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });

/** The same request on another route. */
function on(path: string, sent: Buffer): Buffer {
  return Buffer.from(sent.toString('latin1').replace('POST /mcp', `POST ${path}`), 'latin1');
}

/** The result that a client sees of a message that passes. */
async function passed(sub: string, path: string, method: string, params: object): Promise<Record<string, unknown>> {
  const headers = { authorization: `Bearer ${await tokenOf(sub)}`, 'content-type': 'application/json' };
  const response = await fetch(world.url + path, { method: 'POST', headers, body: request(method, params) });
  expect(response.status).toBe(200);
  const text = (await response.text()).replace(/^data: /, '');
  return (JSON.parse(text) as { result: Record<string, unknown> }).result;
}

/** The task `id` of the upstream, as `sub` is given it on `path`. */
async function taskOf(sub: string, path: string, id: string): Promise<string> {
  result = { task: { taskId: id } };
  const { task } = (await passed(sub, path, 'vendor/run', { task: {} })) as { task: { taskId: string } };
  return task.taskId;
}

describe('a list of tasks', () => {
  test.each(['/pattern', '/any'])('is covered by no pattern of methods: %s', async (path) => {
    result = { tasks: tasksOfAll };
    const { answers } = await world.withstand(on(path, post(await by('bob'), request('tasks/list', {}))), {
      statuses: [403],
      reasons: ['method.unlisted'],
    });
    expect(bodyOf(answers[0])).toMatchObject({ id: 1 });
  });

  test.each([false, true])('names no tasks, even to callers that may ask for it (as events: %s)', async (asEvents) => {
    answeredAsEvents = asEvents;
    result = { tasks: tasksOfAll, nextCursor: 'more' };
    expect(await passed('bob', '/exact', 'tasks/list', {})).toEqual({ tasks: [], nextCursor: 'more' });
    answeredAsEvents = false;
  });

  test('is an unknown method in MCP 2026-07-28, which removed it', async () => {
    const params = { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } };
    const lines = ['MCP-Protocol-Version: 2026-07-28', 'Mcp-Method: tasks/list'];
    const sent = on('/exact', post(await by('bob'), request('tasks/list', params), ...lines));
    const { answers } = await world.withstand(sent, { statuses: [404], reasons: ['message.method'] });
    expect(bodyOf(answers[0])).toMatchObject({ id: 1, error: { code: -32601 } });
  });
});

test('a method about tasks returns only the tasks of the request', async () => {
  const own = await taskOf('bob', '/any', 'task-of-bob');
  for (const method of ['tasks/get', 'tasks/recent']) {
    result = {
      taskId: 'task-of-alice',
      task: { taskId: 'task-of-alice' },
      _meta: { [related]: { taskId: 'task-of-bob' } },
    };
    expect(await passed('bob', '/any', method, { taskId: own })).toEqual({
      ...result,
      _meta: { [related]: { taskId: own } },
    });
  }
  result = { tasks: tasksOfAll, taskId: 'task-of-alice' };
  expect(await passed('bob', '/any', 'tasks/recent', {})).toEqual({ tasks: [], taskId: 'task-of-alice' });
});

test.each([
  [null, 400, 'body.message'],
  ['', 404, 'handle.unknown'],
  ['task-of-alice', 404, 'handle.unknown'],
] as const)('the task %j answers %d', async (taskId, status, reason) => {
  const sent = post(await by('bob'), request('tasks/get', { taskId }));
  const { answers } = await world.withstand(sent, { statuses: [status], reasons: [reason] });
  expect(bodyOf(answers[0])).toMatchObject({ id: 1, error: { data: { reason } } });
});

test('refuses an Mcp-Name that names another task than the body', async () => {
  const lines = ['MCP-Protocol-Version: 2026-07-28', 'Mcp-Method: tasks/get', 'Mcp-Name: task-of-alice'];
  const params = { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } };
  for (const sent of [request('tasks/get', params), request('tasks/get', { ...params, taskId: null })]) {
    await world.withstand(post(await by('bob'), sent, ...lines), {
      statuses: [400],
      reasons: ['message.header_mismatch|body.message'],
    });
  }
  await world.withstand(post(await by('bob'), request('tasks/get', {}), 'Mcp-Name: task-of-alice'), {
    statuses: [400],
    reasons: ['message.header_mismatch'],
  });
});

describe('requestState', () => {
  const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };

  /** A request of 2026-07-28 on the route that lists all it is sent. */
  async function modern(method: string, name: string, params: object): Promise<Buffer> {
    const lines = ['MCP-Protocol-Version: 2026-07-28', `Mcp-Method: ${method}`, `Mcp-Name: ${name}`];
    return on('/open', post(await by('alice'), request(method, { ...params, _meta: meta }), ...lines));
  }

  async function stateOf(method: string, name: string, params: object): Promise<string> {
    result = { resultType: 'input_required', requestState: 'confirmed' };
    const sent = await modern(method, name, params);
    const { answers } = await world.withstand(sent, { statuses: [200], reached: ['POST /mcp'] });
    return /"requestState":"([^"]+)"/.exec(answers[0] ?? '')?.[1] ?? '';
  }

  const read = { uri: 'file:///a' };

  test('R-112: is refused for another tool and for another method', async () => {
    const requestState = await stateOf('tools/call', 'get_price', { name: 'get_price' });
    for (const sent of [
      await modern('tools/call', 'pay', { name: 'pay', requestState }),
      await modern('prompts/get', 'get_price', { name: 'get_price', requestState }),
      await modern('resources/read', read.uri, { ...read, requestState }),
    ]) {
      await world.withstand(sent, { statuses: [404], reasons: ['handle.unknown'] });
    }
    const again = await modern('tools/call', 'get_price', { name: 'get_price', requestState });
    const { reached } = await world.withstand(again, { statuses: [200], reached: ['POST /mcp'] });
    expect(reached[0]?.body).toContain('"requestState":"confirmed"');
  });

  test('is refused for another resource', async () => {
    const requestState = await stateOf('resources/read', read.uri, read);
    const other = await modern('resources/read', 'file:///b', { uri: 'file:///b', requestState });
    await world.withstand(other, { statuses: [404], reasons: ['handle.unknown'] });
  });

  test('R-112: is refused after ten minutes, and renewed in each round', async () => {
    const call = { name: 'get_price' };
    const first = await stateOf('tools/call', 'get_price', call);
    later(9);
    const second = await stateOf('tools/call', 'get_price', { ...call, requestState: first });
    later(2);
    const old = await modern('tools/call', 'get_price', { ...call, requestState: first });
    await world.withstand(old, { statuses: [404], reasons: ['handle.unknown'] });
    await stateOf('tools/call', 'get_price', { ...call, requestState: second });
  });
});
