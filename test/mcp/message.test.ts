import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { MessageHeaders } from '../../src/mcp/agreement.ts';
import { Denial } from '../../src/core/model/denial.ts';
import { readMessage } from '../../src/mcp/message.ts';
import { messageLimits } from '../support/message-limits.ts';
import { mcpMethod } from '../../src/core/model/mcp.ts';
import { cpuTime } from '../support/cpu-time.ts';
import { orDenial, orReason } from '../support/denial.ts';
import { runs } from '../support/runs.ts';

/** The headers of a client that knows none. */
const none: MessageHeaders = {
  mcpProtocolVersion: undefined,
  mcpMethod: undefined,
  mcpName: undefined,
  names: [],
  raw: [],
} as MessageHeaders;

function reason(body: string | Buffer): string {
  return orReason(() => {
    readMessage(Buffer.from(body), none, messageLimits);
    return 'accepted';
  });
}

const call = (params: string): string => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;

describe('what a message says', () => {
  test.each<[string, string, string | undefined, number | string | null, string?]>([
    ['a request', '{"jsonrpc":"2.0","id":7,"method":"ping"}', 'ping', 7],
    ['an id in words', '{"jsonrpc":"2.0","id":"x","method":"ping"}', 'ping', 'x'],
    ['a notification', '{"jsonrpc":"2.0","method":"n"}', 'n', null],
    ['a call', call('{"name":"pay"}'), 'tools/call', 1, 'pay'],
    ['an escaped name', call('{"name":"p\\u0061y"}'), 'tools/call', 1, 'pay'],
    ['an empty name', call('{"name":""}'), 'tools/call', 1, ''],
    ['a result', '{"jsonrpc":"2.0","id":1,"result":{}}', undefined, null],
    ['an error', '{"jsonrpc":"2.0","id":1,"error":{}}', undefined, null],
    ['space around', ' \t\r\n{"jsonrpc":"2.0","method":"n"} \n', 'n', null],
  ])('%s', (_what, text, method, id, name) => {
    const targets = name === undefined ? [] : [{ kind: 'tool', name }];
    expect(readMessage(Buffer.from(text), none, messageLimits)).toMatchObject({
      method: mcpMethod(method),
      id,
      targets,
    });
  });
});

