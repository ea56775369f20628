import { describe, expect, test } from 'vitest';
import { type DefinitionGuard, definitionOf, guardedMessage } from '../../src/mcp/guarded-message.ts';
import type { Definition, DefinitionKind } from '../../src/mcp/definitions.ts';

/** A guard that keeps what has no `bad` name or text, and what it was asked. */
function guard(): DefinitionGuard & {
  readonly asked: (readonly (Definition | undefined)[])[];
  readonly whole: (DefinitionKind | undefined)[];
  announcements: number;
} {
  const asked: (readonly (Definition | undefined)[])[] = [];
  const whole: (DefinitionKind | undefined)[] = [];
  const bad = definitionOf('instructions', '', 'bad').sha256;
  return {
    asked,
    whole,
    announcements: 0,
    announced() {
      this.announcements += 1;
    },
    examine(shown, kind) {
      asked.push(shown);
      whole.push(kind);
      return shown.map((each) => each !== undefined && each.name !== 'bad' && each.sha256 !== bad);
    },
  };
}

const response = (result: unknown): unknown => ({ jsonrpc: '2.0', id: 1, result });
const guarded = (message: unknown): unknown => {
  const text = guardedMessage(JSON.stringify(message), guard());
  return text === undefined ? 'as it is' : JSON.parse(text);
};

test.for([
  ['tools', 'tool'],
  ['prompts', 'prompt'],
] as const)('%s: removes what may not pass, and shows each whole list', ([member, kind]) => {
  const own = guard();
  const entries = [{ name: 'a' }, { name: 'bad' }, { title: 'nameless' }, 'a', { name: 'b' }];
  const text = guardedMessage(JSON.stringify(response({ [member]: entries, nextCursor: 'x' })), own);
  expect(JSON.parse(text ?? '')).toEqual(response({ [member]: [{ name: 'a' }, { name: 'b' }], nextCursor: 'x' }));
  const of = (name: string) => definitionOf(kind, name, { name });
  expect(own.asked).toMatchObject([[of('a'), of('bad'), undefined, undefined, of('b')]]);
  expect(own.announcements).toBe(0);
});

test('removes instructions, and keeps those that may pass', () => {
  expect(guarded(response({ instructions: 'bad', serverInfo: {} }))).toEqual(response({ serverInfo: {} }));
  expect(guarded(response({ instructions: 'good', serverInfo: {} }))).toBe('as it is');
  const own = guard();
  guardedMessage(JSON.stringify(response({ instructions: 'good' })), own);
  expect(own.asked).toEqual([[definitionOf('instructions', '', 'good')]]);
});

describe('knows a whole list', () => {
  const tools = [{ name: 'a' }];
  test.for([
    ['that was asked for from its first page', { tools }, 'tool', ['tool']],
    ['of prompts', { prompts: tools }, 'prompt', ['prompt']],
    ['that has null for a cursor, as some servers write it', { tools, nextCursor: null }, 'tool', ['tool']],
    ['from a page that another one follows', { tools, nextCursor: '1' }, 'tool', [undefined]],
    ['from a page that a cursor without a character follows', { tools, nextCursor: '' }, 'tool', [undefined]],
    ['from one that is not what was asked for', { tools, prompts: [] }, 'prompt', [undefined, 'prompt']],
    ['from one in an answer to anything else', { tools, prompts: [] }, undefined, [undefined, undefined]],
    ['from instructions', { instructions: 'good' }, 'instructions', [undefined]],
  ] as const)('%s', ([, result, kind, whole]) => {
    const own = guard();
    guardedMessage(JSON.stringify(response(result)), own, kind);
    expect(own.whole).toEqual(whole);
  });
});

test('reads all that a result has', () => {
  const tools = [{ name: 'bad' }];
  expect(guarded(response({ tools, prompts: [{ name: 'bad' }, { name: 'a' }], instructions: 'bad' }))).toEqual(
    response({ tools: [], prompts: [{ name: 'a' }] }),
  );
});

test('reads a list of 10,000 definitions', () => {
  expect(guarded(response({ tools: Array.from({ length: 10_000 }, () => 0) }))).toEqual(response({ tools: [] }));
});

