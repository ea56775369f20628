import { describe, expect, test } from 'vitest';
import {
  createsNoTask,
  givenHandles,
  isNamedTask,
  mayGiveHandle,
  mayYieldHandle,
  presentedHandles,
} from '../../src/mcp/handles.ts';
import type { Members } from '../../src/core/lib/json/own-member.ts';
import { Denial } from '../../src/core/model/denial.ts';
import { mcpMethod } from '../../src/core/model/mcp.ts';
import { orDenial } from '../support/denial.ts';

const related = 'io.modelcontextprotocol/related-task';
const relatedIds = 'io.modelcontextprotocol/relatedTaskIds';

/** Each handle as `kind path value`. */
function shown(method: string | undefined, message: object): readonly string[] | string {
  const handles = orDenial(() => presentedHandles(mcpMethod(method), message as Members, 1));
  return handles instanceof Denial ? `${handles.reason} ${JSON.stringify(handles.messageId)}` : handles.map(text);
}

function text({ kind, path, value }: ReturnType<typeof givenHandles>[number]): string {
  return `${kind} ${path.join('.')} ${value}`;
}

test.each([
  [{ params: { taskId: 'a' } }, [true]],
  [{ params: { _meta: { [related]: { taskId: 'a' } }, requestState: 's' } }, [false, false]],
])('Mcp-Name repeats the task that a request acts on, and no other handle: %j', (message, wanted) => {
  expect(presentedHandles(mcpMethod('tasks/get'), message, 1).map(isNamedTask)).toEqual(wanted);
});

test.each([
  ['{"result":{"taskId":"a"}}', true],
  ['{"result":{"requestState":"s"}}', true],
  ['{"params":{"notifications":{"taskIds":["a"]}}}', true],
  ['{"params":{"_meta":{"io.modelcontextprotocol/relatedTaskIds":["a"]}}}', true],
  ['{"result":{"content":[{"text":"task"}]}}', false],
])('whether a message may give out a handle: %s', (text, wanted) => {
  expect(mayGiveHandle(Buffer.from(text))).toBe(wanted);
});

describe('the handles that a client presents', () => {
  test.each([
    ['tasks/get', { params: { taskId: 'a' } }, ['task params.taskId a']],
    ['tasks/result', { params: { taskId: 'a' } }, ['task params.taskId a']],
    ['tasks/cancel', { params: { taskId: 'a' } }, ['task params.taskId a']],
    ['tasks/update', { params: { taskId: 'a', inputResponses: { taskId: 'x' } } }, ['task params.taskId a']],
    ['tasks/list', { params: { cursor: 'c' } }, []],
    ['tasks/later', { params: { taskId: 'a' } }, ['task params.taskId a']],
    ['tools/call', { params: { name: 'x', requestState: 's' } }, ['state params.requestState s']],
    ['elicitation/x', { params: { _meta: { [related]: { taskId: 'a' } } } }, [`task params._meta.${related}.taskId a`]],
    [
      'tools/call',
      { params: { _meta: { [relatedIds]: ['a', 'b'] } } },
      [`task params._meta.${relatedIds}.0 a`, `task params._meta.${relatedIds}.1 b`],
    ],
    [
      'subscriptions/listen',
      { params: { notifications: { taskIds: ['a'] } } },
      ['task params.notifications.taskIds.0 a'],
    ],
    [
      undefined,
      { result: { _meta: { [related]: { taskId: 'a' } }, taskId: 'own' } },
      [`task result._meta.${related}.taskId a`],
    ],
    [
      'tools/call',
      { params: { taskId: 'x', arguments: { taskId: 'x', requestState: 'x', _meta: { [related]: { taskId: 'x' } } } } },
      [],
    ],
    ['notifications/tasks/status', { params: { taskId: 'of the client' } }, []],
    ['notifications/vendor', { params: { requestState: 'x' } }, []],
    ['tools/call', { params: { notifications: { taskIds: 'not a subscription' } } }, []],
    ['ping', {}, []],
    ['tasks/get', { params: {} }, []],
    ['ping', { params: { _meta: null } }, []],
    ['subscriptions/listen', { params: { notifications: null } }, []],
    ['subscriptions/listen', { params: { notifications: { taskIds: [] } } }, []],
  ])('%s %j', (method, message, wanted) => expect(shown(method, message)).toEqual(wanted));

  test.each([
    ['tools/call', { params: { _meta: { [related]: null } } }, 'body.message 1'],
    ['tools/call', { params: { _meta: { [related]: 'a' } } }, 'body.message 1'],
    ['tools/call', { params: { _meta: [] } }, 'body.message 1'],
    [undefined, { result: { _meta: { [related]: { taskId: null } } } }, 'body.message 1'],
    ['subscriptions/listen', { params: { notifications: { taskIds: 'a' } } }, 'body.message 1'],
    ['tasks/get', { params: { TaskID: 'a' } }, 'body.ambiguous 1'],
    ['tools/call', { params: { RequestState: 'a' } }, 'body.ambiguous 1'],
    ['tools/call', { params: { requeſtState: 'a' } }, 'body.ambiguous 1'],
    ['subscriptions/listen', { params: { notiﬁcations: { taskIds: ['a'] } } }, 'body.ambiguous 1'],
    ['tools/call', { Params: { requestState: 'a' } }, 'body.ambiguous 1'],
    ['tools/call', { params: { _Meta: { [related]: { taskId: 'a' } } } }, 'body.ambiguous 1'],
    ['subscriptions/listen', { params: { Notifications: { taskIds: ['a'] } } }, 'body.ambiguous 1'],
  ])('%s %j → refused', (method, message, wanted) => expect(shown(method, message)).toBe(wanted));

  const places: readonly (readonly [string, (value: unknown) => object])[] = [
    ...['tasks/get', 'tasks/result', 'tasks/cancel', 'tasks/update'].map(
      (method) => [method, (taskId: unknown) => ({ taskId })] as const,
    ),
    ['ping', (requestState) => ({ requestState })],
    ['ping', (taskId) => ({ _meta: { [related]: { taskId } } })],
    ['ping', (id) => ({ _meta: { [relatedIds]: [id] } })],
    ['ping', (ids) => ({ _meta: { [relatedIds]: ids } })],
    ['notifications/x', (taskId) => ({ _meta: { [related]: { taskId } } })],
    ['subscriptions/listen', (id) => ({ notifications: { taskIds: [id] } })],
    ['subscriptions/listen', (taskIds) => ({ notifications: { taskIds } })],
  ];

  test.each([[null], [0], [false], [{}], [[null]], [[['a']]]])('%j is a handle nowhere', (value) => {
    for (const [method, params] of places) expect(shown(method, { params: params(value) })).toBe('body.message 1');
  });

  test.each([
    ['tools/call', { params: { _meta: { [related]: 'a' } } }, `params._meta.${related}`],
    ['tools/call', { params: { _meta: [] } }, 'params._meta'],
    ['tasks/get', { params: { taskId: 1 } }, 'params.taskId'],
    ['subscriptions/listen', { params: { notifications: { taskIds: 'a' } } }, 'params.notifications.taskIds'],
    ['subscriptions/listen', { params: { notifications: { taskIds: ['a', 1] } } }, 'params.notifications.taskIds.1'],
  ])('%s %j is refused with the place of the wrong type: %s', (method, message, place) => {
    expect(() => presentedHandles(mcpMethod(method), message, 1)).toThrow(`${place} is of the wrong type`);
  });
});