describe('what is refused', () => {
  test.each([
    ['nothing', '', 'body.malformed'],
    ['no JSON', '{', 'body.malformed'],
    ['two values', '{}{}', 'body.malformed'],
    ['a byte order mark', '\ufeff{"jsonrpc":"2.0","method":"n"}', 'body.malformed'],
    ['UTF-16', Buffer.from('{"jsonrpc":"2.0","method":"n"}', 'utf16le'), 'body.malformed'],
    ['broken UTF-8', Buffer.from([0x22, 0xc3, 0x28, 0x22]), 'body.malformed'],
    ['an encoded surrogate', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), 'body.malformed'],
    ['NaN', '{"jsonrpc":"2.0","method":"n","x":NaN}', 'body.malformed'],
    ['a comment', '{"jsonrpc":"2.0","method":"n"/**/}', 'body.malformed'],
    ['a compressed message', gzipSync(call('{"name":"x"}')), 'body.malformed'],
    ['a form', 'jsonrpc=2.0&method=tools/call&params=%7B%22name%22%3A%22x%22%7D', 'body.malformed'],
    ['R-100: a batch', `[${call('{"name":"x"}')}]`, 'body.message'],
    ['R-100: a batch of two', `[${call('{"name":"x"}')},${call('{"name":"y"}')}]`, 'body.message'],
    ['a batch that begins with a notification', `[{"jsonrpc":"2.0","method":"n"},${call('{}')}]`, 'body.message'],
    ['a batch of answers', '[{"jsonrpc":"2.0","id":1,"result":{}}]', 'body.message'],
    ['a batch in a batch', `[[${call('{"name":"x"}')}]]`, 'body.message'],
    ['a batch of no messages', '[1, null, "x"]', 'body.message'],
    ['a batch of a thousand', `[${Array.from({ length: 1000 }, () => call('{}')).join()}]`, 'body.message'],
    ['a batch behind space', ` \r\n\t[${call('{"name":"x"}')}]`, 'body.message'],
    ['true', 'true', 'body.message'],
    ['a number', '1', 'body.message'],
    ['a message in a string', JSON.stringify(call('{"name":"x"}')), 'body.message'],
    ['an id that is a batch', `{"jsonrpc":"2.0","id":[${call('{}')}],"method":"ping"}`, 'body.message'],
    ['arguments true', call('{"name":"x","arguments":true}'), 'body.message'],
    ['an empty batch', '[]', 'body.message'],
    ['a string', '"x"', 'body.message'],
    ['null', 'null', 'body.message'],
    ['another version', '{"jsonrpc":"1.0","method":"n"}', 'body.message'],
    ['no version', '{"method":"n"}', 'body.message'],
    ['the version as a number', '{"jsonrpc":2.0,"method":"n"}', 'body.message'],
    ['neither request nor response', '{"jsonrpc":"2.0","id":1}', 'body.message'],
    ['a method that is none', '{"jsonrpc":"2.0","id":1,"method":["tools/call"]}', 'body.message'],
    ['a method null', '{"jsonrpc":"2.0","id":1,"method":null,"result":1}', 'body.message'],
    ['an id null', '{"jsonrpc":"2.0","id":null,"method":"ping"}', 'body.message'],
    ['an id object', '{"jsonrpc":"2.0","id":{},"method":"ping"}', 'body.message'],
    ['parameters by position', '{"jsonrpc":"2.0","id":1,"method":"ping","params":["x"]}', 'body.message'],
    ['parameters that are none', '{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}', 'body.message'],
    ['parameters of a response that are none', '{"jsonrpc":"2.0","id":1,"result":{},"params":"x"}', 'body.message'],
    ['a call of null', call('null'), 'body.message'],
    ['a call of nothing', '{"jsonrpc":"2.0","id":1,"method":"tools/call"}', 'body.message'],
    ['a call by position', call('["pay"]'), 'body.message'],
    ['a name that is none', call('{"name":["pay"]}'), 'body.message'],
    ['two names', call('{"name":"get","name":"pay"}'), 'body.ambiguous'],
    ['two, one escaped', call('{"name":"get","n\\u0061me":"pay"}'), 'body.ambiguous'],
    ['two, one in capitals', call('{"name":"get","Name":"pay"}'), 'body.ambiguous'],
    ['two methods', '{"jsonrpc":"2.0","method":"ping","METHOD":"tools/call"}', 'body.ambiguous'],
    ['a key with a Kelvin sign', '{"jsonrpc":"2.0","method":"n","kind":1,"\u212aind":2}', 'body.ambiguous'],
    ['a key with a long s', call('{"name":"x","arguments":{},"argument\u017f":{}}'), 'body.ambiguous'],
    ['10 000 levels', `${'['.repeat(10_000)}${']'.repeat(10_000)}`, 'body.ambiguous'],
    ['10 000 levels of objects', `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`, 'body.ambiguous'],
    ['100 000 keys', `{${Array.from({ length: 100_000 }, (_, i) => `"k${i}":0`).join(',')}}`, 'body.ambiguous'],
    ['a list of 10 001', call(`{"name":"x","arguments":{"a":[${'1,'.repeat(10_000)}1]}}`), 'body.ambiguous'],
    ['arguments as a text', call('{"name":"x","arguments":"{\\"a\\":1}"}'), 'body.message'],
    ['arguments as a list', call('{"name":"x","arguments":["a",1]}'), 'body.message'],
    ['arguments as a number', call('{"name":"x","arguments":1}'), 'body.message'],
    [
      'arguments of a prompt as a text',
      '{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"x","arguments":""}}',
      'body.message',
    ],
    ['a prototype among the arguments', call('{"name":"x","arguments":{"__proto__":{"a":1}}}'), 'body.ambiguous'],
    ['a prototype below', call('{"name":"x","arguments":{"a":[{"__proto__":1}]}}'), 'body.ambiguous'],
    ['an escaped prototype', call('{"name":"x","arguments":{"__prot\\u006f__":{}}}'), 'body.ambiguous'],
    ['another spelling of a method', '{"jsonrpc":"2.0","id":1,"method":"Tools/Call"}', 'body.ambiguous'],
    ['a lone surrogate', call('{"name":"\\ud800"}'), 'body.ambiguous'],
  ])('%s', (_what, text, wanted) => expect(reason(text)).toBe(wanted));

  test.each([
    '{"JSONRPC":"2.0","method":"n"}',
    '{"jsonrpc":"2.0","id":1,"Method":"tools/call","params":{"name":"x"},"result":{}}',
    '{"jsonrpc":"2.0","ID":1,"method":"n"}',
    '{"jsonrpc":"2.0","id":1,"Result":{}}',
    '{"jsonrpc":"2.0","id":1,"method":"n","Params":{}}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","Arguments":{}}}',
  ])('refuses a key that some parsers take for the expected one: %s', (text) =>
    expect(reason(text)).toBe('body.ambiguous'),
  );

  test('counts members and elements alike, and names the key that sets the limit', () => {
    const text = (length: number): string =>
      call(`{"name":"x","arguments":{"a":[${'{},'.repeat(length - 1)}{"b":1}]}}`);
    const limits = { depth: 5, members: 20 };
    const read = (body: string) => orDenial(() => readMessage(Buffer.from(body), none, limits));
    // jsonrpc, id, method, params, name, arguments, a and b.
    expect(read(text(12))).not.toBeInstanceOf(Denial);
    expect(read(text(13))).toMatchObject({
      reason: 'body.ambiguous',
      detail: expect.stringMatching(/: limits.json_members allows no more$/) as string,
    });
    expect(read(call('{"name":"x","arguments":{"a":[[[]]]}}'))).toMatchObject({
      detail: expect.stringMatching(/: limits.json_depth allows no more$/) as string,
    });
  });

  test('refuses a request and a response in one message', () => {
    for (const answer of ['result', 'error']) {
      expect(reason(`{"jsonrpc":"2.0","id":1,"method":"ping","${answer}":{}}`)).toBe('body.message');
    }
  });
});

