import { beforeEach, describe, expect, test } from 'vitest';
import type { AnswerChanges, AnswerFilter } from '../../src/core/gateway/forward/answer-messages.ts';
import type { ResponseHeaders } from '../../src/core/gateway/forward/response-headers.ts';
import type { Call } from '../../src/core/model/call.ts';
import { Denial } from '../../src/core/model/denial.ts';
import type { Action, AskAboutList, Grant } from '../../src/core/model/grant.ts';
import type { CountedCall } from '../../src/core/model/history.ts';
import type { AnswerPart } from '../../src/core/model/on-route.ts';
import type { Attempt, McpTarget, Policy } from '../../src/core/model/policy.ts';
import type { Principal } from '../../src/core/model/principal.ts';
import type { Route } from '../../src/core/model/route.ts';
import { answerFilter, type FilterParts } from '../../src/mcp/answer-filter.ts';
import { createToolHeaders, type ToolHeaders } from '../../src/mcp/tool-headers.ts';
import { alice, call, message } from '../core/policy/caller.ts';

const theCall = { id: 'call' } as Call;
let toolHeaders: ToolHeaders;
/** What the bindings were asked, and how counted calls were settled. */
let bound: unknown[];
let settled: unknown[];
beforeEach(() => {
  toolHeaders = createToolHeaders();
  [bound, settled] = [[], []];
});

const counted = { id: 'counted', settle: (...given: unknown[]) => settled.push(given) } as unknown as CountedCall;
/** A policy by which callers see no tool that is hidden. */
const policy = {
  lists: 'filter',
  couldCall: (_principal: Principal, { name }: McpTarget) => name !== 'hidden',
} as Policy;

interface Given extends Partial<FilterParts> {
  readonly attempt?: Attempt;
  readonly action?: Partial<Action>;
  readonly policy?: Partial<Policy>;
  readonly counted?: CountedCall | undefined;
  readonly principal?: Principal | undefined;
}

const route = { name: 'tools' } as Route;

function filterOf({ attempt = call('pay'), action, counted: held, ...given }: Given = {}): AnswerFilter {
  const { policy: own, principal = alice, ...parts } = given;
  const grant = { principal, action: { era: 'legacy', messageId: 1, attempt, mayYieldHandle: false, ...action } };
  const bindings: FilterParts['bindings'] = {
    giveHandles(text, of, origin) {
      bound.push([of, origin]);
      return text.includes('theirs') ? text.replaceAll('theirs', 'ours') : undefined;
    },
    giveEventIds(of, ...session) {
      bound.push([of, ...session]);
      return (id) => `<${id}>`;
    },
  };
  return answerFilter(
    { ...route, policy: own } as Route,
    { call: theCall, grant: grant as unknown as Grant, counted: held },
    { bindings, toolHeaders, answers: [], askAboutList: undefined, ...parts },
  );
}

const json = { isJson: true } as ResponseHeaders;
const events = { isEventStream: true } as ResponseHeaders;
const compressed = { isJson: true, isEncoded: true } as ResponseHeaders;
const compressedEvents = { isEventStream: true, isEncoded: true } as ResponseHeaders;
const plain = {} as ResponseHeaders;

/** What a client gets of an answer. */
function sent({ choose }: AnswerChanges, text: string, answer = json, status = 200): string {
  const filter = choose(answer, status);
  if (filter === undefined) return 'as it came';
  return Buffer.concat([...filter.push(Buffer.from(text)), ...filter.end()]).toString();
}

const result = (members: object, id: unknown = 1): string => JSON.stringify({ jsonrpc: '2.0', id, result: members });
const event = (text: string): string => `data: ${text}\n\n`;
const toolsOf = (...names: readonly string[]): string => result({ tools: names.map((name) => ({ name })) });
const invalid = expect.objectContaining({ reason: 'upstream.invalid' }) as Denial;
const modern = { era: 'modern' } as const;
const list = message('tools/list');
/** The stream that a GET opens, which may resume any other. */
const opened = message(undefined);
const http = { kind: 'http' } as const;

/** A capability that puts another word in the place of one, and notes what it read. */
function replacing(does: AnswerPart['does'], from: string, to: string): AnswerPart & { readonly read: unknown[] } {
  const read: unknown[] = [];
  return {
    does,
    read,
    take(text, action) {
      read.push([text, action.messageId]);
      return text.includes(from) ? text.replaceAll(from, to) : undefined;
    },
  };
}

