import { beforeEach, expect, test } from 'vitest';
import { createExchangeMemory, type ExchangeMemory } from '../../../src/pipeline/exchange/token-exchange.ts';
import { Denial } from '../../../src/model/denial.ts';
import type { Principal } from '../../../src/model/principal.ts';
import type { KeptAnswer, SharedAnswers } from '../../../src/model/shared.ts';

let now: number;
let kept: Map<string, KeptAnswer>;
let exchanges: number;

const answers: SharedAnswers = {
  get: async (_kind, key) => kept.get(key),
  set: (_kind, key, answer, expiresAt) => void kept.set(key, { answer, expiresAt }),
  delete: (_kind, key) => void kept.delete(key),
};
const alice = { issuer: 'https://a.example', subject: 'alice' } as Principal;
const replica = (): ExchangeMemory => createExchangeMemory(() => now, answers);
const exchange = async () => {
  exchanges += 1;
  return { credential: { value: `Bearer ${exchanges}`, obtainedAt: now }, expiresAt: now + 60_000 };
};

beforeEach(() => {
  now = 1_700_000_000_000;
  kept = new Map();
  exchanges = 0;
});

test('shares an exchanged credential with other replicas until it expires', async () => {
  await replica().obtain('key', alice, exchange);
  now += 50_000;
  const other = replica();
  expect(await other.obtain('key', alice, exchange)).toEqual({ value: 'Bearer 1', obtainedAt: now - 50_000 });
  expect(other.get('key')?.value).toBe('Bearer 1');
  now += 10_000;
  expect(other.get('key')).toBeUndefined();
});

test('removes an invalidated credential for all replicas', async () => {
  const one = replica();
  await one.obtain('key', alice, exchange);
  one.invalidate('key');
  expect(kept.size).toBe(1);
  now += 5000;
  one.invalidate('key');
  expect(kept.size).toBe(0);
  expect((await replica().obtain('key', alice, exchange)).value).toBe('Bearer 2');
});

test('drops the credentials of a caller for all replicas, and of no other', async () => {
  const one = replica();
  await one.obtain('key', alice, exchange);
  await one.obtain('of bob', { ...alice, subject: 'bob' }, exchange);
  one.drop(({ subject }) => subject === 'alice');
  expect([one.get('key'), one.get('of bob')?.value, [...kept.keys()]]).toEqual([undefined, 'Bearer 2', ['of bob']]);
});

test('does not keep an answer that was under way when credentials were dropped', async () => {
  const one = replica();
  const answer = Promise.withResolvers<Awaited<ReturnType<typeof exchange>>>();
  const obtained = one.obtain('key', alice, () => answer.promise);
  await Promise.resolve();
  one.drop(() => true);
  answer.resolve(await exchange());
  expect((await obtained).value).toBe('Bearer 1');
  expect([one.get('key'), kept.size]).toEqual([undefined, 0]);
});

test('does not share a refusal', async () => {
  const refused = async (): Promise<never> => {
    throw new Denial('exchange.refused', '');
  };
  await expect(replica().obtain('key', alice, refused)).rejects.toMatchObject({ reason: 'exchange.refused' });
  expect(kept.size).toBe(0);
  expect((await replica().obtain('key', alice, exchange)).value).toBe('Bearer 1');
});

test.for([null, 'Bearer 0', {}, { value: 'Bearer 0' }, { value: 0, obtainedAt: 0 }])(
  'what is kept and is no credential is none: %j',
  async (answer) => {
    kept.set('key', { answer, expiresAt: now + 60_000 });
    expect((await replica().obtain('key', alice, exchange)).value).toBe('Bearer 1');
  },
);