test('reads each message of a batch', () => {
  const [one, other] = [
    response({ tools: [{ name: 'a' }, { name: 'bad' }] }),
    response({ prompts: [{ name: 'bad' }] }),
  ];
  expect(guarded([one, { jsonrpc: '2.0', method: 'x' }, other])).toEqual([
    response({ tools: [{ name: 'a' }] }),
    { jsonrpc: '2.0', method: 'x' },
    response({ prompts: [] }),
  ]);
});

test('a text with definitions is written anew from the value that was examined', () => {
  expect(guardedMessage('{"result": {"tools": [{"name": "a"}]}}', guard())).toBe('{"result":{"tools":[{"name":"a"}]}}');
  // A number keeps its digits, which JavaScript cannot hold.
  const digits = '{"result":{"tools":[{"name":"a","max":9007199254740993},{"name":"bad"}]}}';
  expect(guardedMessage(digits, guard())).toBe('{"result":{"tools":[{"name":"a","max":9007199254740993}]}}');
  expect(guardedMessage(`[${digits}]`, guard())).toBe('[{"result":{"tools":[{"name":"a","max":9007199254740993}]}}]');
});

describe('leaves as it is', () => {
  test.for([
    ['another result', response({ content: [{ type: 'text', text: '"tools":[]' }] })],
    ['lists that are null, as Go writes them', response({ tools: null, prompts: null, instructions: null })],
    ['an error', { jsonrpc: '2.0', id: 1, error: { code: 1, message: 'x', data: { tools: [{ name: 'bad' }] } } }],
    ['a request', { jsonrpc: '2.0', id: 1, method: 'sampling/createMessage', params: { tools: [{ name: 'bad' }] } }],
    ['a result that is no object', response('tools')],
    ['a text', 'tools'],
    ['null', null],
    ['an empty batch', []],
    ['what is within another member', response({ structuredContent: { tools: [{ name: 'bad' }] } })],
  ])('%s', ([, message]) => {
    const own = guard();
    expect(guardedMessage(` ${JSON.stringify(message)}`, own)).toBeUndefined();
    expect(own.asked).toEqual([]);
  });
});

describe('refuses', () => {
  const unreadable = expect.objectContaining({ reason: 'upstream.invalid' });
  test.for([
    ['two equal members', '{"result":{"tools":[{"name":"a","title":"x","title":"y"}]}}', 'two equal members'],
    ['two results', '{"result":{"tools":[{"name":"bad"}]},"result":{}}', 'two equal members'],
    ['another case of result', '{"result":{},"Result":{"tools":[]}}', 'differs from result only in case'],
    ['another case of a list', '{"result":{"Tools":[]}}', 'differs from tools only in case'],
    ['another case of prompts', '{"result":{"prompt\u017f":[]}}', 'differs from prompts only in case'],
    ['another case of instructions', '{"result":{"INSTRUCTIONS":"x"}}', 'differs from instructions only in case'],
    ['a list that is none', '{"result":{"tools":{"name":"a"}}}', 'tools is not an array'],
    ['prompts that are none', '{"result":{"prompts":"a"}}', 'prompts is not an array'],
    ['a batch within a batch', '[[]]', 'a batch within a batch'],
    ['too many tools', `{"result":{"tools":[${'0,'.repeat(10_000)}0]}}`, 'more than 10000 tools'],
  ])('%s', ([, text, detail]) => {
    const own = guard();
    expect(() => guardedMessage(text as string, own)).toThrow(unreadable);
    expect(() => guardedMessage(text as string, own)).toThrow(detail);
    expect(own.asked).toEqual([]);
  });

  test('what is not JSON', () => {
    expect(() => guardedMessage('{"result":', guard())).toThrow(SyntaxError);
  });
});

test.for(['tools', 'prompts'])('tells of an announcement that %s changed, also within a batch', (list) => {
  const own = guard();
  const announcement = { jsonrpc: '2.0', method: `notifications/${list}/list_changed` };
  expect(guardedMessage(JSON.stringify(announcement), own)).toBeUndefined();
  expect(own.announcements).toBe(1);
  guardedMessage(JSON.stringify([{ method: 'x' }, announcement, announcement]), own);
  expect(own.announcements).toBe(2);
  guardedMessage(JSON.stringify({ method: 'notifications/resources/list_changed' }), own);
  guardedMessage('"notifications/tools/list_changed"', own);
  expect(own.announcements).toBe(2);
});