describe('an answer that needs nothing', () => {
  test.each<[string, Given]>([
    ['of a call of a tool', {}],
    ['of MCP 2026-07-28', { action: modern }],
    ['under a policy that filters lists', { policy }],
    ['where lists are reported', { policy, onWithheld: () => {} }],
    ['where a decision point is asked about lists', { policy, askAboutList: () => Promise.resolve([]) }],
    ['of a list that is shown', { policy: { lists: 'show' }, attempt: message('prompts/list') }],
    ['of a list on a route without a policy', { attempt: message('prompts/list') }],
    ['of no message', { policy, attempt: http }],
  ])('passes unread, in any encoding: %s', (_what, given) => {
    const filter = filterOf(given);
    expect(filter).toMatchObject({ rewrites: false, acceptEncoding: undefined, ofErrors: undefined });
    for (const answer of [json, compressed, compressedEvents, plain]) {
      expect(sent(filter, toolsOf('hidden'), answer)).toBe('as it came');
    }
  });
});

describe('a list', () => {
  test.each<[string, Attempt]>([
    ['of tools', list],
    ['of prompts', message('prompts/list')],
    ['in a stream that may resume any other', opened],
  ])('%s shows what the policy allows', (_what, attempt) => {
    const filter = filterOf({ policy, attempt });
    expect(filter).toMatchObject({ rewrites: true, acceptEncoding: 'identity', ofErrors: undefined });
    expect(sent(filter, toolsOf('a', 'hidden'))).toBe(toolsOf('a'));
    expect(sent(filter, event(toolsOf('a', 'hidden')), events)).toBe(event(toolsOf('a')));
  });

  test.each([
    ['compressed JSON', compressed],
    ['compressed events', compressedEvents],
    ['another type', plain],
  ])('as %s is refused, and an answer without a body is not', (_what, answer) => {
    const filter = filterOf({ policy, attempt: list });
    expect(() => sent(filter, toolsOf('a'), answer)).toThrow(invalid);
    expect(sent(filter, 'Accepted', answer, 202)).toBe('');
  });

  test('that is no JSON is refused', () => {
    expect(() => sent(filterOf({ policy, attempt: list }), '{"tools"')).toThrow(SyntaxError);
  });

  test('in a stream ends it with a refusal if it cannot be read, unless the answer follows', () => {
    const broken = event('{"result":{"tools":[');
    const through = (text: string, action: Partial<Action> = {}): string =>
      sent(filterOf({ policy, attempt: list, action }), text, events);
    expect(() => through(broken)).toThrow(invalid);
    expect(() => through(broken + event(result({}, 2)))).toThrow(invalid);
    expect(() => through(broken + event('{"jsonrpc":"2.0","method":"\\"result\\""}'))).toThrow(invalid);
    expect(through(broken + event(result({})))).toBe(event(result({})));
    expect(through(broken, { messageId: null })).toBe('');
  });

  test('without a principal is a bug', () => {
    const grant = { principal: undefined, action: { attempt: list } } as unknown as Grant;
    const parts = { bindings: {} as FilterParts['bindings'], toolHeaders, answers: [], askAboutList: undefined };
    expect(() => answerFilter({ policy } as Route, { call: theCall, grant, counted: undefined }, parts)).toThrow(
      'without policy or principal',
    );
  });
});

describe('the headers that tools declare', () => {
  const inputSchema = { properties: { region: { 'x-mcp-header': 'Region' } } };
  const declaring = result({ tools: [{ name: 'hidden', inputSchema }] });

  test.each<[string, Given]>([
    ['that is filtered', { policy }],
    ['that is shown', {}],
  ])('are learnt of all tools from a list %s', (_what, given) => {
    const filter = filterOf({ ...given, attempt: list });
    expect(filter.acceptEncoding).toBe('identity');
    sent(filter, declaring);
    expect(toolHeaders.of('hidden')).toHaveLength(1);
    sent(filter, toolsOf('hidden'));
    expect(toolHeaders.of('hidden')).toEqual([]);
  });

  test('are learnt from a list that passes as it came, in pieces', () => {
    const filter = filterOf({ attempt: list });
    const found = filter.choose(json, 200);
    const [first, second] = [declaring.slice(0, 9), declaring.slice(9)].map((part) => Buffer.from(part));
    expect([found?.push(first as Buffer), found?.push(second as Buffer)]).toEqual([[first], [second]]);
    expect(found?.end()).toEqual([]);
    expect(toolHeaders.of('hidden')).toHaveLength(1);
    expect(sent(filter, '{"x-mcp-header"')).toBe('{"x-mcp-header"');
    expect(sent(filter, declaring, compressed)).toBe('as it came');
  });

  test.each<[string, Attempt]>([
    ['another list', message('prompts/list')],
    ['a call', call('pay')],
    ['a stream', opened],
  ])('are not learnt from the answer to %s', (_what, attempt) => {
    for (const given of [{}, { policy }]) sent(filterOf({ ...given, attempt }), declaring);
    expect(toolHeaders.of('hidden')).toEqual([]);
  });
});

