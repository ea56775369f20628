import { describe, expect, test } from 'vitest';
import { lengthPrefixed } from '../../src/core/lib/digest.ts';
import { Bindings, createOwnerBound, HandleBinding } from '../../src/mcp/bindings.ts';
import { readMessage } from '../../src/mcp/message.ts';
import { messageLimits } from '../support/message-limits.ts';
import { Denial } from '../../src/core/model/denial.ts';
import type { Fields } from '../../src/core/model/fields.ts';
import type { Action, Grant } from '../../src/core/model/grant.ts';
import type { Principal } from '../../src/core/model/principal.ts';
import { callerKey } from '../../src/core/model/caller-key.ts';
import { message } from '../core/policy/caller.ts';
import { orDenial } from '../support/denial.ts';

const sessions = createOwnerBound('a key of at least thirty-two characters');
const handles = new HandleBinding(sessions, Date.now);
let calls = 0;
const parts = { sessions, handles, uuid: () => `call ${(calls += 1)}` };
const bindings = new Bindings({ name: 'tools' }, parts);

const issuer = 'https://issuer.example';
/** Without a name: a token that names neither a subject nor a client. */
const callerOf = (subject?: string, clientId?: string): Principal =>
  ({ issuer, callerKey: callerKey({ issuer, subject, clientId }) }) as Principal;
const alice = callerOf('alice', 'app');
const grantOf = (principal: Principal | undefined, action: object = { era: 'legacy' }): Grant =>
  ({ principal, action }) as unknown as Grant;

/** The body of a request. */
const request = (method: string, params: object): Buffer<ArrayBuffer> =>
  Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
const ping = request('ping', {});

/** The body of a modern request of a client with these capabilities. */
const modernRequest = (method: string, params: object, capabilities: object): Buffer<ArrayBuffer> => {
  const meta = { 'io.modelcontextprotocol/clientCapabilities': capabilities };
  return request(method, { ...params, _meta: { ...meta, 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } });
};
const modern = { mcpProtocolVersion: '2026-07-28' };
/** SEP-2663: the data of a -32021. */
const tasksRequired = { requiredCapabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } };
const notification = Buffer.from('{"jsonrpc":"2.0","method":"notifications/x"}');

function present(fields: Partial<Fields>, body?: Buffer, principal?: Principal): ReturnType<Bindings['present']> {
  const received = body && { body, message: readMessage(body, fields as Fields, messageLimits) };
  return bindings.present(principal, fields as Fields, received);
}

/** What the upstream gets of a call, or the reason of its refusal with the id and the data of the error. */
function presented(...given: Parameters<typeof present>): unknown {
  const result = orDenial(() => present(...given));
  return result instanceof Denial ? [result.reason, result.messageId, result.data] : result;
}

test.each([
  [{ mcpSessionId: 'x' }, 'Mcp-Session-Id was not given to this caller on this route'],
  [{ lastEventId: 'x' }, 'Last-Event-ID was not given to this caller in this session'],
])('%j is refused in words', (fields, detail) => {
  expect(() => present(fields)).toThrow(detail);
});

describe('the owner of a session', () => {
  test.each([
    ['every caller of a public route', undefined, ['tools']],
    ['a person, whatever client speaks for them', alice, ['tools', issuer, 'subject', 'alice']],
    ['a client that acts for no user', callerOf(undefined, 'app'), ['tools', issuer, 'client', 'app']],
    ['a person without a client', callerOf('alice'), ['tools', issuer, 'subject', 'alice']],
  ])('%s', (_who, principal, owner) => {
    expect(bindings.giveSession('theirs', grantOf(principal))).toBe(sessions.bind('theirs', lengthPrefixed(owner)));
  });

  test('RFC 7662 §2.2: without subject and client, no two requests have the same owner', () => {
    const given = [1, 2].map(() => bindings.giveSession('theirs', grantOf(callerOf())) ?? '');
    const owners = given.map((_, i) => lengthPrefixed(['tools', issuer, 'unidentified', `call ${calls - 1 + i}`]));
    expect(given).toEqual(owners.map((owner) => sessions.bind('theirs', owner)));
    expect(presented({ mcpSessionId: given[0] }, undefined, callerOf())).toEqual(['session.unknown', null, undefined]);
  });
});