describe('a key that another parser may read as a decisive one', () => {
  const good = call('{"name":"get_price","arguments":{"amount":1}}');
  /** Each member that decides, and what an attacker would have another parser read in it. */
  const keys: readonly (readonly [key: string, evil: string, member: string])[] = [
    ['jsonrpc', '"1.0"', '"jsonrpc":"2.0"'],
    ['id', '2', '"id":1'],
    ['method', '"resources/read"', '"method":"tools/call"'],
    ['params', '{"name":"pay"}', '"params":{"name":"get_price","arguments":{"amount":1}}'],
    ['name', '"pay"', '"name":"get_price"'],
    ['arguments', '{"amount":1000}', '"arguments":{"amount":1}'],
  ];
  const escaped = (character = ''): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  /** How another parser may come to read a key of another spelling as this one. */
  const spellings: readonly ((key: string) => string)[] = [
    (key) => key.toUpperCase(),
    (key) => key.slice(0, -1) + key.slice(-1).toUpperCase(),
    (key) => key.replaceAll(/[a-z]/g, (c) => String.fromCodePoint((c.codePointAt(0) ?? 0) + 0xfee0)),
    (key) => `${key}\\u0000`,
    (key) => `${key}\\u0000x`,
  ];
  // Where there is nothing to fold it is the same key again.
  const equal: readonly ((key: string) => string)[] = [
    (key) => key,
    (key) => escaped(key[0]) + key.slice(1),
    (key) => key.slice(0, -1) + escaped(key.at(-1)),
    (key) => key.replace('s', 'ſ'),
    (key) => key.replace('k', '\u212A'),
    (key) => key.replace('i', 'ı'),
  ];

  test.each(keys)('%s: is refused beside it and, but for an escape, alone', (key, evil, member) => {
    for (const spell of [...spellings, ...equal]) {
      const rival = `"${spell(key)}":${evil}`;
      const texts = [`${rival},${member}`, `${member},${rival}`].map((both) => good.replace(member, both));
      expect([rival, ...texts.map(reason)]).toEqual([rival, 'body.ambiguous', 'body.ambiguous']);
    }
    if (key === 'id') return;
    for (const spell of spellings) {
      expect(reason(good.replace(`"${key}"`, `"${spell(key)}"`))).toMatch(/^body\.(?:ambiguous|message)$/);
    }
  });
});