describe('with a decision point', () => {
  const asking = (answers: readonly boolean[]) => {
    const asked: unknown[] = [];
    const askAboutList: AskAboutList = (of, grant, entries) => {
      asked.push([of, grant.principal, entries.map(({ name }) => name)]);
      return Promise.resolve(answers);
    };
    return { asked, askAboutList };
  };

  test.each([
    ['JSON', json, (text: string) => text],
    ['events', events, event],
  ])('a list as %s shows what policy and point allow', async (_what, answer, written) => {
    const { asked, askAboutList } = asking([false, true]);
    const filter = filterOf({ policy, attempt: list, askAboutList }).choose(answer, 200);
    const chunk = Buffer.from(written(toolsOf('a', 'hidden', 'b')));
    await filter?.prepare?.(chunk);
    const first = filter?.push(chunk) ?? [];
    await filter?.prepare?.(undefined);
    expect(Buffer.concat([...first, ...(filter?.end() ?? [])]).toString()).toBe(written(toolsOf('b')));
    expect(asked).toEqual([[theCall, alice, ['a', 'b']]]);
  });

  test('a list that is shown needs no answer of it', () => {
    const { askAboutList } = asking([]);
    for (const given of [{ policy: { lists: 'show' } as const }, {}]) {
      const filter = filterOf({ ...given, attempt: list, askAboutList }).choose(json, 200);
      expect(filter).toBeDefined();
      expect(filter?.prepare).toBeUndefined();
    }
    expect(filterOf({ policy, attempt: list }).choose(json, 200)?.prepare).toBeUndefined();
  });

  test('an unreadable list is refused', () => {
    const { askAboutList } = asking([]);
    const filter = filterOf({ policy, attempt: list, askAboutList });
    expect(() => sent(filter, toolsOf('a'), compressed)).toThrow(invalid);
    expect(sent(filter, 'Accepted', plain, 202)).toBe('');
  });
});

describe('lists of tasks', () => {
  const tasks = result({ tasks: [{ taskId: 't' }] });
  const none = result({ tasks: [] });

  test('are emptied, and must be readable, in the answer to tasks/list', () => {
    for (const given of [{ policy }, {}]) {
      const filter = filterOf({ ...given, attempt: message('tasks/list') });
      expect(filter).toMatchObject({ rewrites: true, acceptEncoding: 'identity' });
      expect(sent(filter, tasks)).toBe(none);
      expect(() => sent(filter, '{"tasks"')).toThrow(SyntaxError);
      expect(() => sent(filter, tasks, compressed)).toThrow(invalid);
    }
  });

  test.each<[string, Attempt]>([
    ['another request about tasks', message('tasks/get')],
    ['a stream', opened],
  ])('are emptied where they can be read, in the answer to %s', (_what, attempt) => {
    const filter = filterOf({ attempt });
    expect(filter).toMatchObject({ rewrites: true, acceptEncoding: 'identity' });
    expect(sent(filter, tasks)).toBe(none);
    expect(sent(filter, '{"tasks", "taskId"')).toBe('{"tasks", "taskId"');
    expect(() => sent(filter, '{"result":{"Tasks":[],"tasks":[{"taskId":"t"}]}}')).toThrow(invalid);
    expect(sent(filter, tasks, compressed)).toBe('as it came');
  });

  test('stay in other answers, of which clients read none', () => {
    for (const attempt of [call('pay'), list, http]) expect(filterOf({ attempt }).rewrites).toBe(false);
  });
});

