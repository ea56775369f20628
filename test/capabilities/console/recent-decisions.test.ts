import { randomBytes, randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { mcpMethod, noMethod } from '../../../src/core/model/mcp.ts';
import type { Outcome } from '../../../src/core/model/outcome.ts';
import { ratePoints, Rates, SLOT_MS } from '../../../src/capabilities/console/rates.ts';
import { RecentDecisions } from '../../../src/capabilities/console/recent-decisions.ts';

function outcome(id: number, detail = ''): Outcome {
  const call = { decision: String(id), id: 'request', method: 'GET', startedAt: 0 };
  return { call, allow: false, denial: { reason: 'claim.denied', detail, scope: [] } } as unknown as Outcome;
}

test('evicts the oldest decisions beyond the limit on their number', () => {
  const recent = new RecentDecisions(3);
  for (let id = 0; id < 5; id += 1) recent.add(outcome(id), 0);
  expect([...recent.newest()].map(({ id }) => id)).toEqual(['4', '3', '2']);
  expect([...recent.newest(4)].map(({ id }) => id)).toEqual(['4']);
  expect([recent.count, recent.find('2')?.id, recent.find('1')]).toEqual([5, '2', undefined]);
});

test('R-315: keeps each path, and tells decisions on two paths apart', () => {
  const route = { protocol: 'http' };
  const client = '2001:db8:85a3:1234:5678:8a2e:370:7334';
  const on = (id: number, path: string): Outcome => {
    const { call, ...rest } = outcome(id);
    return { ...rest, call: { ...call, path, client }, route } as unknown as Outcome;
  };
  const recent = new RecentDecisions(10);
  const long = `/${'x'.repeat(300)}`;
  for (const [id, path] of ['/a', '/b', '/a', long].entries()) recent.add(on(id, path), 0);
  expect([...recent.newest()].map(({ path }) => path)).toEqual([long.slice(0, 256), '/a', '/b', '/a']);
  expect(recent.find('3')?.address).toBe(client);
  expect(recent.groups().map(({ decision, count }) => [decision.path?.slice(0, 3), count])).toEqual([
    ['/xx', 1],
    ['/a', 2],
    ['/b', 1],
  ]);
  expect(recent.select((_, path) => path === '/a', 10)).toMatchObject({ selected: 2, kept: 4 });
});

test('evicts the oldest decisions beyond the limit on their length', () => {
  const recent = new RecentDecisions(100, 3000);
  for (let id = 0; id < 10; id += 1) recent.add(outcome(id, 'x'.repeat(900)), 0);
  expect([...recent.newest()].map(({ id }) => id)).toEqual(['9', '8', '7']);
  recent.add(outcome(10, 'x'.repeat(5000)), 0);
  expect([...recent.newest()].map(({ id }) => id)).toEqual(['10']);
});

const alice = { issuer: 'https://as.example', subject: 'alice', clientId: 'agent', form: 'jwt', expiresAt: 7 };
const trace = { traceId: randomBytes(16).toString('hex') };
const first = {
  call: { decision: randomUUID(), id: randomUUID(), method: 'POST', startedAt: 1, trace },
  route: {
    name: 'accounts',
    policy: { name: 'tools', revision: 'tools', claimsRead: () => ({ role: 'clerk' }), innerCalls: () => [] },
  },
  principal: { ...alice, grantedScopes: ['read'], claims: {} },
  attempt: { kind: 'mcp', method: mcpMethod('tools/call'), targets: [{ kind: 'tool', name: 'transfer' }] },
  allow: false,
  rule: 'tools.transfer.claims.role',
  denial: { reason: 'claim.denied', detail: 'claim role: wanted "trader"', scope: ['payments'] },
  shadow: undefined,
  answer: { status: 403, challenges: ['Bearer error="insufficient_scope"'] },
  decidedAt: 1.125,
};
const record = {
  at: 1_790_000_000_123,
  id: first.call.decision,
  requestId: first.call.id,
  route: 'accounts',
  allow: false,
  shadow: false,
  reason: 'claim.denied',
  detail: 'claim role: wanted "trader"',
  subject: 'alice',
  clientId: 'agent',
  issuer: 'https://as.example',
  method: 'tools/call',
  tool: 'transfer',
  scope: 'read',
  neededScope: 'payments',
  policy: 'tools',
  rule: 'tools.transfer.claims.role',
  input: { claims: { role: 'clerk' } },
  durationMs: 0.125,
  traceId: first.call.trace.traceId,
  form: 'jwt',
  expiresAt: 7,
  answer: first.answer,
  kind: 'refused',
};

test('keeps each member of a decision, whatever it shares with others of its caller', () => {
  const { denial, attempt, call } = first;
  const resource = {
    kind: 'mcp',
    method: mcpMethod('resources/read'),
    targets: [{ kind: 'resource', name: 'file:///a' }],
  };
  const ofResource = { method: 'resources/read', tool: undefined };
  const input = { ...record.input, targets: resource.targets };
  const other = { ...resource, targets: [{ kind: 'resource', name: 'file:///b' }] };
  const inShadow = { allow: true, denial: undefined, shadow: denial, answer: undefined };
  const asGet = { kind: 'mcp', method: noMethod, targets: [] };
  const changes: readonly (readonly [outcome: object, record: object])[] = [
    [{}, {}],
    [inShadow, { allow: true, shadow: true, answer: undefined, kind: 'shadow' }],
    [{ route: { ...first.route, name: 'loans' } }, { route: 'loans' }],
    [{ principal: { ...first.principal, subject: 'bob' } }, { subject: 'bob' }],
    [{ denial: { ...denial, reason: 'argument.denied' } }, { reason: 'argument.denied' }],
    [{ denial: { ...denial, detail: 'claim role: missing' } }, { detail: 'claim role: missing' }],
    [{ denial: { ...denial, scope: [] } }, { neededScope: undefined }],
    [
      { attempt: asGet, call: { ...call, method: 'GET' } },
      { method: 'GET', tool: undefined },
    ],
    [{ attempt: { ...attempt, targets: [] } }, { tool: undefined }],
    [
      { attempt: { ...attempt, method: { ...attempt.method, name: 'tools/describe', hasArguments: false } } },
      { method: 'tools/describe', tool: undefined, input: { ...record.input, targets: attempt.targets } },
    ],
    [{ attempt: resource }, { ...ofResource, input }],
    [{ attempt: other }, { ...ofResource, input: { ...input, targets: other.targets } }],
    [{ rule: undefined }, { rule: undefined }],
    [{ answer: { ...first.answer, status: 200 } }, { answer: { ...first.answer, status: 200 } }],
    [{ answer: { status: 403, challenges: [] } }, { answer: { status: 403, challenges: [] } }],
    [{ answer: undefined }, { answer: undefined }],
  ];
  const recent = new RecentDecisions();
  for (const [change] of [...changes, ...changes]) recent.add({ ...first, ...change } as unknown as Outcome, record.at);
  const records = changes.map(([, change]) => Object.assign(structuredClone(record), change));
  expect([...recent.newest()].toReversed()).toEqual([...records, ...records]);
});

test('keeps what belongs to one decision alone', () => {
  const recent = new RecentDecisions();
  const call = { ...first.call, decision: randomUUID(), id: randomUUID(), trace: undefined };
  recent.add(first as unknown as Outcome, record.at);
  recent.add({ ...first, call, decidedAt: 4 } as unknown as Outcome, record.at + 333);
  const own = { at: record.at + 333, id: call.decision, requestId: call.id, traceId: undefined, durationMs: 3 };
  expect([...recent.newest()]).toEqual([{ ...record, ...own }, record]);
});

test('counts decisions that are alike but for what belongs to each alone', () => {
  const recent = new RecentDecisions();
  const other = { ...first, rule: 'other' };
  for (const each of [first, other, first]) recent.add(each as unknown as Outcome, record.at);
  expect(recent.groups().map(({ decision, count }) => [decision.rule, count])).toEqual([
    [record.rule, 2],
    ['other', 1],
  ]);
});

test('counts decisions by outcome and estimates quantiles, for an hour, over processes', () => {
  let now = 1_000_000 * SLOT_MS;
  const [one, other] = [new Rates(() => now), new Rates(() => now)];
  for (let ms = 1; ms <= 100; ms += 1) one.decision('allowed', ms);
  other.decision('refused', 10);
  other.upstream(2);
  const [point] = ratePoints([...one.slots(), ...other.slots()]);
  expect(point?.counts).toEqual({ allowed: 100, challenged: 0, refused: 1, unavailable: 0, shadow: 0 });
  expect(point?.decision?.p50).toBeGreaterThan(40);
  expect(point?.decision?.p50).toBeLessThan(60);
  expect(point?.decision?.p99).toBeGreaterThan(85);
  expect(point?.upstream?.p50).toBeCloseTo(2, 0);
  now += 3_600_000;
  expect(one.slots()).toEqual([]);
});