test.each([
  ['{"amount":1,"Amount":2}', true],
  ['{"a":[{"k":1,"\u212a":2}]}', true],
  ['{"amount":1}', false],
  ['{"amount":1,"amount":2}', 'body.ambiguous'],
  ['{"amount":1,"\\u0061mount":2}', 'body.ambiguous'],
  ['{"amount":1,"Amount":2,"Amount":3}', 'body.ambiguous'],
  ['{"amount":1,"amount\\u0000":2}', 'body.ambiguous'],
  ['{},"_meta":{"a":1,"A":2}', 'body.ambiguous'],
  ['{"a":1},"x":{"arguments":{"a":1,"A":2}}', 'body.ambiguous'],
  ['{},"ARGUMENTS":{}', 'body.ambiguous'],
])('keys of arguments may differ in case only, and may not be equal: %s', (text, expected) => {
  const body = call(`{"name":"x","arguments":${text}}`);
  const found = reason(body);
  expect(found === 'accepted' ? readMessage(Buffer.from(body), none, messageLimits).hasArgumentVariants : found).toBe(
    expected,
  );
});

test.each([
  ['params of a request', '"method":"ping","params":null'],
  ['params of a response', '"result":{},"params":null'],
  ['params of a method that names a task', '"method":"tasks/get","params":null'],
  ['arguments of a tool', '"method":"tools/call","params":{"name":"x","arguments":null}'],
  ['arguments of a prompt', '"method":"prompts/get","params":{"name":"x","arguments":null}'],
  ['arguments of a method that has none', '"method":"ping","params":{"arguments":null}'],
])('null reads as absent: %s', (_what, members) => {
  const absent = members.replace(/,?"(?:params|arguments)":null/, '');
  const read = (text: string): unknown =>
    readMessage(Buffer.from(`{"jsonrpc":"2.0","id":1,${text}}`), none, messageLimits);
  expect(read(members)).toEqual(read(absent));
});

test.each([
  ['another version', '{"jsonrpc":"1.0","id":7,"method":"ping"}', 7],
  ['a request and a response in one', '{"jsonrpc":"2.0","id":7,"method":"ping","result":{}}', 7],
  ['an id in words', '{"jsonrpc":"2.0","id":"x","method":"ping","error":{}}', 'x'],
  ['neither', '{"jsonrpc":"2.0","id":7}', 7],
  ['a method that is none', '{"jsonrpc":"2.0","id":7,"method":1}', 7],
  ['parameters by position', '{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}', 7],
  ['arguments as a text', '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","arguments":""}}', 7],
  ['another spelling of a method', '{"jsonrpc":"2.0","id":7,"method":"Ping"}', 7],
  ['another case of a key', '{"jsonrpc":"2.0","id":7,"method":"ping","Params":{}}', 7],
  ['no id that could be read', '{"jsonrpc":"2.0","id":null,"method":"ping"}', undefined],
])('JSON-RPC 2.0 §5: a refusal carries the id of the message: %s', (_what, text, messageId) => {
  expect(() => readMessage(Buffer.from(text), none, messageLimits)).toThrow(expect.objectContaining({ messageId }));
});

describe('SEP-414: the trace that _meta names', () => {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const traceOf = (meta: unknown): unknown =>
    readMessage(Buffer.from(call(JSON.stringify({ name: 'x', _meta: meta }))), none, messageLimits).trace;

  test.each([
    ['with its companion', { traceparent, tracestate: 'a=b' }, 'a=b'],
    ['without', { traceparent }, undefined],
    ['beside a companion that is no text', { traceparent, tracestate: ['a=b'] }, undefined],
  ])('is read %s', (_what, meta, tracestate) => expect(traceOf(meta)).toMatchObject({ traceparent, tracestate }));

  test.each([
    [undefined],
    [null],
    [{}],
    [{ traceparent: 'x' }],
    [{ traceparent: [traceparent] }],
    [{ tracestate: 'a=b' }],
  ])('%j names none', (meta) => expect(traceOf(meta)).toBeUndefined());
});

test('a refusal of what is not JSON names no key of the configuration', () => {
  expect(() => readMessage(Buffer.from('{'), none, messageLimits)).toThrow(
    expect.objectContaining({ detail: expect.not.stringContaining('allows no more') as string }),
  );
});

test.each([
  ['{"name":"x","arguments":{},"_meta":{},"task":{},"requestState":"x","inputResponses":{}}', undefined],
  ['{"name":"x","first":1,"second":2}', 'params.first'],
  ['{"name":"x","":1}', 'params.'],
])('the first member of params that calls do not have: %s', (params, member) => {
  expect(readMessage(Buffer.from(call(params)), none, messageLimits).otherMember).toBe(member);
  const prompt = call(params).replace('tools/call', 'prompts/get');
  expect(readMessage(Buffer.from(prompt), none, messageLimits).otherMember).toBe(member);
  const beside = call(params).replace('{', '{"arguments":{"amount":1},');
  expect(readMessage(Buffer.from(beside), none, messageLimits).otherMember).toBe('arguments');
  const other = call(params).replace('tools/call', 'vendor/run');
  expect(readMessage(Buffer.from(other), none, messageLimits).otherMember).toBeUndefined();
});