describe('MCP 2026-07-28 §Caching: a result that depends on the caller', () => {
  const distinguishing = { lists: 'show', distinguishesCallers: true } as const;
  const said = result({ contents: [], cacheScope: 'public' });
  const own = result({ contents: [], cacheScope: 'private' });

  test.each<[string, Given]>([
    ['by its policy', { policy: distinguishing, attempt: message('resources/read') }],
    ['by its decision point', { askAboutList: () => Promise.resolve([]), attempt: message('prompts/list') }],
    ['by both', { policy, askAboutList: () => Promise.resolve([]), attempt: message('resources/read') }],
  ])('%s is private, and readable', (_what, given) => {
    const filter = filterOf({ ...given, action: modern });
    expect(filter).toMatchObject({ rewrites: true, acceptEncoding: 'identity' });
    expect(sent(filter, said)).toBe(own);
    expect(sent(filter, event(said), events)).toBe(event(own));
    for (const answer of [compressed, compressedEvents]) expect(() => sent(filter, said, answer)).toThrow(invalid);
  });

  test.each<[string, Given]>([
    ['of which caches keep none', { policy: distinguishing, action: modern }],
    ['of an earlier revision', { policy: distinguishing, attempt: message('resources/read') }],
    ['by no rule', { policy: { lists: 'show' }, action: modern, attempt: message('resources/read') }],
    ['without a policy', { action: modern, attempt: message('resources/read') }],
    ['of no message', { policy: distinguishing, action: modern, attempt: http }],
  ])('%s stays as it is', (_what, given) => {
    expect(filterOf(given).rewrites).toBe(false);
    expect(sent(filterOf(given), said)).toBe('as it came');
  });

  test('is filtered first', () => {
    const filter = filterOf({ policy: { ...policy, distinguishesCallers: true }, attempt: list, action: modern });
    const tools = (cacheScope: string, ...names: readonly string[]): string =>
      result({ tools: names.map((name) => ({ name })), cacheScope });
    expect(sent(filter, tools('public', 'a', 'hidden'))).toBe(tools('private', 'a'));
  });
});

describe('the handles of an answer', () => {
  const action = { mayYieldHandle: true };
  const theirs = result({ task: { taskId: 'theirs' } });

  test('are bound to the caller, where they can be read', () => {
    const filter = filterOf({ action });
    expect(filter).toMatchObject({ rewrites: true, acceptEncoding: 'identity' });
    expect(sent(filter, theirs)).toBe(theirs.replace('theirs', 'ours'));
    expect(sent(filter, result({ content: ['theirs'] }))).toBe(result({ content: ['theirs'] }));
    expect(sent(filter, theirs, compressed)).toBe('as it came');
    expect(sent(filter, theirs, plain, 202)).toBe('as it came');
    const ofTask = filterOf({ attempt: message('tasks/get'), action });
    expect(sent(ofTask, theirs, compressed)).toBe('as it came');
    const ofList = filterOf({ attempt: list, policy, action });
    expect(() => sent(ofList, theirs, compressed)).toThrow(invalid);
  });

  test('name the counted call, and its tool where results are judged', () => {
    const judging: AnswerPart = { ...replacing('reads', 'x', 'y'), judges: () => false };
    const origins = [{}, { counted }, { answers: [judging] }, { counted, answers: [judging, judging] }].map((given) => {
      bound = [];
      sent(filterOf({ ...given, action }), theirs);
      return bound;
    });
    const grant = expect.objectContaining({ principal: alice }) as Grant;
    expect(origins).toEqual([
      [[grant, { counted: undefined, tool: undefined }]],
      [[grant, { counted: 'counted', tool: undefined }]],
      [[grant, { counted: undefined, tool: 'pay' }]],
      [[grant, { counted: 'counted', tool: 'pay' }]],
    ]);
  });

  test('are bound after the lists and the tasks of the message', () => {
    const filter = filterOf({ policy, attempt: opened, action });
    const messages = (...found: readonly object[]): string =>
      JSON.stringify(found.map((each) => ({ id: 1, result: each })));
    expect(
      sent(filter, messages({ tools: [{ name: 'hidden' }] }, { tasks: [{ taskId: 'theirs' }] }, { taskId: 'theirs' })),
    ).toBe(messages({ tools: [] }, { tasks: [] }, { taskId: 'ours' }));
  });
});

