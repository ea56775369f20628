import type { ServerResponse } from 'node:http';
import { beforeEach, describe, expect, test } from 'vitest';
import { asEvents, asJson, type LockedWorld, startLockedWorld } from '../worlds/locked.ts';
import { modernRequest, request } from '../worlds/mcp.ts';
import { startBeforeAll } from '../support/start-before.ts';

const inputSchema = { type: 'object' } as const;
const outputSchema = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] };
const approved = {
  tools: [
    { name: 'pay', inputSchema, outputSchema },
    { name: 'free', inputSchema },
  ],
};
const policy = `
lock: deny
calls: strict
tools:
  pay: {}
  free: {}
  later: { after: { tool: pay, within: 1h } }
`;
let world: LockedWorld;
const started = startBeforeAll(async () => {
  const locked = await startLockedWorld({
    approved: { tools: [...approved.tools, { name: 'later', inputSchema }] },
    policy,
  });
  await locked.compared();
  return { locked, close: () => Promise.resolve() };
});

const good = '{"content":[],"structuredContent":{"id":"x"}}';
const bad = '{"content":[],"structuredContent":{"id":7}}';
const message = (result: string, id = '1'): string => `{"jsonrpc":"2.0","id":${id},"result":${result}}`;

beforeEach(() => {
  world = started.locked;
  world.form = asJson;
});

/** What a client gets of an answer; the server writes `text`. */
async function answered(text: string, form = asJson, sent = call('pay'), sub = 'alice'): Promise<string> {
  world.form = (response) => form(response, text);
  const response = await world.send(sent, { claims: { sub } });
  return response.text().catch(() => '');
}

const call = (name: string, members: object = {}): object => request('tools/call', { name, arguments: {}, ...members });

describe.each([
  ['JSON', asJson],
  ['a stream', asEvents],
])('in %s, a result that the output schema does not allow reaches no client', (_name, form) => {
  test.each([
    ['under an escaped key', message(bad).replace('"result"', String.raw`"\u0072esult"`)],
    ['in a batch', `[${message(bad)}]`],
    ['as a task that has it', message(bad.replace('{', '{"resultType":"task",'))],
    ['beside a task', message(bad.replace('{', '{"task":{"taskId":"t"},'))],
    ['as a task that is done', message(`{"resultType":"task","taskId":"t","result":${bad}}`)],
    ['beside a question', message(bad.replace('{', '{"resultType":"input_required",'))],
    ['without structured content, beside a question', message('{"resultType":"input_required","content":[]}')],
    ['under a key in another case', message(bad.replace('"structuredContent"', '"StructuredContent"'))],
    ['beside isError in another case', message(bad.replace('{', '{"isError":true,"ISERROR":false,'))],
    ['twice', message(bad.replace('}}', '},"structuredContent":{"id":"x"}}'))],
    ['in 9 MiB', message(bad.replace('[]', `["${'x'.repeat(9 * 1024 * 1024)}"]`))],
    ['of another call, by its id', message(bad, '2')],
    ['of another call, by its id as a text', message(bad, '"2"')],
  ])('%s', async (_case, text) => {
    expect(await answered(text, form)).not.toMatch(/tructuredContent|"content"/);
  });

  test('and one that it allows does, and what follows later', async () => {
    expect(await answered(message(good), form)).toContain('structuredContent');
    expect(await answered(message('{"resultType":"input_required","requestState":"s"}'), form)).toContain('"s');
    expect(await answered(message('{"content":[]}'), form, call('free'))).toContain('content');
  });

  test.each([
    ['of a tool without an output schema', call('free')],
    ['to another request', request('prompts/list')],
  ])('on the stream of the answer %s', async (_case, sent) => {
    expect(await answered(message(bad, '2'), form, sent)).not.toContain('structuredContent');
    expect(await answered(message(good, '"2"'), form, sent)).not.toContain('structuredContent');
    expect(await answered(message('{"prompts":[]}', '2'), form, sent)).toContain('prompts');
  });
});

test('a result that is refused counts as an error: no later call rests on it', async () => {
  const by = async (text: string, tool: string): Promise<string> => answered(text, asJson, call(tool), 'of-later');
  expect(await by(message(bad), 'pay')).toContain('upstream.invalid');
  expect(await by(message('{"content":[]}'), 'later')).toContain('history.missing');
  expect(await by(message(good), 'pay')).toContain('structuredContent');
  expect(await by(message('{"content":[]}'), 'later')).toContain('content');
});