test('arguments keep the digits of numbers that JavaScript would round, and are read again once', () => {
  const read = (text: string) => readMessage(Buffer.from(text), none, messageLimits).exactArguments;
  const exact = read(call('{"name":"x","arguments":{"id":9007199254740993}}'));
  expect(JSON.stringify(exact?.())).toBe('{"id":9007199254740993}');
  expect(exact?.()).toBe(exact?.());
  expect(read(call('{"name":"x","arguments":{"id":7}}'))).toBeUndefined();
  expect(read('{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}')).toBeUndefined();
});

test('an id keeps its digits, too', () => {
  const { id } = readMessage(
    Buffer.from('{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}'),
    none,
    messageLimits,
  );
  expect(JSON.stringify({ id })).toBe('{"id":9007199254740993}');
});

test('arguments are an object or absent; for a vendor’s method they may be any value', () => {
  const read = (text: string): unknown => readMessage(Buffer.from(text), none, messageLimits).arguments;
  expect(read(call('{"name":"x"}'))).toBeUndefined();
  expect(read(call('{"name":"x","arguments":{"a":1}}'))).toEqual({ a: 1 });
  expect(read('{"jsonrpc":"2.0","id":1,"method":"x-vendor/run","params":{"arguments":["a"]}}')).toEqual(['a']);
});

describe('MCP 2026-07-28: only requests repeat themselves in headers', () => {
  const modern = { ...none, mcpProtocolVersion: '2026-07-28' };
  test.each([
    ['a response', '{"jsonrpc":"2.0","id":1,"result":{}}'],
    ['a notification', '{"jsonrpc":"2.0","method":"notifications/x"}'],
  ])('%s does not', (_what, text) => expect(readMessage(Buffer.from(text), modern, messageLimits).era).toBe('modern'));

  test('a request does', () => {
    const request = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}');
    expect(() => readMessage(request, modern, messageLimits)).toThrow(
      expect.objectContaining({ reason: 'message.meta' }),
    );
  });
});

test('reads no member of Object.prototype', () => {
  for (const name of ['__proto__', 'constructor', 'toString', 'valueOf', 'hasOwnProperty']) {
    expect(readMessage(Buffer.from(call(`{"name":"${name}"}`)), none, messageLimits).targets).toEqual([
      { kind: 'tool', name },
    ]);
    const refused = name === '__proto__' ? 'body.ambiguous' : 'body.message';
    expect(reason(call(`{"${name}":{"name":"pay"}}`))).toBe(refused);
  }
  expect(reason('{"__proto__":{"jsonrpc":"2.0","method":"n"}}')).toBe('body.ambiguous');
});

test('any bytes give a message or a Denial', () => {
  const text = fc.oneof(fc.json(), fc.string({ unit: 'binary' }), fc.constantFrom(call('{"name":"x"}')));
  fc.assert(
    fc.property(
      fc.oneof(
        text.map((json) => Buffer.from(json)),
        fc.uint8Array().map((bytes) => Buffer.from(bytes)),
      ),
      (body) => {
        expect(reason(body)).toMatch(/^(?:accepted|body\.\w+)$/);
      },
    ),
    { numRuns: runs },
  );
});

const declaring = (capabilities: unknown): { _meta: object } => ({
  _meta: { 'io.modelcontextprotocol/clientCapabilities': capabilities },
});

test.each([
  ['with settings', declaring({ extensions: { 'io.modelcontextprotocol/tasks': { a: 1 } } }), true],
  ['without', declaring({ extensions: { 'io.modelcontextprotocol/tasks': {} } }), true],
  ['another extension', declaring({ extensions: { 'io.modelcontextprotocol/skills': {} } }), false],
  ['the capability of 2025-11-25', declaring({ tasks: {} }), false],
  ['no extensions', declaring({}), false],
  ['no object', declaring('tasks'), false],
  ['null', declaring({ extensions: null }), false],
  ['null as _meta', { _meta: null }, false],
  ['nothing', {}, false],
])('a request declares tasks: %s', (_, params, wanted) => {
  const message = { jsonrpc: '2.0', id: 1, method: 'tasks/get', params };
  expect(readMessage(Buffer.from(JSON.stringify(message)), none, messageLimits).declaresTasks).toBe(wanted);
});