describe('the ids of events', () => {
  const stream = 'id: 1\ndata: {}\n\n';
  const judging: AnswerPart = { ...replacing('reads', 'x', 'y'), judges: () => false };

  test.each<[string, Given, ResponseHeaders, readonly unknown[]]>([
    ['without a session', {}, events, [undefined, false]],
    ['in the session of the call', { action: { sessionId: 's' } }, events, ['s', false]],
    [
      'in the session that the answer begins',
      { action: { sessionId: 's' } },
      { ...events, sessionId: 'n' },
      ['n', false],
    ],
    ['where results are judged', { answers: [judging] }, events, [undefined, true]],
  ])('are bound %s', (_what, given, answer, session) => {
    expect(sent(filterOf(given), stream, answer)).toBe(stream.replace('1', '<1>'));
    expect(bound).toEqual([[expect.objectContaining({ principal: alice }), ...session]]);
  });

  test('stay as they are where no client resumes a stream', () => {
    expect(sent(filterOf({ action: modern }), stream, events)).toBe('as it came');
    expect(sent(filterOf({}), stream, compressedEvents)).toBe('as it came');
  });

  test.each<[string, Given, 'identity' | undefined]>([
    ['in a session', { action: { sessionId: 's' } }, 'identity'],
    ['that begins a session', { attempt: message('initialize') }, 'identity'],
    ['that begins none', { attempt: message('ping') }, undefined],
    ['of MCP 2026-07-28', { attempt: message('initialize'), action: modern }, undefined],
    ['of no message', { attempt: http }, undefined],
    ['without a method', { attempt: opened }, 'identity'],
  ])('are readable if the client may resume the stream %s', (_what, given, encoding) => {
    expect(filterOf(given).acceptEncoding).toBe(encoding);
  });
});

describe('a counted call', () => {
  test('is settled by its answer, which waits until it is complete', () => {
    const filter = filterOf({ counted });
    expect(filter).toMatchObject({ rewrites: false, acceptEncoding: 'identity' });
    expect(filter.choose(json, 200)?.push(Buffer.from('{'))).toEqual([]);
    expect(sent(filter, result({}))).toBe(result({}));
    expect(settled).toEqual([['answered', expect.any(String)]]);
    expect(sent(filter, event(result({ isError: true })), events)).toBe(event(result({ isError: true })));
    expect(settled.slice(1)).toEqual([['returned', expect.any(String)]]);
  });

  test('stays counted if its answer cannot be read, which passes', () => {
    for (const answer of [compressed, plain]) {
      expect(sent(filterOf({ counted }), result({}), answer)).toBe('as it came');
      const ofList = filterOf({ counted, policy, attempt: list });
      expect(() => sent(ofList, result({}), answer)).toThrow(invalid);
      expect(ofList.choose(answer, 200)?.end()).toEqual([]);
    }
    expect(settled).toEqual([]);
  });

  test('is not settled by an answer that the gateway refuses later', () => {
    const filter = filterOf({ counted, policy, attempt: list });
    expect(() => sent(filter, '{"id":1,"result":{"Tools":[]}}')).toThrow(invalid);
    expect(settled).toEqual([]);
  });

  test('is settled by what a guard leaves of its answer', () => {
    const filter = filterOf({ counted, answers: [replacing('guards', '"isError":true', '"isError":false')] });
    sent(filter, result({ isError: true }));
    expect(settled).toEqual([['answered', expect.any(String)]]);
  });

  test.each<[string, Denial | Error, Partial<Action>, readonly unknown[]]>([
    [
      'that names it',
      new Denial('upstream.invalid', 'x', { messageId: 1 }),
      {},
      [['returned', 'the gateway refused the answer']],
    ],
    ['that names another', new Denial('upstream.invalid', 'x', { messageId: 2 }), {}, []],
    ['that names none', new Denial('upstream.invalid', 'x', { messageId: null }), { messageId: null }, []],
    ['of another kind', Object.assign(new TypeError('x'), { messageId: 1 }), {}, []],
  ])('is refunded for a refusal of its answer %s', (_what, error, action, expected) => {
    const refusing: AnswerPart = {
      does: 'guards',
      take: () => {
        throw error;
      },
    };
    for (const held of [counted, undefined]) {
      expect(() => sent(filterOf({ counted: held, action, answers: [refusing] }), result({}))).toThrow(error);
    }
    expect(settled).toEqual(expected);
  });
});

