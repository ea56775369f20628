import { describe, expect, test } from 'vitest';
import {
  createToolHeaderMemory,
  createToolHeaders,
  requireParamHeaders,
  type ToolHeader,
} from '../../src/mcp/tool-headers.ts';
import { orDenial } from '../support/denial.ts';

const listOf = (...tools: readonly unknown[]): object => ({ id: 1, result: { tools } });
const textOf = (...tools: readonly unknown[]): string => JSON.stringify(listOf(...tools));
const declaring = (name: string, properties: object): object => ({ name, inputSchema: { properties } });
const region = { region: { type: 'string', 'x-mcp-header': 'Region' } };

describe('the headers that a list declares', () => {
  test('are learnt along properties, with their type', () => {
    const headers = createToolHeaders();
    headers.learn(
      listOf(declaring('a', { ...region, n: { properties: { m: { type: 'integer', 'x-mcp-header': 'M' } } } })),
    );
    expect(headers.of('a')).toEqual([
      { field: 'mcp-param-region', path: ['region'], isNumber: false },
      { field: 'mcp-param-m', path: ['n', 'm'], isNumber: true },
    ]);
    expect(headers.of('b')).toEqual([]);
  });

  test.each([
    ['what is no message', undefined],
    ['another result', { result: { content: [] } }],
    ['tools that are none', listOf(1, null, {}, { name: 'a' })],
    ['a list of prompts', { result: { prompts: [declaring('a', region)] } }],
    ['a name that no field has', listOf(declaring('a', { r: { 'x-mcp-header': 'a b' } }))],
    ['a name that is no text', listOf(declaring('a', { r: { 'x-mcp-header': 1 } }))],
    ['the root itself', listOf({ name: 'a', inputSchema: { 'x-mcp-header': 'Root' } })],
    ['items', listOf(declaring('a', { r: { items: { 'x-mcp-header': 'Item' } } }))],
    ['properties null', listOf({ name: 'a', inputSchema: { properties: null } })],
    ['properties that are none', listOf({ name: 'a', inputSchema: { properties: 1 } })],
  ])('are not learnt from %s', (_what, message) => {
    const headers = createToolHeaders();
    headers.learn(message);
    expect(headers.of('a')).toEqual([]);
  });

  test('are learnt from each answer of a batch', () => {
    const headers = createToolHeaders();
    headers.learn([listOf(declaring('a', region)), listOf(declaring('b', region))]);
    expect([headers.of('a'), headers.of('b')].map(({ length }) => length)).toEqual([1, 1]);
  });

  test('are read only in lists that may change what is known', () => {
    const headers = createToolHeaders();
    expect(headers.concerns(textOf({ name: 'a' }))).toBe(false);
    headers.learn(listOf({ name: 'a' }));
    expect(headers.concerns(textOf({ name: 'a' }))).toBe(false);
    expect(headers.concerns(Buffer.from(textOf(declaring('a', region))))).toBe(true);
    headers.learn(listOf(declaring('a', region)));
    expect(headers.concerns(textOf({ name: 'a' }))).toBe(true);
  });
});

describe('its memory is bounded', () => {
  test('by the number of tools: the least recently listed one is evicted', () => {
    const headers = createToolHeaders();
    headers.learn(listOf(declaring('first', region), declaring('second', region)));
    headers.learn(listOf(declaring('first', region)));
    headers.learn(listOf(...Array.from({ length: 999 }, (_, i) => declaring(`t${i}`, region))));
    expect([headers.of('first'), headers.of('second')].map(({ length }) => length)).toEqual([1, 0]);
  });

  test('by the number of headers, the depth, and the length of names', () => {
    const headers = createToolHeaders();
    const many = Array.from({ length: 40 }, (_, i) => [`p${i}`, { 'x-mcp-header': `P${i}` }]);
    let deep: object = { 'x-mcp-header': 'Deep' };
    for (let i = 0; i < 20; i += 1) deep = { properties: { p: deep } };
    headers.learn(
      listOf(
        declaring('many', Object.fromEntries(many) as object),
        { name: 'deep', inputSchema: deep },
        declaring('long', { ['k'.repeat(257)]: { 'x-mcp-header': 'Long' } }),
        declaring('n'.repeat(257), region),
      ),
    );
    expect(headers.of('many').at(-1)).toHaveProperty('field', 'mcp-param-p31');
    expect(['many', 'deep', 'long', 'n'.repeat(257)].map((tool) => headers.of(tool).length)).toEqual([32, 0, 0, 0]);
  });
});

test('and takes what is just within the bounds', () => {
  const headers = createToolHeaders();
  let deep: object = { 'x-mcp-header': 'Deep' };
  for (let i = 0; i < 16; i += 1) deep = { properties: { p: deep } };
  const long = { ['k'.repeat(256)]: { 'x-mcp-header': 'Long' } };
  headers.learn(
    listOf({ name: 'deep', inputSchema: deep }, declaring('long', long), declaring('n'.repeat(256), region)),
  );
  expect(['deep', 'long', 'n'.repeat(256)].map((tool) => headers.of(tool).length)).toEqual([1, 1, 1]);
});

test.each([
  ['integer', true],
  ['number', true],
  ['string', false],
  [undefined, false],
])('values of type %s are compared as numbers: %s', (type, isNumber) => {
  const headers = createToolHeaders();
  headers.learn(listOf(declaring('a', { n: { type, 'x-mcp-header': 'N' } })));
  expect(headers.of('a')).toEqual([{ field: 'mcp-param-n', path: ['n'], isNumber }]);
});

