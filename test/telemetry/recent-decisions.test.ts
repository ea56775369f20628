import { randomBytes, randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { CallerSummary, DecisionSummary } from '../../src/telemetry/decision-summary.ts';
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

test('keeps each member of a decision, whatever it shares with others of its caller', () => {
  const caller = { subject: 'alice', length: 5 } as CallerSummary;
  const first: DecisionSummary = {
    at: 1_790_000_000_123,
    id: randomUUID(),
    requestId: randomUUID(),
    kind: 'refused',
    route: 'accounts',
    policy: 'accounts',
    caller,
    reason: 'claim.denied',
    detail: 'claim role: wanted "trader"',
    neededScope: 'payments',
    method: 'tools/call',
    tool: 'transfer',
    targets: undefined,
    rule: 'tools.transfer.claims.role',
    durationMs: 0.125,
    traceId: randomBytes(16).toString('hex'),
  };
  const other = { id: randomUUID(), requestId: randomUUID(), traceId: undefined, at: 1_790_000_000_456, durationMs: 3 };
  const changes: Partial<DecisionSummary>[] = [
    {},
    { kind: 'shadow' },
    { route: 'loans' },
    { policy: 'loans' },
    { caller: { ...caller, subject: 'bob' } },
    { caller: undefined },
    { reason: 'argument.denied' },
    { detail: 'claim role: missing' },
    { neededScope: undefined },
    { method: 'GET' },
    { tool: undefined },
    { targets: [{ kind: 'resource', name: 'file:///a' }] },
    { rule: undefined },
  ];
  const decisions = [first];
  for (const change of changes) decisions.push({ ...first, ...other, ...change });
  const recent = createRecentDecisions();
  for (const decision of [...decisions, ...decisions]) recent.add(decision);
  expect([...recent.newest()].toReversed()).toEqual([...decisions, ...decisions]);
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