test.each([
  ['tools/call', '2026-07-28', { url: {} }, true],
  ['tools/call', '2026-07-28', { form: {} }, false],
  ['tools/list', '2026-07-28', { url: {} }, false],
  ['tools/call', '2025-11-25', { url: {} }, false],
])('%s of %s with elicitation %j can send its user to a page: %s', (mcpMethod, version, elicitation, wanted) => {
  const { _meta } = declaring({ elicitation });
  const params = { name: 'x', _meta: { ..._meta, 'io.modelcontextprotocol/protocolVersion': version } };
  const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: mcpMethod, params }));
  const headers = { ...none, mcpProtocolVersion: version, mcpMethod, mcpName: 'x' };
  expect(readMessage(body, headers, messageLimits).asksByUrl).toBe(wanted);
});

describe('the lengths of what is folded', () => {
  const read = (text: string): string =>
    `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"${text}"}}`;
  const template = (text: string): string => complete(`{${text}`.slice(0, -1));
  const complete = (uri: string): string =>
    `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"${uri}"}}}`;

  test.each<[string, (text: string) => string, number, string]>([
    ['a method', (text) => `{"jsonrpc":"2.0","id":1,"method":"${text}"}`, 1_024, 'body.message'],
    ['a name of a tool', (text) => call(`{"name":"${text}"}`), 1_024, 'body.message'],
    ['a URI', read, 2_048, 'body.message'],
    ['a URI of a completion', complete, 2_048, 'body.message'],
    ['a URI template of a completion', template, 2_048, 'body.message'],
    ['a key of arguments', (text) => call(`{"name":"t","arguments":{"${text}":1}}`), 1_024, 'body.ambiguous'],
  ])('%s', (_what, message, most, refusal) => {
    expect([reason(message('x'.repeat(most))), reason(message('x'.repeat(most + 1)))]).toEqual(['accepted', refusal]);
  });

  test.each([
    [call(`{"name":"${'\uFDFA'.repeat(1_025)}"}`), 'a name of a tool of more than 1024 characters'],
    [read('x'.repeat(2_049)), 'a URI of more than 2048 characters'],
    [`{"jsonrpc":"2.0","id":1,"method":"${'x'.repeat(1_025)}"}`, 'a method of more than 1024 characters'],
  ])('the refusal names the limit, and the id of the request: %.60s', (text, detail) => {
    expect(() => readMessage(Buffer.from(text), none, messageLimits)).toThrow(
      expect.objectContaining({ detail, messageId: 1 }),
    );
  });

  // The id has a digit that JavaScript would drop, so that the text is read again for it.
  const dense = (item: (index: number) => string): string => {
    const items: string[] = [];
    for (let length = 0; length < 500_000; length += items.at(-1)?.length ?? 0) items.push(item(items.length));
    return `{"jsonrpc":"2.0","id":1.5,"method":"tools/call","params":{"name":"t","arguments":{"a":[${items.join('')}0]}}}`;
  };
  const fdfa = '\uFDFA'.repeat(170_000);

  test.each([
    ['numbers that change', dense(() => '1.0,')],
    ['different numbers that change', dense((index) => `${index}.0,`)],
    ['a method of U+FDFA', `{"jsonrpc":"2.0","id":1,"method":"${fdfa}"}`],
    ['a name of U+FDFA', call(`{"name":"${fdfa}"}`)],
    ['a key of U+FDFA', call(`{"name":"t","arguments":{"${fdfa}":1}}`)],
    ['keys of U+FDFA', call(`{${Array.from({ length: 500 }, (_, i) => `"${fdfa.slice(0, 340)}${i}":1`).join(',')}}`)],
  ])('%s cost at most five times as much as lists of numbers', (_what, text) => {
    const body = Buffer.from(text);
    const ordinary = Buffer.from(dense((index) => `${index % 10},`));
    const costOf = (read: Buffer): number =>
      Math.min(
        ...Array.from({ length: 5 }, () => cpuTime(() => orReason(() => (readMessage(read, none, messageLimits), '')))),
      );
    expect(costOf(body)).toBeLessThan(5 * costOf(ordinary) + 5);
  });
});
