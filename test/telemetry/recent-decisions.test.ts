import { expect, test } from 'vitest';
import type { DecisionSummary } from '../../src/telemetry/decision-summary.ts';
import { createRates, ratePoints, SLOT_MS } from '../../src/telemetry/rates.ts';
import { createRecentDecisions } from '../../src/telemetry/recent-decisions.ts';

function decision(id: number, detail = ''): DecisionSummary {
  return { id: String(id), method: 'GET', detail } as DecisionSummary;
}

test('evicts the oldest decisions beyond the limit on their number', () => {
  const recent = createRecentDecisions(3);
  for (let id = 0; id < 5; id += 1) recent.add(decision(id));
  expect([...recent.newest()].map(({ id }) => id)).toEqual(['4', '3', '2']);
  expect([...recent.newest(4)].map(({ id }) => id)).toEqual(['4']);
  expect([recent.count, recent.find('2')?.id, recent.find('1')]).toEqual([5, '2', undefined]);
});

test('evicts the oldest decisions beyond the limit on their length', () => {
  const recent = createRecentDecisions(100, 3000);
  for (let id = 0; id < 10; id += 1) recent.add(decision(id, 'x'.repeat(500)));
  expect([...recent.newest()].map(({ id }) => id)).toEqual(['9', '8', '7']);
  recent.add(decision(10, 'x'.repeat(5000)));
  expect([...recent.newest()].map(({ id }) => id)).toEqual(['10']);
});

test('counts decisions by outcome and estimates quantiles, for an hour, over processes', () => {
  let now = 1_000_000 * SLOT_MS;
  const [one, other] = [createRates(() => now), createRates(() => now)];
  for (let ms = 1; ms <= 100; ms += 1) one.decision('allowed', ms);
  other.decision('refused', 10);
  other.upstream(2);
  const [point] = ratePoints([...one.slots(), ...other.slots()]);
  expect(point?.counts).toEqual({ allowed: 100, asked: 0, refused: 1, shadow: 0 });
  expect(point?.decision?.p50).toBeGreaterThan(40);
  expect(point?.decision?.p50).toBeLessThan(60);
  expect(point?.decision?.p99).toBeGreaterThan(85);
  expect(point?.upstream?.p50).toBeCloseTo(2, 0);
  now += 3_600_000;
  expect(one.slots()).toEqual([]);
});
