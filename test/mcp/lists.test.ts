import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  createEventFilter,
  createEventSplitter,
  createJsonFilter,
  eventData,
  type Rewriting,
  withData,
} from '../../src/mcp/body-filter.ts';
import { filteredMessage, mayListTasks, withoutTasks } from '../../src/mcp/lists.ts';
import { mcpMethod } from '../../src/model/mcp.ts';
import type { McpTarget } from '../../src/model/policy.ts';
import { property } from '../support/property.ts';

const visible = ({ name }: McpTarget): boolean => !name.includes('hidden');
const lists: Rewriting = { concerns: () => true, rewrite: (text) => filteredMessage(text, visible), mustRead: true };
const message = (result: object): string => JSON.stringify({ jsonrpc: '2.0', id: 1, result });

describe('filteredMessage', () => {
  test.each([
    ['tools/list', 'tools', 'name', 'tool'],
    ['resources/list', 'resources', 'uri', 'resource'],
    ['resources/templates/list', 'resourceTemplates', 'uriTemplate', 'template'],
    ['prompts/list', 'prompts', 'name', 'prompt'],
  ])('%s: removes the entries that are not visible', (method, member, name, kind) => {
    expect(mcpMethod(method).list).toEqual({ member, name, kind });
    const asked: McpTarget[] = [];
    const text = message({ [member]: [{ [name]: 'a' }, { [name]: 'hidden' }, { [name]: 'b' }], nextCursor: 'c' });
    const filtered = filteredMessage(text, (target) => {
      asked.push(target);
      return visible(target);
    });
    expect(JSON.parse(filtered ?? '')).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: { [member]: [{ [name]: 'a' }, { [name]: 'b' }], nextCursor: 'c' },
    });
    expect(asked[0]).toEqual({ kind, name: 'a' });
  });

  test.each([
    ['a list where all is visible', message({ tools: [{ name: 'a' }] })],
    ['a private list', message({ tools: [{ name: 'a' }], cacheScope: 'private' })],
    ['another result', message({ content: [], cacheScope: 'public' })],
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

/** Pushes `text` in pieces cut at `cuts`. */
function inPieces(text: string, cuts: readonly number[], push: (chunk: Buffer) => readonly Buffer[]): string {
  const bytes = Buffer.from(text);
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b);
  const parts = [0, ...places].map((start, i) => bytes.subarray(start, places[i] ?? bytes.length));
  return Buffer.concat(parts.flatMap((part) => push(part))).toString();
}

describe('event streams', () => {
  const stream = [
    ': comment\n\n',
    'event: message\nid: 1\ndata: {"method":"notifications/message","params":{"data":"hidden é"}}\n\n',
    `event: message\r\ndata: ${message({ tools: [{ name: 'é' }, { name: 'hidden' }] })}\r\n\r\n`,
    'retry: 10\n\n',
  ].join('');

  property('change in the list alone, however the stream is split into chunks', [fc.array(fc.nat(400))], (cuts) => {
    const filter = createEventFilter(lists);
    const out = inPieces(stream, cuts, (chunk) => filter.push(chunk));
    expect(out).toBe(
      stream.replace(
        /event: message\r\ndata.*\r\n\r\n/,
        `event: message\ndata: ${message({ tools: [{ name: 'é' }] })}\n\n`,
      ),
    );
    expect(filter.end()).toEqual([]);
  });

  test('pass each event once it is complete', () => {
    const filter = createEventFilter(lists);
    expect(filter.push(Buffer.from('data: {}\n'))).toEqual([]);
    expect(filter.push(Buffer.from('\ndata: {'))).toEqual([Buffer.from('data: {}\n\n')]);
  });

  test('drop an event that does not end, since it was not filtered', () => {
    const filter = createEventFilter(lists);
    expect(filter.push(Buffer.from(`data: ${message({ tools: [{ name: 'hidden' }] })}\n`))).toEqual([]);
    expect(filter.end()).toEqual([]);
  });

  test('read data in several lines as one message', () => {
    const text = 'data: {"result":\ndata: {"tools":[{"name":"hidden"}]}}\n\n';
    expect(eventData(text)).toBe('{"result":\n{"tools":[{"name":"hidden"}]}}');
    expect(createEventFilter(lists).push(Buffer.from(text)).join('')).toBe('data: {"result":{"tools":[]}}\n\n');
  });

  test.each(['\n', '\r\n', '\r'])('line ends %j', (end) => {
    const text = `id: 1${end}data: a${end}${end}data: b${end}${end}x`;
    const splitter = createEventSplitter(100);
    expect(splitter.push(Buffer.from(text)).map(String)).toEqual([
      `id: 1${end}data: a${end}${end}`,
      `data: b${end}${end}`,
    ]);
  });

  test('end at an event that is too long', () => {
    expect(() => createEventSplitter(100).push(Buffer.alloc(200, 'x'))).toThrow(RangeError);
  });

  test('withData keeps the rest of an event', () => {
    expect(withData('id: 1\ndata: a\ndata: b\nretry: 5\n\n', 'c')).toBe('id: 1\nretry: 5\ndata: c\n\n');
  });
});

describe('a JSON body', () => {
  property('is filtered at its end', [fc.array(fc.nat(100))], (cuts) => {
    const filter = createJsonFilter(lists);
    const text = message({ tools: [{ name: 'é' }, { name: 'hidden' }] });
    expect(inPieces(text, cuts, (chunk) => filter.push(chunk))).toBe('');
    expect(filter.end().join('')).toBe(message({ tools: [{ name: 'é' }] }));
  });

  test('with other spaces or duplicate keys is serialized again from what was filtered', () => {
    const filter = createJsonFilter(lists);
    filter.push(Buffer.from('{ "result" : {"tools":[{"name":"hidden"}]}, "result" : {} }'));
    expect(filter.end().join('')).toBe('{"result":{}}');
  });

  test('that is empty stays empty', () => {
    expect(createJsonFilter(lists).end()).toEqual([]);
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

  test.each(['{"result":{"content":[{"taskId":"a"}]}}', '{"result":null}', '{"method":"x"}', '"tasks"', 'null', '[]'])(
    '%s lists none',
    (text) => expect(withoutTasks(text)).toBeUndefined(),
  );

  test('throws for text that is not JSON', () => expect(() => withoutTasks('{"tasks"')).toThrow(SyntaxError));
});
