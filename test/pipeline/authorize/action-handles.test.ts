import { expect, test } from 'vitest';
import { createActionReader } from '../../../src/pipeline/authorize/action.ts';
import { createHandleBinding } from '../../../src/mcp/handles-binding.ts';
import { lengthPrefixed } from '../../../src/lib/length-prefixed.ts';
import { createOwnerBound } from '../../../src/mcp/owner-bound.ts';
import { tasksRequired } from '../../../src/mcp/message.ts';
import { createToolHeaders } from '../../../src/mcp/tool-headers.ts';
import type { Call } from '../../../src/model/call.ts';
import { Denial } from '../../../src/model/denial.ts';
import type { Route } from '../../../src/model/route.ts';

const sessions = createOwnerBound('a key of at least thirty-two characters');
const route = { protocol: 'mcp', name: 'tools', path: '/mcp', query: 'pass' } as Route;
const ping = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}');
const task = sessions.bind(Buffer.from('t 1').toString('base64url'), lengthPrefixed(['tools', 'task']));
const extension = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
const modern = { mcpProtocolVersion: '2026-07-28' };

/** The body of a request. */
const request = (method: string, params: object): Buffer<ArrayBuffer> =>
  Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));

/** The body of a modern request of a client with these capabilities. */
const modernRequest = (method: string, params: object, capabilities: object): Buffer<ArrayBuffer> => {
  const meta = { 'io.modelcontextprotocol/clientCapabilities': capabilities };
  return request(method, { ...params, _meta: { ...meta, 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } });
};

/** The body of the answer to a request of the server, about a task that the client runs. */
const answer = Buffer.from(
  '{"jsonrpc":"2.0","id":1,"result":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"own"}}}}',
);

/** What becomes of a POST, or the reason of its refusal with the id and the data of the error. */
async function posted(body: Buffer<ArrayBuffer>, fields: Partial<Call['fields']> = {}): Promise<unknown> {
  const readBody = (): Promise<Buffer<ArrayBuffer>> => Promise.resolve(body);
  const handles = createHandleBinding(sessions, Date.now);
  const read = createActionReader(route, { readBody, sessions, handles, toolHeaders: createToolHeaders() });
  try {
    return await read({ method: 'POST', fields: { contentType: 'application/json', ...fields } } as Call, undefined);
  } catch (error) {
    if (error instanceof Denial) return [error.reason, error.messageId, error.data];
    throw error;
  }
}

test('restores the upstream’s id of the caller’s task, in the message and in its header', async () => {
  expect(await posted(request('tasks/get', { taskId: task }))).toMatchObject({
    body: request('tasks/get', { taskId: 't 1' }),
    mcpName: 't 1',
    mayYieldHandle: true,
  });
  expect(await posted(request('tasks/get', { taskId: 't 1' }))).toEqual(['handle.unknown', 1, undefined]);
});

test.each([
  ['tasks/get', { taskId: task }, new Map([['t 1', undefined]])],
  ['tasks/list', {}, new Map()],
  ['tools/call', { name: 'pay' }, undefined],
])('gives out only a new task and those that the message presents: %s', async (method, params, tasks) => {
  expect(await posted(request(method, params))).toHaveProperty('tasks', tasks);
});

test('forwards the same bytes for a message without handles', async () => {
  const { body } = (await posted(ping)) as { body: Buffer };
  expect(body).toBe(ping);
});

test.each([
  ['a task that the body names', request('tasks/get', { taskId: task }), task, { mcpName: 't 1' }],
  ['no task', request('tasks/list', {}), undefined, { mcpName: undefined }],
  ['a tool', request('tools/call', { name: 'pay' }), 'pay', { mcpName: undefined }],
  ['anything in an answer', answer, 'x', { mcpName: undefined, body: answer }],
])('Mcp-Name of a legacy message may name %s', async (_, body, mcpName, wanted) => {
  expect(await posted(body, { mcpName })).toMatchObject(wanted);
});

test('refuses a task that Mcp-Name names and the body does not', async () => {
  const found = await posted(request('tasks/get', {}), { mcpName: 't 1' });
  expect(found).toEqual(['message.header_mismatch', 1, undefined]);
});

test.each([
  ['of a client without tasks', 'tasks/get', { taskId: 'x' }, {}, ['message.capability', 1, tasksRequired]],
  ['of a client with tasks', 'tasks/get', { taskId: 'x' }, extension, ['handle.unknown', 1, undefined]],
  ['in a call', 'tools/call', { name: 'x', requestState: 'x' }, {}, ['handle.unknown', 1, undefined]],
])('SEP-2663 §Capability: an unknown handle %s', async (_, mcpMethod, params, capabilities, wanted) => {
  const body = modernRequest(mcpMethod, params, capabilities);
  expect(await posted(body, { ...modern, mcpMethod, mcpName: 'x' })).toEqual(wanted);
});

test('refuses an unknown task of a legacy client as unknown, since legacy requests declare no tasks', async () => {
  expect(await posted(request('tasks/get', { taskId: 'x' }))).toEqual(['handle.unknown', 1, undefined]);
});

test('passes a task that the client runs in a modern response', async () => {
  expect(await posted(answer, modern)).toMatchObject({ era: 'modern', body: answer });
});