describe('a capability', () => {
  test('that reads takes note of every message, which passes as it came', () => {
    const [one, other] = [replacing('reads', 'a', 'b'), replacing('reads', 'c', 'd')];
    const filter = filterOf({ answers: [one, other] });
    expect(filter).toMatchObject({ rewrites: false, acceptEncoding: 'identity', ofErrors: undefined });
    expect(sent(filter, result({ a: 1 }))).toBe(result({ a: 1 }));
    expect(sent(filter, event(result({ c: 1 })), events)).toBe(event(result({ c: 1 })));
    expect(one.read).toEqual([
      [result({ a: 1 }), 1],
      [result({ c: 1 }), 1],
    ]);
    expect(other.read).toEqual(one.read);
    expect(sent(filter, result({ a: 1 }), compressed)).toBe('as it came');
  });

  test('that guards may change every message, which must be readable', () => {
    const [one, other] = [replacing('guards', 'a', 'b'), replacing('guards', 'b', 'c')];
    const filter = filterOf({ answers: [one, other] });
    expect(filter).toMatchObject({ rewrites: true, acceptEncoding: 'identity' });
    expect(sent(filter, '{"a":1}')).toBe('{"c":1}');
    expect(other.read).toEqual([['{"b":1}', 1]]);
    expect(sent(filter, '{"b":1}')).toBe('{"c":1}');
    expect(sent(filter, '{"x":1}')).toBe('{"x":1}');
    expect(() => sent(filter, '{"a":1}', compressed)).toThrow(invalid);
    expect(sent(filter, 'Accepted', plain, 202)).toBe('');
  });

  test('that guards changes a list before it is filtered', () => {
    const filter = filterOf({ policy, attempt: list, answers: [replacing('guards', '"a"', '"hidden"')] });
    expect(sent(filter, toolsOf('a', 'b'))).toBe(toolsOf('b'));
  });

  test('that guards changes errors too, in which some clients find lists', () => {
    const changes = filterOf({ answers: [replacing('guards', 'a', 'b')] }).ofErrors as AnswerChanges;
    expect(changes.rewrites).toBe(true);
    expect(sent(changes, '{"a":1}', json, 400)).toBe('{"b":1}');
    expect(sent(changes, event('{"a":1}'), events, 400)).toBe(event('{"b":1}'));
    expect(sent(changes, 'a', plain, 400)).toBe('as it came');
    expect(() => sent(changes, '{"a":1}', compressed, 400)).toThrow(invalid);
    expect(() => sent(changes, 'data: {\n', events, 400)).toThrow(invalid);
  });

  test('is not asked about errors if it only reads', () => {
    expect(filterOf({ answers: [replacing('reads', 'a', 'b')], policy, attempt: list }).ofErrors).toBeUndefined();
  });
});

describe('an event of more than 8 MiB that must be read', () => {
  const long = (id: unknown): string => event(result({ content: 'x'.repeat(8 * 1024 * 1024) }, id));
  const guards = replacing('guards', 'a', 'b');
  const passes = (given: Given, id: unknown): boolean => {
    const filter = filterOf({ answers: [guards], ...given, action: { ...modern, ...given.action } });
    try {
      return sent(filter, long(id), events) === long(id);
    } catch (error) {
      expect(error).toEqual(invalid);
      return false;
    }
  };

  test.each<[string, Given, boolean]>([
    ['the answer to a call passes', {}, true],
    [
      'the answer to a call passes if its result is not judged',
      { answers: [{ ...guards, judges: () => false }] },
      true,
    ],
    ['a result that is judged does not', { answers: [guards, { ...guards, judges: () => true }] }, false],
    ['a list does not', { attempt: list }, false],
    ['an answer to another id does not', { action: { messageId: 2 } }, false],
    ['an answer to an id that JavaScript cannot represent does not', { action: { messageId: {} } }, false],
    ['no message of a stream does', { attempt: http }, false],
  ])('%s', (_what, given, expected) => expect(passes(given, 1)).toBe(expected));

  test('an answer to a message that gets none does not', () => {
    expect(passes({ action: { messageId: null } }, null)).toBe(false);
  });
});

