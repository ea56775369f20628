import { describe, expect, test } from 'vitest';
import type { ConditionDocument } from '../../src/policy/document.ts';
import type { PolicyFault } from '../../src/policy/policy-error.ts';
import { compileTools } from '../../src/policy/tools.ts';

function table(...names: readonly string[]): Record<string, ConditionDocument> {
  return Object.fromEntries(names.map((name) => [name, {}]));
}

describe.each([
  ['in order', (names: readonly string[]) => names],
  ['reversed', (names: readonly string[]) => names.toReversed()],
])('%s', (_, arrange) => {
  const find = compileTools(
    table(...arrange(['get_price', 'get_*', 'get_price*', '*price', '*', 'a*c', 'a*d', 'ab*', '*_x', 'y_*'])),
    [],
  );
  test.each([
    ['get_price', 'get_price'],
    ['get_prices', 'get_price*'],
    ['get_other', 'get_*'],
    ['set_price', '*price'],
    ['get_a_price', '*price'],
    ['other', '*'],
    ['', '*'],
    // equally many literals: code unit order, where * comes before letters
    ['abc', 'a*c'],
    ['abd', 'a*d'],
    ['y_x', '*_x'],
  ])('%j is decided by %j', (tool, name) => {
    expect(find(tool)?.name).toBe(name);
  });
});

test('names like members of every object are names', () => {
  const tools: Record<string, ConditionDocument> = JSON.parse('{"__proto__":{}}');
  const find = compileTools(tools, []);
  expect(find('__proto__')?.name).toBe('__proto__');
  expect(find('constructor')).toBeUndefined();
});

test('no tool is none, even with *', () => {
  expect(compileTools(table('*'), [])(undefined)).toBeUndefined();
});

test('equal patterns are a fault', () => {
  const faults: PolicyFault[] = [];
  compileTools(table('get_*', 'get_**', 'other', '*', '***'), faults);
  expect(faults).toEqual([
    { path: ['tools', 'get_**'], message: 'matches the same tools as "get_*"; only one of them can apply' },
    { path: ['tools', '***'], message: 'matches the same tools as "*"; only one of them can apply' },
  ]);
});

test('a thousand names and a thousand patterns are found in time', () => {
  const numbers = Array.from({ length: 1000 }, (_, index) => String(index));
  const find = compileTools(table(...numbers.map((n) => `tool_${n}`), ...numbers.map((n) => `x_${n}_*`)), []);
  const begin = performance.now();
  for (let round = 0; round < 1000; round++) {
    expect.soft(find('tool_999')).toBeDefined();
    expect.soft(find('absent')).toBeUndefined();
  }
  expect(performance.now() - begin).toBeLessThan(1000);
});