describe('on the stream of a GET', () => {
  const events = (response: ServerResponse, ...data: readonly string[]): void => {
    const text = data.map((each, at) => `id: ${at}\ndata: ${each}\n\n`).join('');
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text);
  };
  async function streamed(headers: Record<string, string>, ...data: readonly string[]): Promise<string> {
    world.stream = (response) => events(response, ...data);
    const response = await world.send(undefined, {
      method: 'GET',
      headers: { accept: 'text/event-stream', ...headers },
    });
    return response.text().catch(() => '');
  }

  test('the result of a call passes only where the client resumes the stream of that call', async () => {
    world.form = (response) => events(response, '{"jsonrpc":"2.0","method":"notifications/progress","params":{}}');
    const opened = await world.send(request('initialize', { protocolVersion: '2025-11-25' }));
    const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
    await opened.text();
    const interrupted = await world.send(call('pay'), { headers: session });
    const lastId = /^id: (.*)$/m.exec(await interrupted.text())?.[1] ?? '';
    const resumes = { ...session, 'last-event-id': lastId };
    expect(await streamed(resumes, message(good))).toContain('structuredContent');
    expect(await streamed(resumes, message(bad))).not.toContain('structuredContent');
    expect(await streamed(resumes, message('{"content":[]}'))).not.toContain('content"');
    expect(await streamed(resumes, message(good, '2'))).not.toContain('structuredContent');
    expect(await streamed(session, message(good))).not.toContain('structuredContent');
    const notice = '{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}}';
    expect(await streamed(session, notice)).toContain('notifications/message');
  });

  test('the result of a task passes in no notification that a client did not ask for', async () => {
    const told = (result: string): string =>
      `{"jsonrpc":"2.0","method":"notifications/tasks","params":{"taskId":"t","status":"completed","result":${result}}}`;
    expect(await streamed({}, told(bad))).not.toContain('structuredContent');
    expect(await streamed({}, told(good))).not.toContain('structuredContent');
  });
});

describe('R-365: the result of a task', () => {
  async function created(tool: string): Promise<string> {
    const text = await answered(
      message('{"task":{"taskId":"t","status":"working"}}'),
      asJson,
      call(tool, { task: {} }),
    );
    return (JSON.parse(text) as { result: { task: { taskId: string } } }).result.task.taskId;
  }
  const asked = async (method: string, taskId: string, result: string): Promise<string> =>
    answered(message(result), asJson, request(method, { taskId }));

  test('is as the output schema of the tool says that created it', async () => {
    const ofPay = await created('pay');
    expect(await asked('tasks/result', ofPay, good)).toContain('structuredContent');
    expect(await asked('tasks/result', ofPay, bad)).toContain('upstream.invalid');
    expect(await asked('tasks/result', ofPay, '{"content":[]}')).toContain('upstream.invalid');
    expect(await asked('tasks/result', ofPay, '{"content":[],"isError":true}')).toContain('isError');
    const task = (result: string): string => `{"taskId":"t","status":"completed","result":${result}}`;
    expect(await asked('tasks/get', ofPay, task(good))).toContain('structuredContent');
    expect(await asked('tasks/get', ofPay, task(bad))).toContain('upstream.invalid');
    expect(await asked('tasks/get', ofPay, bad)).toContain('upstream.invalid');
    expect(await asked('tasks/get', ofPay, '{"taskId":"t","status":"working"}')).toContain('working');
    expect(await asked('tasks/cancel', ofPay, task(bad))).toContain('upstream.invalid');
  });

  test('of a tool without an output schema passes', async () => {
    expect(await asked('tasks/result', await created('free'), '{"content":[]}')).toContain('content');
  });
});

describe('in MCP 2026-07-28', () => {
  const capabilities = { 'io.modelcontextprotocol/tasks': {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };
  async function sent(method: string, params: Record<string, unknown>, text: string, form = asJson): Promise<string> {
    world.form = (response) => form(response, text);
    const taskId = params['taskId'];
    const { message: asked, headers } = modernRequest(method, params, capabilities);
    const named = typeof taskId === 'string' ? { ...headers, 'mcp-name': taskId } : headers;
    const response = await world.send(asked, { headers: named });
    return response.text().catch(() => '');
  }

  test('a result is judged in the answer, in a task and in what a subscription tells of it', async () => {
    const pay = { name: 'pay', arguments: {} };
    const complete = (result: string): string => result.replace('{', '{"resultType":"complete",');
    expect(await sent('tools/call', pay, message(complete(good)))).toContain('structuredContent');
    expect(await sent('tools/call', pay, message(complete(bad)))).toContain('upstream.invalid');
    const created = await sent('tools/call', pay, message('{"resultType":"task","taskId":"t","status":"working"}'));
    const { taskId } = (JSON.parse(created) as { result: { taskId: string } }).result;
    const task = (result: string): string => `{"taskId":"t","status":"completed","result":${result}}`;
    const got = (result: string): string => message(complete(task(result)));
    expect(await sent('tasks/get', { taskId }, got(good))).toContain('structuredContent');
    expect(await sent('tasks/get', { taskId }, got(bad))).toContain('upstream.invalid');
    const told = (result: string): string =>
      `{"jsonrpc":"2.0","method":"notifications/tasks","params":${task(result)}}`;
    const listen = async (result: string): Promise<string> =>
      sent('subscriptions/listen', { notifications: { taskIds: [taskId] } }, told(result), asEvents);
    expect(await listen(good)).toContain('structuredContent');
    expect(await listen(bad)).not.toContain('structuredContent');
  });
});