describe('the handles that a server gives out', () => {
  test.each([
    [{ result: { task: { taskId: 'a', status: 'working' } } }, ['task result.task.taskId a']],
    [{ result: { taskId: 'a', resultType: 'task' } }, ['task result.taskId a']],
    [{ result: { resultType: 'input_required', requestState: 's' } }, ['state result.requestState s']],
    [{ result: { content: [], _meta: { [related]: { taskId: 'a' } } } }, [`task result._meta.${related}.taskId a`]],
    [{ method: 'notifications/tasks/status', params: { taskId: 'a' } }, ['task params.taskId a']],
    [{ method: 'notifications/tasks', params: { taskId: 'a', result: { taskId: 'x' } } }, ['task params.taskId a']],
    [
      { method: 'notifications/subscriptions/acknowledged', params: { notifications: { taskIds: ['a', 'b'] } } },
      ['task params.notifications.taskIds.0 a', 'task params.notifications.taskIds.1 b'],
    ],
    [
      { method: 'elicitation/create', params: { _meta: { [related]: { taskId: 'a' } } } },
      [`task params._meta.${related}.taskId a`],
    ],
    [{ method: 'tasks/get', params: { taskId: 'of the client' } }, []],
    [{ method: 'notifications/message', params: { taskId: 'x', data: { taskId: 'x' } } }, []],
    [{ method: 'notifications/message', params: { notifications: { taskIds: ['x'] } } }, []],
    [
      {
        result: {
          content: [{ taskId: 'x' }],
          structuredContent: { taskId: 'x', requestState: 'x', task: { taskId: 'x' } },
        },
      },
      [],
    ],
    [{ result: { taskId: 1, task: null, tasks: {}, requestState: [] } }, []],
    [{ result: { tasks: [{ taskId: 'of any caller' }] } }, []],
    [{ error: { data: { taskId: 'x' } } }, []],
    [{ result: null }, []],
    ['taskId', []],
    [null, []],
  ])('%j', (message, wanted) => expect(givenHandles(message).map(text)).toEqual(wanted));
});

const handle = { kind: 'task', path: ['params', 'taskId'], value: 'a' } as const;

test.each([
  ['a task method', 'tasks/list', {}, 'legacy', [], true],
  ['a call as a task', 'tools/call', { task: {} }, 'legacy', [], true],
  ['a plain call', 'tools/call', {}, 'legacy', [], false],
  ['whatever showed a handle', 'x/y', {}, 'legacy', [handle], true],
  ['a call that may need input', 'tools/call', {}, 'modern', [], true],
  ['a prompt', 'prompts/get', {}, 'modern', [], true],
  ['a resource', 'resources/read', {}, 'modern', [], true],
  ['a list', 'tools/list', {}, 'modern', [], false],
  ['task is nothing in a modern list', 'tools/list', { task: {} }, 'modern', [], false],
  ['a client’s answer', undefined, {}, 'legacy', [handle], false],
] as const)('%s: whether its answer is read', (_, method, params, era, handles, wanted) => {
  expect(mayYieldHandle(mcpMethod(method), params, era, handles)).toBe(wanted);
});

test.each([
  ['tasks/get', true],
  ['tasks/list', true],
  ['tasks/later', true],
  ['subscriptions/listen', true],
  ['tools/call', false],
  [undefined, false],
])('the answer to %s creates no task: %s', (method, wanted) => expect(createsNoTask(mcpMethod(method))).toBe(wanted));