describe('Mcp-Session-Id', () => {
  const mine = bindings.giveSession('theirs', grantOf(alice));

  test('becomes the upstream’s own again for its owner alone, with and without a message', () => {
    for (const body of [undefined, ping]) {
      expect(presented({ mcpSessionId: mine }, body, alice)).toHaveProperty('sessionId', 'theirs');
      const refusal = ['session.unknown', body === undefined ? null : 1, undefined];
      expect(presented({ mcpSessionId: mine }, body, callerOf('bob', 'app'))).toEqual(refusal);
      expect(presented({ mcpSessionId: 'theirs' }, body, alice)).toEqual(refusal);
    }
  });

  test('is dropped in MCP 2026-07-28, which has no sessions', () => {
    expect(bindings.giveSession('theirs', grantOf(alice, { era: 'modern' }))).toBeUndefined();
    const fields = { ...modern, mcpSessionId: 'theirs' };
    expect(presented(fields, notification)).toHaveProperty('sessionId', undefined);
  });
});

describe('Last-Event-ID', () => {
  const mine = bindings.giveSession('theirs', grantOf(undefined));
  const event = (id: string, session?: string): string => bindings.giveEventIds(grantOf(undefined), session)(id);

  test.each([
    ['theirs', 'theirs'],
    [undefined, ''],
  ])('is bound to its caller in the session %s', (session, owner) => {
    const inBytes = Buffer.from('1\xe9', 'latin1').toString('base64url');
    expect(event('1\xe9', session)).toBe(sessions.bind(inBytes, lengthPrefixed(['tools', 'event', owner])));
  });

  test('becomes the upstream’s own again, in the bytes of a header, in the session that it belongs to', () => {
    expect(event('1\xe9', 'theirs')).toMatch(/^[\w.-]+$/);
    for (const id of ['stream_1\xe9', '2']) {
      const inSession = { mcpSessionId: mine, lastEventId: event(id, 'theirs') };
      expect(presented(inSession)).toHaveProperty('lastEventId', id);
      expect(presented(inSession, ping)).toHaveProperty('lastEventId', id);
    }
    expect(presented({ lastEventId: event('1') })).toHaveProperty('lastEventId', '1');
    expect(presented({})).toHaveProperty('lastEventId', undefined);
  });

  test('names the call of a tool whose stream it resumes, where results are judged', () => {
    const grant = grantOf(undefined, { attempt: message('tools/call', 'tool pay'), messageId: 'a.b' });
    const call = { messageId: 'a.b', tool: 'pay' };
    const id = bindings.giveEventIds(grant, undefined, true)('7');
    expect(presented({ lastEventId: id })).toMatchObject({ lastEventId: '7', resumes: call });
    // Also where what resumed it breaks off.
    const resumed = grantOf(undefined, { attempt: message(undefined), resumes: call });
    expect(presented({ lastEventId: bindings.giveEventIds(resumed, undefined, true)('8') })).toMatchObject({
      lastEventId: '8',
      resumes: call,
    });
    // A header has to carry the id: the name of the call has at most 512 bytes.
    const ofLength = (length: number): Grant =>
      grantOf(undefined, {
        attempt: message('tools/call', 'tool pay'),
        messageId: 'x'.repeat(length - '["","pay"]'.length),
      });
    const longest = bindings.giveEventIds(ofLength(512), undefined, true)('7');
    expect(presented({ lastEventId: longest })).toMatchObject({ resumes: { tool: 'pay' } });
    for (const given of [
      bindings.giveEventIds(grant, undefined)('7'),
      bindings.giveEventIds(ofLength(513), undefined, true)('7'),
      bindings.giveEventIds(grantOf(undefined, { attempt: message(undefined) }), undefined, true)('7'),
    ])
      expect(presented({ lastEventId: given })).toMatchObject({ lastEventId: '7', resumes: undefined });
  });

  test('names its owner once for all ids of a stream', () => {
    const [before, give] = [calls, bindings.giveEventIds(grantOf(callerOf()), undefined)];
    expect([give('1'), give('2'), calls]).toEqual([expect.any(String), expect.any(String), before + 1]);
  });

  test.each([
    ['of another session', { mcpSessionId: mine, lastEventId: event('1', 'other') }],
    ['of a session, without it', { lastEventId: event('1', 'theirs') }],
    ['of no session, in one', { mcpSessionId: mine, lastEventId: event('1') }],
    ['of another caller', { lastEventId: bindings.giveEventIds(grantOf(alice), undefined)('1') }],
    ['of the upstream', { lastEventId: '1' }],
    ['that is empty', { lastEventId: '' }],
    ['that is a session', { lastEventId: mine }],
  ])('%s is refused', (_, fields) => {
    expect(presented(fields)).toEqual(['handle.unknown', null, undefined]);
    expect(presented(fields, ping)).toEqual(['handle.unknown', 1, undefined]);
  });

  test('is dropped in MCP 2026-07-28, which resumes no stream', () => {
    expect(presented({ ...modern, lastEventId: '1' }, notification)).toHaveProperty('lastEventId', undefined);
  });
});

