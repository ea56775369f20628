import { expect, test } from 'vitest';
import { soak } from '../bench/soak/soak.ts';
import { verdict } from '../bench/soak/verdict.ts';

test('accounts for every request of a mixed load, and leaks nothing', { timeout: 300_000 }, async () => {
  const soaked = await soak({
    durationMs: 12_000,
    perSecond: 50,
    sampleMs: 2_000,
    editMs: 2_000,
    tokenSeconds: 60,
    onSample: () => {},
  });
  const { totals, problems } = soaked.ledger;
  expect(problems).toEqual([]);
  expect(verdict(soaked).filter(({ holds, dependsOnMachine }) => holds === false && dependsOnMachine !== true)).toEqual(
    [],
  );
  expect([...totals.reached.keys()].toSorted()).toEqual(['api', 'events', 'mcp', 'sessions', 'socket']);
});
