import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { filteredMessage, listedFromStart, listedTargets, mayListTasks, withoutTasks } from '../../src/mcp/lists.ts';
import { mcpMethod } from '../../src/core/model/mcp.ts';
import type { McpTarget } from '../../src/core/model/policy.ts';
import { message as listing } from '../core/policy/caller.ts';

const visible = ({ name }: McpTarget): boolean => !name.includes('hidden');
const message = (result: object): string => JSON.stringify({ jsonrpc: '2.0', id: 1, result });

describe('filteredMessage', () => {
  test.each([
    ['tools/list', 'tools', 'name', 'tool'],
    ['resources/list', 'resources', 'uri', 'resource'],
    ['resources/templates/list', 'resourceTemplates', 'uriTemplate', 'template'],
    ['prompts/list', 'prompts', 'name', 'prompt'],
  ])('%s: removes the entries that are not visible', (method, member, name, kind) => {
    expect(mcpMethod(method).list).toEqual({ member, name, kind });
    const text = message({ [member]: [{ [name]: 'a' }, { [name]: 'hidden' }, { [name]: 'b' }], nextCursor: 'c' });
    const left = message({ [member]: [{ [name]: 'a' }, { [name]: 'b' }], nextCursor: 'c' });
    expect(filteredMessage(text, visible)).toBe(left);
    expect(listedTargets(text)).toEqual(['a', 'hidden', 'b'].map((each) => ({ kind, name: each })));
  });

  test.each([
    ['a list where all is visible', message({ tools: [{ name: 'a' }] })],
    ['a private list', message({ tools: [{ name: 'a' }], cacheScope: 'private' })],
    ['another result', message({ content: [], cacheScope: 'public' })],
    ['a list of tasks, on which no policy decides', message({ tasks: [{ taskId: 'hidden' }, {}] })],
    ['an error', '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"hidden"}}'],
    ['a notification', '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'],
  ])('%s is not changed', (_, text) => {
    expect(filteredMessage(text, visible)).toBeUndefined();
  });

  test('removes an entry without a name, on which no policy can decide', () => {
    expect(filteredMessage(message({ tools: [{}, 1, null, { name: 1 }] }), visible)).toBe(message({ tools: [] }));
  });

  test('a public list becomes private, on every page', () => {
    const text = message({ tools: [{ name: 'a' }], cacheScope: 'public', ttlMs: 5 });
    expect(filteredMessage(text, visible)).toBe(message({ tools: [{ name: 'a' }], cacheScope: 'private', ttlMs: 5 }));
  });

  test('numbers keep their digits', () => {
    const text = '{"id":9007199254740993,"result":{"tools":[{"name":"hidden"},{"name":"a","max":1e400,"min":-0.10}]}}';
    expect(filteredMessage(text, visible)).toBe(
      '{"id":9007199254740993,"result":{"tools":[{"name":"a","max":1e400,"min":-0.10}]}}',
    );
  });

  test('decides again on a list that was read before', () => {
    const text = message({ tools: [{ name: 'a' }, { name: 'b' }] });
    const seen = ['a', 'b', 'c'].map((name) => filteredMessage(text, (target) => target.name === name));
    expect(seen).toEqual([
      message({ tools: [{ name: 'a' }] }),
      message({ tools: [{ name: 'b' }] }),
      message({ tools: [] }),
    ]);
  });

  test('reads again a list that differs in one character', () => {
    const seen = ['a', 'hidden', 'b'].map((name) => filteredMessage(message({ tools: [{ name }], n: 1 }), visible));
    expect(seen).toEqual([undefined, message({ tools: [], n: 1 }), undefined]);
  });

  test('sends what was decided, though the policy decides otherwise a moment later', () => {
    const text = message({ tools: [{ name: 'a' }, {}, { name: 'b' }], prompts: [{ name: 'c' }], n: 2 });
    const asked: string[] = [];
    const inTurn = ({ name }: McpTarget): boolean => asked.push(name) % 2 === 0;
    const shown = [text, text, text].map(() => filteredMessage(text, inTurn));
    const second = message({ tools: [{ name: 'b' }], prompts: [], n: 2 });
    const others = message({ tools: [{ name: 'a' }], prompts: [{ name: 'c' }], n: 2 });
    expect(shown).toEqual([second, others, second]);
    expect(asked.join('')).toBe('abcabcabc');
  });

  describe('the memory', () => {
    const list = (n: number | string): string => message({ tools: [{ name: 'hidden' }], n });
    const readOf = (text: string): unknown => {
      const read: unknown[] = [];
      filteredMessage(text, visible, (each) => read.push(each));
      expect(read).toEqual([JSON.parse(text)]);
      return read[0];
    };

    test('has the last 16 lists', () => {
      const first = readOf(list(0));
      for (let n = 1; n < 16; n += 1) readOf(list(n));
      expect(readOf(list(0))).toBe(first);
      const second = readOf(list(1));
      readOf(list(16));
      expect(readOf(list(1))).toBe(second);
      expect(readOf(list(0))).not.toBe(first);
    });

    test('has no text of more than 64 Ki', () => {
      const longest = list('x'.repeat(64 * 1024 - list('').length));
      expect(readOf(longest)).toBe(readOf(longest));
      const longer = longest.replace('xx', 'xxx');
      expect(readOf(longer)).not.toBe(readOf(longer));
    });

    test('has what was written for the last 8 kinds of callers', () => {
      const names = 'abcdefghi'.split('');
      const text = message({ tools: names.map((name) => ({ name })), n: 3 });
      const { stringify } = JSON;
      let writes = 0;
      JSON.stringify = ((value: unknown) => {
        writes += 1;
        return stringify(value);
      }) as typeof stringify;
      const seenBy = (caller: string): string | undefined => filteredMessage(text, ({ name }) => name === caller);
      const all = [...names.slice(0, 8), ...names.slice(0, 8)].map(seenBy);
      const written = writes;
      const [ninth, first] = ['i', 'a'].map(seenBy);
      const writtenAgain = writes;
      JSON.stringify = stringify;
      const wanted = names.map((name) => message({ tools: [{ name }], n: 3 }));
      expect([...all, ninth, first]).toEqual([...wanted.slice(0, 8), ...wanted.slice(0, 8), wanted[8], wanted[0]]);
      expect([written, writtenAgain]).toEqual([8, 10]);
    });

    test('has no other messages', () => {
      const other = message({ content: [] });
      expect(readOf(other)).not.toBe(readOf(other));
    });
  });

  test('filters each list of a batch, and leaves its other messages', () => {
    const other = '{"id":2,"error":{}}';
    const text = `[${message({ tools: [{ name: 'hidden' }], prompts: [{ name: 'a' }, { name: 'hidden' }] })},${other}]`;
    expect(filteredMessage(text, visible)).toBe(`[${message({ tools: [], prompts: [{ name: 'a' }] })},${other}]`);
  });

  test('writes any message as JSON.parse and JSON.stringify would', () => {
    const all = (): boolean => true;
    const entry = fc.record({ name: fc.string(), more: fc.jsonValue() });
    const result = fc.dictionary(fc.string(), fc.jsonValue());
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), result, fc.array(entry), (outer, inner, tools) => {
        const text = JSON.stringify({ ...outer, result: { ...inner, tools } }, undefined, 1);
        fc.pre(!/"(?:cacheScope|resources|resourceTemplates|prompts)"/i.test(text));
        expect(filteredMessage(text, all)).toBe(JSON.stringify(JSON.parse(text)));
      }),
    );
  });

  test('passes a list that is null, as Go writes an empty one', () => {
    expect(filteredMessage(message({ tools: null }), visible)).toBeUndefined();
  });

  test.each([
    ['tools twice', '{"result":{"tools":[{"name":"hidden"}],"tools":[{"name":"a"}]}}'],
    ['tools twice, by an escape', String.raw`{"result":{"t\u006fols":[{"name":"hidden"}],"tools":[{"name":"a"}]}}`],
    ['result twice', '{"result":{"tools":[{"name":"hidden"}]},"result":{"tools":[{"name":"a"}]}}'],
    ['a result, then none', '{"result":{"tools":[{"name":"hidden"}]},"result":{}}'],
    ['a name twice', '{"result":{"tools":[{"name":"hidden","name":"a"}]}}'],
    ['it in a batch', '[{"result":{"tools":[{"name":"hidden"}],"tools":[]}}]'],
  ])('writes what it read of a list that has %s', (_, text) => {
    expect(filteredMessage(text, visible)).toBe(JSON.stringify(JSON.parse(text)));
  });

  test.each([
    message({ Tools: [] }),
    message({ tools: [], Tools: [] }),
    message({ toolſ: [] }),
    message({ tools: {} }),
    message({ tools: [{ name: 'a', NAME: 'hidden' }] }),
    message({ tools: [], cacheScope: 'private', CacheScope: 'public' }),
    '{"Result":{}}',
    '[[]]',
  ])('refuses %s, because some clients would read another list', (text) => {
    expect(() => filteredMessage(text, visible)).toThrow(expect.objectContaining({ reason: 'upstream.invalid' }));
  });

  test('throws for text that is not JSON', () => {
    expect(() => filteredMessage('{', visible)).toThrow(SyntaxError);
  });
});