test('each upstream has a memory of its own', () => {
  const of = createToolHeaderMemory();
  of('http://a/mcp').learn(listOf(declaring('a', region)));
  expect(of('http://a/mcp').of('a')).toHaveLength(1);
  expect(of('http://b/mcp').of('a')).toEqual([]);
});

/** The refusal; undefined for a call that passes. */
function refusal(declared: readonly ToolHeader[], args: unknown, values: readonly string[]): unknown {
  const fields = [['Accept', '*/*'], ...values.map((value) => ['Mcp-Param-Region', value])] as const;
  const names = fields.map(([name]) => name.toLowerCase());
  return orDenial(() => requireParamHeaders(declared, args, { names, raw: fields.flat() }, 7));
}

const mismatch = { reason: 'message.header_mismatch', messageId: 7 };

const at = (...path: string[]): ToolHeader => ({ field: 'mcp-param-region', path, isNumber: false });
const number: ToolHeader = { ...at('n'), isNumber: true };
const encoded = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`;

test.each<[string, ToolHeader, unknown, string[]]>([
  ['the same text', at('r'), { r: 'eu' }, ['eu']],
  ['an empty text', at('r'), { r: '' }, ['']],
  ['space around', at('r'), { r: 'eu' }, [' eu\t']],
  ['an encoded text', at('r'), { r: 'é' }, [encoded('é')]],
  ['an argument further down', at('a', 'r'), { a: { r: 'eu' } }, ['eu']],
  ['a boolean', at('r'), { r: false }, ['false']],
  ['a number as JSON writes it', at('r'), { r: 42 }, ['42']],
  ['a fraction', at('r'), { r: 1.5 }, ['1.5']],
  ['a number in another spelling', number, { n: 42 }, ['42.00']],
  ['a negative one', number, { n: -1.5 }, ['-1.50']],
  ['a zero with a sign', number, { n: -0 }, ['-0']],
  ['a small one as JSON writes it', number, { n: 1e-7 }, ['1e-7']],
  ['neither', at('r'), {}, []],
  ['neither, and no arguments', at('r'), undefined, []],
  ['neither, where what is above is null', at('a', 'r'), { a: null }, []],
  ['neither, where what is above is a text', at('r', 'length'), { r: 'eu' }, []],
  ['neither: a member of Object.prototype is none', at('r', 'name'), { r: {} }, []],
  ['neither: the constructor is no argument', at('constructor', 'name'), {}, []],
  ['no header for null', at('r'), { r: null }, []],
  ['no header for a container', at('r'), { r: ['eu'] }, []],
  ['no header for an integer that is not exact', number, { n: 2 ** 53 }, []],
  ['no header for a number beyond all', number, { n: Infinity }, []],
])('MCP 2026-07-28 §Custom Headers: passes %s', (_, declared, args, values) => {
  expect(refusal([declared], args, values)).toBeUndefined();
});

test.each<[string, ToolHeader, unknown, string[]]>([
  ['another text', at('r'), { r: 'eu' }, ['us']],
  ['another case', at('r'), { r: 'eu' }, ['EU']],
  ['a header that is missing', at('r'), { r: 'eu' }, []],
  ['a header for an argument that is absent', at('r'), {}, ['eu']],
  ['a header for null', at('r'), { r: null }, ['null']],
  ['a header for a container', at('r'), { r: ['eu'] }, ['eu']],
  ['a broken encoding', at('r'), { r: 'eu' }, ['=?base64?e?=']],
  ['a broken encoding for an argument that is absent', at('r'), {}, ['=?base64?e?=']],
  ['a broken encoding for a number', number, { n: 1 }, ['=?base64?e?=']],
  ['a header that appears twice', at('r'), { r: 'eu' }, ['eu', 'eu']],
  ['a second header that says something else', at('r'), { r: 'eu' }, ['eu', 'us']],
  ['another boolean', at('r'), { r: true }, ['True']],
  ['another number', number, { n: 42 }, ['42.5']],
  ['a number that is no decimal', number, { n: 42 }, ['0x2a']],
  ['a number with a plus sign', number, { n: 42 }, ['+42']],
  ['a number with an exponent', number, { n: 42 }, ['4.2e1']],
  ['a number after other text', number, { n: 42 }, ['x42']],
  ['a number before other text', number, { n: 42 }, ['42.']],
  ['a number in words for one that is none', number, { n: '42' }, ['42.0']],
  ['a number where the tool declares a text', at('r'), { r: 42 }, ['42.0']],
  ['an integer that is not exact', number, { n: 2 ** 53 }, ['9007199254740992']],
  ['a number beyond all', number, { n: Infinity }, ['Infinity']],
])('R-105: MCP 2026-07-28 §Custom Headers: refuses %s, with the id', (_, declared, args, values) => {
  expect(refusal([declared], args, values)).toMatchObject(mismatch);
});

test('each declared header counts', () => {
  const other = { ...at('o'), field: 'mcp-param-other' };
  expect(refusal([other, at('r')], { r: 'eu' }, ['eu'])).toBeUndefined();
  expect(refusal([other, at('r')], { r: 'eu' }, ['us'])).toMatchObject(mismatch);
});

test('a tool that declares no header accepts any', () => {
  expect(refusal([], { r: 'eu' }, ['us', 'eu'])).toBeUndefined();
});
