import { array, constantFrom, json, jsonValue, string } from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { HandleBinding, createOwnerBound, type HandleContext } from '../../src/mcp/bindings.ts';
import { presentedHandles } from '../../src/mcp/handles.ts';
import { lengthPrefixed } from '../../src/core/lib/digest.ts';
import { Denial } from '../../src/core/model/denial.ts';
import { mcpMethod } from '../../src/core/model/mcp.ts';
import { property } from '../support/property.ts';

let now = Date.UTC(2026, 10, 22);
const sessions = createOwnerBound('a key of at least thirty-two characters');
const binding = new HandleBinding(sessions, () => now);
const alice = by('alice');
const bob = by('bob');

/** The handles of a person's request; of a call of `pay` unless said otherwise. */
function by(subject: string, method = 'tools/call', name = 'pay'): HandleContext {
  const owner = lengthPrefixed(['tools', 'https://issuer.example', 'subject', subject]);
  return { owner, method, targets: [{ kind: 'tool', name }] };
}

const refusal = (detail: string): Denial => new Denial('handle.unknown', detail, { messageId: 1 });

/** The handle that `owner` sees for the upstream's. */
function boundTask(value: string, owner = alice): string {
  const text = binding.bindAll(JSON.stringify({ result: { taskId: value } }), owner, undefined) ?? '{"result":{}}';
  return (JSON.parse(text) as { result: { taskId: string } }).result.taskId;
}

function unbound(text: string, owner = alice): ReturnType<typeof binding.unbindAll> {
  const message = JSON.parse(text) as Record<string, unknown>;
  const presented = presentedHandles(mcpMethod(message['method'] as string | undefined), message, 1);
  return binding.unbindAll(text, presented, owner, refusal);
}

/** The state that alice is given for the upstream's. */
function stateOf(requestState: string): string {
  const text = binding.bindAll(JSON.stringify({ result: { requestState } }), alice, undefined) ?? '';
  return (JSON.parse(text) as { result: { requestState: string } }).result.requestState;
}

const askedFor = (taskId: string): string => JSON.stringify({ method: 'tasks/get', params: { taskId } });
const answered = (taskId: string): string =>
  JSON.stringify({ id: 1, result: { _meta: { 'io.modelcontextprotocol/related-task': { taskId } } } });
const batch = (id: string): string => `[{"result":{}}, {"result":{"taskId":"${id}"}}]`;