test.each([
  ['{"result":{"tasks":[{"taskId":"a"}]}}', true],
  ['{"result":{"tasks":[]}}', false],
  ['{"result":{"taskId":"a"}}', false],
  ['{"result":{"tools":[]}}', false],
])('whether a message may list tasks: %s', (text, wanted) => {
  expect([mayListTasks(text), mayListTasks(Buffer.from(text))]).toEqual([wanted, wanted]);
});

describe('withoutTasks', () => {
  test.each([
    [
      'the tasks of a list',
      '{"result":{"tasks":[{"taskId":"a"},{"taskId":1}],"n":1e400}}',
      '{"result":{"tasks":[],"n":1e400}}',
    ],
    ['of a batch', '[{"id":1},{"result":{"tasks":[{"taskId":"a"}]}}]', '[{"id":1},{"result":{"tasks":[]}}]'],
    [
      'a first list that is not the last',
      '{"result":{"tasks":[{"taskId":"a"}],"tasks":[]}}',
      '{"result":{"tasks":[]}}',
    ],
    [
      'no entry that is no task',
      '{"result":{"tasks":[{"name":"a"},"b",null]}}',
      '{"result":{"tasks":[{"name":"a"},"b",null]}}',
    ],
  ])('removes %s', (_, text, wanted) => expect(withoutTasks(text) ?? text).toBe(wanted));

  test.each([
    '{"result":{"content":[{"taskId":"a"}]}}',
    '{"result":{"tools":[{"name":"a"}]}}',
    '{"result":null}',
    '{"method":"x"}',
    '"tasks"',
    'null',
    '[]',
  ])('%s lists none', (text) => expect(withoutTasks(text)).toBeUndefined());

  test('throws for text that is not JSON', () => expect(() => withoutTasks('{"tasks"')).toThrow(SyntaxError));
});

test.for([
  ['tools/list', {}, 'tool'],
  ['tools/list', { params: { _meta: { cursor: '1' } } }, 'tool'],
  ['prompts/list', { params: {} }, 'prompt'],
  ['tools/list', { params: { cursor: '1' } }, undefined],
  ['prompts/list', { params: { cursor: null } }, undefined],
  ['resources/list', {}, undefined],
  ['resources/templates/list', {}, undefined],
  ['tasks/list', {}, undefined],
  ['tools/call', {}, undefined],
] as const)('%s with %j lists %s from the first page', ([method, message, kind]) => {
  const attempt = listing(method);
  expect(listedFromStart({ attempt, body: Buffer.from(JSON.stringify({ method, ...message })) })).toBe(kind);
});

test('a call without a message lists nothing', () => {
  expect(listedFromStart({ attempt: listing(undefined), body: undefined })).toBeUndefined();
  expect(listedFromStart({ attempt: listing('tools/list'), body: undefined })).toBeUndefined();
  expect(listedFromStart({ attempt: { kind: 'http' }, body: undefined })).toBeUndefined();
});