describe('a report of what a caller does not get of a list', () => {
  /** The reports on what is sent. */
  function reported(given: Given, text: string, answer = json): readonly unknown[] {
    const reports: unknown[] = [];
    const filter = filterOf({
      policy,
      attempt: list,
      onWithheld: (...report) => reports.push(report),
      ...given,
    });
    sent(filter, text, answer);
    return reports.map((report) => {
      const [of, { name }, shown] = report as [Call, Route, object];
      expect([of, name]).toEqual([theCall, 'tools']);
      return shown;
    });
  }
  const locked = replacing('guards', '{"name":"bad"},', '');

  test.each<[string, Given, readonly string[], object]>([
    ['policy', {}, ['a', 'hidden', 'b'], { shown: 2, withheld: ['hidden'], by: ['policy'] }],
    ['lock', { answers: [locked] }, ['bad', 'a'], { shown: 1, withheld: ['bad'], by: ['lock'] }],
    [
      'lock alone',
      { policy: { lists: 'show' }, answers: [locked] },
      ['bad', 'hidden'],
      { shown: 1, withheld: ['bad'], by: ['lock'] },
    ],
    [
      'both',
      { answers: [locked] },
      ['bad', 'hidden', 'a', 'a'],
      { shown: 2, withheld: ['bad', 'hidden'], by: ['policy', 'lock'] },
    ],
    [
      'decision point, which has not answered',
      { askAboutList: () => Promise.resolve([]) },
      ['a', 'hidden'],
      { shown: 0, withheld: ['a', 'hidden'], by: ['policy', 'decision_point'] },
    ],
    [
      'decision point alone',
      { askAboutList: () => Promise.resolve([]) },
      ['a'],
      { shown: 0, withheld: ['a'], by: ['decision_point'] },
    ],
  ])('names it, by: %s', (_what, given, names, report) => {
    expect(reported(given, toolsOf(...names))).toEqual([{ method: 'tools/list', more: 0, ...report }]);
  });

  test('tells two entries of one name apart by their kinds', () => {
    const named = {
      lists: 'filter',
      couldCall: (_principal: Principal, { kind }: McpTarget) => kind !== 'tool',
    } as Policy;
    const both = result({ tools: [{ name: 'a' }], prompts: [{ name: 'a' }, { name: 'b' }] });
    expect(reported({ policy: named }, both)).toMatchObject([{ shown: 2, withheld: ['a'], by: ['policy'] }]);
  });

  test('has no method in a stream, nor where no message was sent', () => {
    expect(reported({ attempt: opened }, event(toolsOf('hidden')), events)).toMatchObject([{ method: undefined }]);
    expect(reported({ attempt: http, answers: [locked] }, toolsOf('bad', 'a'))).toMatchObject([{ method: undefined }]);
  });

  test('names 64 entries, each by 128 characters, and counts the others', () => {
    const names = Array.from({ length: 66 }, (_, index) => `${'x'.repeat(127)}${index}`);
    const none = { lists: 'filter', couldCall: () => false } as unknown as Policy;
    const cut = names.slice(0, 64).map((name) => name.slice(0, 128));
    expect(reported({ policy: none }, toolsOf(...names))).toMatchObject([{ shown: 0, withheld: cut, more: 2 }]);
  });

  test.each<[string, Given, string]>([
    ['a list that is shown as it is', {}, toolsOf('a')],
    ['a list that is only written anew', {}, toolsOf('a').replace('[', '[ ')],
    ['a message without a list', {}, result({})],
    ['a list of no names', {}, result({ tools: [{}] })],
    ['a message without a list that a guard changes', { answers: [replacing('guards', 'x', 'y')] }, '{"x":1}'],
    [
      'a list that a guard changes',
      { answers: [replacing('guards', 'x', 'y')] },
      result({ x: 1, tools: [{ name: 'a' }] }),
    ],
  ])('is not made of %s', (_what, given, text) => expect(reported(given, text)).toEqual([]));

  test('changes nothing of what the caller gets', () => {
    for (const onWithheld of [() => {}, undefined]) {
      const given = { onWithheld, answers: [locked], attempt: list };
      expect(sent(filterOf({ ...given, policy }), toolsOf('bad', 'hidden', 'a'))).toBe(toolsOf('a'));
      expect(sent(filterOf({ ...given, policy }), toolsOf('bad', 'a'))).toBe(toolsOf('a'));
      expect(sent(filterOf(given), toolsOf('bad', 'hidden'))).toBe(toolsOf('hidden'));
      expect(sent(filterOf({ ...given, policy }), result({ x: 1 }))).toBe(result({ x: 1 }));
      for (const own of [policy, undefined])
        expect(() => sent(filterOf({ ...given, policy: own as Policy }), toolsOf('a'), compressed)).toThrow(invalid);
      expect(() => sent(filterOf({ onWithheld, attempt: list, policy }), toolsOf('a'), compressed)).toThrow(invalid);
    }
  });
});