describe('binding', () => {
  property('gives any handle back to its owner', [string({ unit: 'binary' })], (value) => {
    const task = boundTask(value);
    expect(task).toMatch(/^[\w-]*\.[\w-]{22}$/);
    const { text } = unbound(JSON.stringify({ method: 'tasks/get', params: { taskId: task } }));
    expect(JSON.parse(text)).toEqual({ method: 'tasks/get', params: { taskId: value } });
  });

  test.each([
    ['another person’s', askedFor(boundTask('a', bob))],
    ['the upstream’s own', askedFor('a')],
    ['one that looks bound', askedFor(`YQ.${'A'.repeat(22)}`)],
    ['one with something behind', askedFor(`${boundTask('a')}\n`)],
    ['a session', askedFor(sessions.bind('a', alice.owner))],
    ['a task as state', JSON.stringify({ method: 'tools/call', params: { requestState: boundTask('a') } })],
  ])('%s is refused', (_, text) => {
    expect(() => unbound(text)).toThrow(expect.objectContaining({ reason: 'handle.unknown', messageId: 1 }));
  });

  test('accepts an escaped spelling of the same handle', () => {
    const escaped = boundTask('a').replace('Y', String.raw`\u0059`);
    expect(unbound(`{"method":"tasks/get","params":{"task\\u0049d":"${escaped}"}}`).text).toBe(
      String.raw`{"method":"tasks/get","params":{"task\u0049d":"a"}}`,
    );
  });

  test('binds only the given tasks, and any state', () => {
    const text = '{"result":{"taskId":"a","task":{"taskId":"b"},"requestState":"c"}}';
    const { result } = JSON.parse(binding.bindAll(text, alice, new Map([['b', {}]])) ?? '') as {
      result: object;
    };
    expect(result).toEqual({
      taskId: 'a',
      task: { taskId: boundTask('b') },
      requestState: expect.stringMatching(/^[\da-z]{8}\.Yw\./),
    });
    expect(binding.bindAll('{"result":{"taskId":"a"}}', alice, new Map())).toBeUndefined();
  });

  test('keeps the counted call that each handle came from', () => {
    const text = '{"result":{"taskId":"a","task":{"taskId":"b"},"requestState":"a"}}';
    const made = (counted: string | undefined): readonly unknown[] => {
      const tasks = new Map([['a', { counted: 'c1' }] as const, ['b', {}] as const]);
      const { result } = JSON.parse(binding.bindAll(text, { ...alice, counted }, tasks) ?? '') as {
        result: { taskId: string; task: { taskId: string }; requestState: string };
      };
      const related = { 'io.modelcontextprotocol/relatedTaskIds': [result.task.taskId] };
      const about = { method: 'tasks/get', params: { taskId: result.taskId, _meta: related } };
      const next = { method: 'tools/call', params: { requestState: result.requestState } };
      const continued = unbound(JSON.stringify(next));
      return [unbound(JSON.stringify(about)).tasks, continued.continues, JSON.parse(continued.text)];
    };
    const state = { method: 'tools/call', params: { requestState: 'a' } };
    const withCounted = new Map([
      ['a', { counted: 'c1' }],
      ['b', { counted: 'c9' }],
    ]);
    expect(made('c9')).toEqual([withCounted, 'c9', state]);
    expect(made(undefined)).toEqual([
      new Map([['a', { counted: 'c1' }] as const, ['b', {}] as const]),
      undefined,
      state,
    ]);
  });

  test.each([undefined, 'c1'])('keeps the tool whose call created a task, counted as %s', (counted) => {
    const tool = 'pay.all ü';
    const text = binding.bindAll('{"result":{"taskId":"a"}}', { ...alice, counted, tool }, undefined) ?? '';
    const { taskId } = (JSON.parse(text) as { result: { taskId: string } }).result;
    const asked = unbound(askedFor(taskId));
    expect(asked.tasks).toEqual(new Map([['a', { counted, tool }]]));
    const again = binding.bindAll('{"result":{"taskId":"a"}}', alice, asked.tasks) ?? '';
    expect(JSON.parse(again)).toEqual({ result: { taskId } });
  });

  describe('requestState', () => {
    const call = JSON.stringify({ method: 'tools/call', params: { requestState: stateOf('s') } });
    const later = (ms: number): void => void (now = Date.UTC(2026, 10, 22) + ms);
    afterEach(() => later(0));

    test('is accepted in the request that it belongs to', () => {
      expect(unbound(call).text).toBe(JSON.stringify({ method: 'tools/call', params: { requestState: 's' } }));
    });

    test.each([
      ['another tool', by('alice', 'tools/call', 'read')],
      ['another method', by('alice', 'prompts/get')],
      ['another kind', { ...alice, targets: [{ kind: 'prompt', name: 'pay' }] } as const],
      ['a request that names nothing', { ...alice, targets: [] }],
      ['another person', bob],
    ])('is refused in %s', (_, context) => {
      expect(() => unbound(call, context)).toThrow(expect.objectContaining({ reason: 'handle.unknown', messageId: 1 }));
    });

    test('expires after ten minutes', () => {
      later(10 * 60 * 1000 - 1);
      expect(unbound(call).text).toContain('"s"');
      later(10 * 60 * 1000);
      expect(() => unbound(call)).toThrow(expect.objectContaining({ reason: 'handle.unknown' }));
    });

    test('is bound again in each round', () => {
      later(9 * 60 * 1000);
      const round = JSON.stringify({ method: 'tools/call', params: { requestState: stateOf('s') } });
      later(18 * 60 * 1000);
      expect(unbound(round).text).toContain('"s"');
    });
  });

  test('a task id is bound to no request and does not expire', () => {
    const task = boundTask('a');
    now += 10 * 365 * 24 * 3600 * 1000;
    expect(unbound(askedFor(task), by('alice', 'tasks/get', 'x')).text).toBe(askedFor('a'));
    now = Date.UTC(2026, 10, 22);
  });

  test('binds the handles of a batch', () => {
    expect(binding.bindAll(batch('a'), alice, undefined)).toBe(batch(boundTask('a')));
  });

  test.each([
    '',
    '{',
    '[]',
    'null',
    '"taskId"',
    '{"result":{"content":[{"taskId":"x"}]}}',
    '{"result":{"taskId":"\\ud800"}}',
  ])('%s has none', (text) => expect(binding.bindAll(text, alice, undefined)).toBeUndefined());

  test('leaves the id of a task that the client runs itself in its response', () => {
    expect(unbound(answered('own')).text).toBe(answered('own'));
    expect(unbound(answered(boundTask('a'))).text).toBe(answered('a'));
  });

  test.each([
    ['a b', 'a b'],
    ['a é', '=?base64?YSDDqQ==?='],
  ])('Mcp-Name of %j', (task, field) => expect(unbound(askedFor(boundTask(task))).mcpName).toBe(field));

  test('Mcp-Name repeats the task that a request acts on, whatever else the request presents', () => {
    const given = JSON.parse(binding.bindAll('{"result":{"requestState":"s"}}', alice, undefined) ?? '') as {
      result: { requestState: string };
    };
    const params = { taskId: boundTask('a'), requestState: given.result.requestState };
    expect(unbound(JSON.stringify({ method: 'tasks/get', params })).mcpName).toBe('a');
    const { requestState } = params;
    expect(unbound(JSON.stringify({ method: 'tools/call', params: { requestState } })).mcpName).toBeUndefined();
  });

  const place = constantFrom('params', 'result', 'taskId', '_meta', 'task', 'notifications', 'requestState', 'tasks');
  const method = constantFrom('tasks/get', 'tools/call', 'notifications/tasks', undefined);
  property(
    'never throws anything but a Denial or a SyntaxError',
    [array(place, { maxLength: 5 }), jsonValue(), json(), method],
    (path, value, text, method) => {
      const message = path.toReversed().reduce<unknown>((inner, key) => ({ [key]: inner, x: value }), value);
      const whole = JSON.stringify(typeof message === 'object' ? { method, ...message } : { method });
      try {
        binding.bindAll(text, alice, undefined);
        binding.bindAll(whole, alice, undefined);
        unbound(whole);
      } catch (error) {
        if (!(error instanceof Denial || error instanceof SyntaxError)) throw error;
      }
    },
  );
});
