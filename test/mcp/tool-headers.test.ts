import { describe, expect, test } from 'vitest';
import { createToolHeaderMemory, createToolHeaders } from '../../src/mcp/tool-headers.ts';

const listOf = (...tools: readonly unknown[]): string => JSON.stringify({ id: 1, result: { tools } });
const declaring = (name: string, properties: object): object => ({ name, inputSchema: { properties } });
const region = { region: { type: 'string', 'x-mcp-header': 'Region' } };

describe('what a list declares', () => {
  test('is learnt along properties, with the type', () => {
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
    ['what is no JSON', '{'],
    ['another result', '{"result":{"content":[]}}'],
    ['tools that are none', listOf(1, null, {}, { name: 'a' })],
    ['a name that no field has', listOf(declaring('a', { r: { 'x-mcp-header': 'a b' } }))],
    ['a name that is no text', listOf(declaring('a', { r: { 'x-mcp-header': 1 } }))],
    ['the root itself', listOf({ name: 'a', inputSchema: { 'x-mcp-header': 'Root' } })],
    ['items', listOf(declaring('a', { r: { items: { 'x-mcp-header': 'Item' } } }))],
    ['properties null', listOf({ name: 'a', inputSchema: { properties: null } })],
    ['properties that are none', listOf({ name: 'a', inputSchema: { properties: 1 } })],
  ])('%s teaches nothing', (_what, text) => {
    const headers = createToolHeaders();
    headers.learn(text);
    expect(headers.of('a')).toEqual([]);
  });

  test('is taken from each answer of a batch', () => {
    const headers = createToolHeaders();
    headers.learn(`[${listOf(declaring('a', region))},${listOf(declaring('b', region))}]`);
    expect([headers.of('a'), headers.of('b')].map(({ length }) => length)).toEqual([1, 1]);
  });

  test('only lists that may say something new are read', () => {
    const headers = createToolHeaders();
    expect(headers.concerns(listOf({ name: 'a' }))).toBe(false);
    headers.learn(listOf({ name: 'a' }));
    expect(headers.concerns(listOf({ name: 'a' }))).toBe(false);
    expect(headers.concerns(Buffer.from(listOf(declaring('a', region))))).toBe(true);
    headers.learn(listOf(declaring('a', region)));
    expect(headers.concerns(listOf({ name: 'a' }))).toBe(true);
  });
});

describe('its memory is bounded', () => {
  test('by the number of tools: the one listed longest ago is forgotten', () => {
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

test('what is just within the bounds is learnt', () => {
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

test('each upstream has its own', () => {
  const of = createToolHeaderMemory();
  of('http://a/mcp').learn(listOf(declaring('a', region)));
  expect(of('http://a/mcp').of('a')).toHaveLength(1);
  expect(of('http://b/mcp').of('a')).toEqual([]);
});
