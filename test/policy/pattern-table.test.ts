import { describe, expect, test } from 'vitest';
import { type FindEntry, compileEntries } from '../../src/policy/entry.ts';
import { namePattern } from '../../src/policy/pattern.ts';
import { patternTable } from '../../src/policy/pattern-table.ts';
import type { PolicyFault } from '../../src/policy/policy-error.ts';
import { cpuTime } from '../support/cpu-time.ts';

function finder(names: readonly string[], faults: PolicyFault[] = []): FindEntry {
  const documents = Object.fromEntries(names.map((name) => [name, {}]));
  const { exact, matching } = patternTable(compileEntries('tools', { tools: documents }, faults), namePattern, faults);
  return (name) => exact(name) ?? matching(name);
}

describe.each([
  ['in order', (names: readonly string[]) => names],
  ['reversed', (names: readonly string[]) => names.toReversed()],
])('%s', (_, arrange) => {
  const names = arrange(['get_price', 'get_*', 'get_price*', '*price', '*', 'a*c', 'a*d', 'ab*', '*_x', 'y_*']);
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
  ])('R-90: %j is decided by %j', (tool, name) => {
    expect(finder(names)(tool)?.name).toBe(name);
  });
});

test('a name may be that of a member that every object inherits', () => {
  const find = finder(['__proto__']);
  expect(find('__proto__')?.name).toBe('__proto__');
  expect(find('constructor')).toBeUndefined();
});

test('reports equal patterns', () => {
  const faults: PolicyFault[] = [];
  finder(['get_*', 'get_**', 'other', '*', '***'], faults);
  expect(faults).toEqual([
    { path: ['tools', 'get_**'], message: 'matches the same tools as "get_*"; only one of them can apply' },
    { path: ['tools', '***'], message: 'matches the same tools as "*"; only one of them can apply' },
  ]);
});

test('finds names among a thousand names and a thousand patterns in time', () => {
  const numbers = Array.from({ length: 1000 }, (_, index) => String(index));
  const find = finder([...numbers.map((n) => `tool_${n}`), ...numbers.map((n) => `x_${n}_*`)]);
  expect([find('tool_999')?.name, find('absent')]).toEqual(['tool_999', undefined]);
  const ms = cpuTime(() => {
    for (let round = 0; round < 1000; round++) {
      find('tool_999');
      find('absent');
    }
  });
  expect(ms).toBeLessThan(1000);
});