describe('tasks and states that a client presents', () => {
  const task = sessions.bind(Buffer.from('t 1').toString('base64url'), lengthPrefixed(['tools', 'task']));
  const extension = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
  /** The body of the answer to a request of the server, about a task that the client runs. */
  const answer = Buffer.from(
    '{"jsonrpc":"2.0","id":1,"result":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"own"}}}}',
  );

  test('become the upstream’s own again, in the message and in its header', () => {
    const spaced = (taskId: string): Buffer =>
      Buffer.from(String(request('tasks/get', { taskId })).replaceAll(',', ' ,'));
    expect(presented({}, spaced(task))).toMatchObject({ body: spaced('t 1'), mcpName: 't 1' });
    expect(presented({}, request('tasks/get', { taskId: 't 1' }))).toEqual(['handle.unknown', 1, undefined]);
    expect(presented({}, request('tasks/get', { taskId: task }), alice)).toEqual(['handle.unknown', 1, undefined]);
  });

  test('a state names the counted call that it continues', () => {
    const paid = { attempt: message('tools/call', 'tool pay'), tasks: undefined };
    const given =
      bindings.giveHandles('{"result":{"requestState":"s"}}', grantOf(undefined, paid), { counted: 'counted' }) ?? '{}';
    const { requestState } = (JSON.parse(given) as { result: { requestState: string } }).result;
    expect(presented({}, request('tools/call', { name: 'pay', requestState }))).toMatchObject({
      body: request('tools/call', { name: 'pay', requestState: 's' }),
      continues: 'counted',
      tasks: undefined,
    });
    const refusal = ['handle.unknown', 1, undefined];
    expect(presented({}, request('tools/call', { name: 'other', requestState }))).toEqual(refusal);
    expect(presented({}, request('prompts/get', { name: 'pay', requestState }))).toEqual(refusal);
  });

  describe('the state of a call that waits for an approval', () => {
    const stateOf = (...[method, ...targets]: Parameters<typeof message>): string =>
      bindings.giveApprovalState(grantOf(alice, { attempt: message(method, ...targets) }));
    const requestState = stateOf('tools/call', 'tool pay');

    test('does not reach the upstream, nor does the answer beside it', () => {
      const body = request('tools/call', { name: 'pay', requestState, inputResponses: {}, arguments: {} });
      const sent = { body: request('tools/call', { name: 'pay', arguments: {} }), continues: undefined };
      expect(presented({}, body, alice)).toMatchObject(sent);
    });

    test.each([
      ['of another caller', 'tools/call', { name: 'pay', requestState }, callerOf('bob', 'app')],
      ['of another tool', 'tools/call', { name: 'read', requestState }, alice],
      ['of another method', 'prompts/get', { name: 'pay', requestState }, alice],
      ['of an event', 'tools/call', { name: 'pay', requestState: stateOf(undefined, 'tool pay') }, alice],
      ['in the place of a task', 'tasks/get', { taskId: stateOf('tasks/get') }, alice],
    ])('%s is refused', (_, method, params, principal) => {
      expect(presented({}, request(method, params), principal)).toEqual(['handle.unknown', 1, undefined]);
    });
  });

  test.each([
    ['tasks/get', { taskId: task }, new Map([['t 1', {}]])],
    ['tasks/list', {}, new Map()],
    ['tools/call', { name: 'pay' }, undefined],
  ])('the answer gives out only a new task and those that the message presents: %s', (method, params, tasks) => {
    expect(presented({}, request(method, params))).toHaveProperty('tasks', tasks);
  });

  test('the same bytes go on for a message without handles, and no names without a message', () => {
    expect((presented({}, ping) as Action).body).toBe(ping);
    expect(presented({})).toEqual({});
  });

  test.each([
    ['a task that the body names', request('tasks/get', { taskId: task }), task, { mcpName: 't 1' }],
    ['no task', request('tasks/list', {}), undefined, { mcpName: undefined }],
    ['a tool', request('tools/call', { name: 'pay' }), 'pay', { mcpName: undefined }],
    ['anything in an answer', answer, 'x', { mcpName: undefined, body: answer }],
  ])('Mcp-Name of a legacy message may name %s', (_, body, mcpName, expected) => {
    expect(presented({ mcpName }, body)).toMatchObject(expected);
  });

  test('a task that Mcp-Name names and the body does not is refused', () => {
    const refusal = ['message.header_mismatch', 1, undefined];
    expect(presented({ mcpName: 't 1' }, request('tasks/get', {}))).toEqual(refusal);
  });

  test.each([
    ['of a client without tasks', 'tasks/get', { taskId: 'x' }, {}, ['message.capability', 1, tasksRequired]],
    ['of a client with tasks', 'tasks/get', { taskId: 'x' }, extension, ['handle.unknown', 1, undefined]],
    ['in a call', 'tools/call', { name: 'x', requestState: 'x' }, {}, ['handle.unknown', 1, undefined]],
  ])('SEP-2663 §Capability: an unknown handle %s', (_, mcpMethod, params, capabilities, refusal) => {
    const body = modernRequest(mcpMethod, params, capabilities);
    expect(presented({ ...modern, mcpMethod, mcpName: 'x' }, body)).toEqual(refusal);
  });

  test('an unknown task of a legacy client is unknown, since legacy requests declare no tasks', () => {
    expect(presented({}, request('tasks/get', { taskId: 'x' }))).toEqual(['handle.unknown', 1, undefined]);
  });

  test('a task that the client runs passes in a modern response', () => {
    expect(presented(modern, answer)).toMatchObject({ body: answer });
  });
});

test('the handles of an answer are bound to the caller and the request, and only the tasks that the action names', () => {
  const asked: unknown[] = [];
  const recorder = { bindAll: (...given: unknown[]) => String(asked.push(...given)) } as unknown as HandleBinding;
  const recorded = new Bindings({ name: 'tools' }, { ...parts, handles: recorder });
  const [tasks, owner] = [new Map([['a', {}]]), lengthPrefixed(['tools', issuer, 'subject', 'alice'])];
  const attempt = message('tools/call', 'tool pay');
  expect(recorded.giveHandles('text', grantOf(alice, { tasks, attempt }), { counted: 'counted' })).toBe('3');
  recorded.giveHandles('more', grantOf(alice, { tasks: undefined, attempt: { kind: 'http' } }), {});
  expect(asked).toEqual([
    'text',
    { owner, method: 'tools/call', targets: attempt.targets, counted: 'counted' },
    tasks,
    'more',
    { owner, method: undefined, targets: [] },
    undefined,
  ]);
});
