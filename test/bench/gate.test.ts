import { expect, test } from 'vitest';
import { cpuLines } from '../../bench/compare-cpu.ts';
import { missedGates } from '../../bench/table.ts';

const contenders = ['sallyport', 'sallyport@before', 'undici-floor'].map((name) => ({ name, does: '' }));

test.each([
  ['passes, whatever other load adds', [100, 180, 150], []],
  ['is missed', [106, 150, 180], ['get, least CPU compared with sallyport@before: 1.06 ×, and ≤ 1.05 × passes']],
])('a gate %s', (_, ours, missed) => {
  const samples = new Map([
    ['sallyport', ours],
    ['sallyport@before', [140, 100, 120]],
    ['undici-floor', [10, 10, 10]],
  ]);
  const lines = cpuLines(samples, contenders as never, { 'undici-floor': 1.1 });
  expect(missedGates([{ scenario: 'get', about: '', lines }])).toEqual(missed);
});
