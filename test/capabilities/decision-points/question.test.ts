import { expect, test } from 'vitest';
import { orReason } from '../../support/denial.ts';
import type { Grant } from '../../../src/core/model/grant.ts';
import { knownRequests, mcpMethod } from '../../../src/core/model/mcp.ts';
import type { Route } from '../../../src/core/model/route.ts';
import { createDescribe } from '../../../src/capabilities/decision-points/question.ts';

const route = { name: 'tools', path: '/mcp', upstream: { identity: new Map(), statements: [] } } as unknown as Route;
const describe = createDescribe(route, 'http://gateway.test', false);
const principal = { subject: 'alice', issuer: 'http://as.test', grantedScopes: [], claims: {} };
const target = { kind: 'tool', name: 'one' };

function ask(name: string, targets: readonly object[] = [target], params: object = { taskId: 'task-1' }): unknown {
  const attempt = { kind: 'mcp', method: mcpMethod(name), targets, arguments: undefined };
  const action = { attempt, body: Buffer.from(JSON.stringify({ method: name, params })) };
  return describe.call({ method: 'POST', path: '/mcp' }, { principal, action } as unknown as Grant)?.resource;
}

const server = { type: 'mcp_server', id: 'http://gateway.test/mcp' };
const task = { type: 'task', id: 'task-1' };
const one = { type: 'tool', id: 'one' };

test('R-335: each method that the gateway knows has a mapping, except a ping', () => {
  expect(Object.fromEntries([...knownRequests.keys()].map((name) => [name, ask(name)]))).toEqual({
    initialize: server,
    ping: undefined,
    'server/discover': server,
    'logging/setLevel': server,
    'tools/list': server,
    'tools/call': one,
    'resources/list': server,
    'resources/templates/list': server,
    'resources/read': one,
    'resources/subscribe': one,
    'resources/unsubscribe': one,
    'prompts/list': server,
    'prompts/get': one,
    'completion/complete': one,
    'subscriptions/listen': server,
    'tasks/list': server,
    'tasks/get': task,
    'tasks/result': task,
    'tasks/update': task,
    'tasks/cancel': task,
  });
});

test.for<readonly [string, () => unknown]>([
  ['a method that it does not know', () => ask('tools/other')],
  ['a list that it does not know', () => ask('others/list')],
  ['no target', () => ask('tools/call', [])],
  ['two targets', () => ask('tools/call', [target, target])],
  ['no task', () => ask('tasks/get', [], {})],
  ['a task that is no text', () => ask('tasks/get', [], { taskId: 7 })],
])('R-335: %s is refused', ([, asked]) => {
  expect(orReason(asked)).toBe('decision_point.denied');
});
