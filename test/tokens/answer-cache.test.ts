import { beforeEach, describe, expect, test } from 'vitest';
import type { KeptAnswer, SharedAnswers } from '../../src/ports/shared.ts';
import { Denial } from '../../src/core/model/denial.ts';
import { type Answer, AnswerCache, type AnswerSource } from '../../src/tokens/answer-cache.ts';
import { outcomeOf } from '../support/denial.ts';

interface Value {
  readonly of: string;
}

let now: number;
let asked: number;
let stored: Map<string, KeptAnswer>;
let isCurrent: boolean;

const answers: SharedAnswers = {
  get: async (kind, key) => stored.get(`${kind} ${key}`),
  set: (kind, key, answer, expiresAt) => void stored.set(`${kind} ${key}`, { answer, expiresAt }),
  delete: (kind, key) => void stored.delete(`${kind} ${key}`),
};

beforeEach(() => {
  [now, asked, stored, isCurrent] = [1_700_000_000_000, 0, new Map(), true];
});

const replica = (max = 10): AnswerCache<Value> =>
  new AnswerCache({ clock: () => now, max, isCurrent: () => isCurrent, store: { answers, kind: 'exchange' } });

/** Answers with the number of the question, for a minute. */
const question: AnswerSource<Value> = {
  async ask() {
    asked += 1;
    return { value: { of: `answer ${asked}` }, expiresAt: now + 60_000, shared: `answer ${asked}` };
  },
  read: (shared, expiresAt) => (typeof shared === 'string' ? { value: { of: shared }, expiresAt } : undefined),
  refusalMs: ({ refusal }) => (refusal.status === 503 ? 0 : 5_000),
};
const refusing = (refused: Error): AnswerSource<Value> => ({
  ...question,
  async ask() {
    throw refused;
  },
});
const refusal = new Denial('token.inactive', 'unknown');

/** An answer that comes when the test says so. */
function late() {
  const answer = Promise.withResolvers<Answer<Value>>();
  return {
    question: { ...question, ask: () => answer.promise },
    async come() {
      answer.resolve(await question.ask());
    },
  };
}

describe('an answer', () => {
  test('is used until it expires, by other replicas too', async () => {
    await replica().obtain('key', question);
    now += 59_999;
    const other = replica();
    expect(await other.obtain('key', question)).toEqual({ of: 'answer 1' });
    expect(other.get('key')).toEqual({ of: 'answer 1' });
    now += 1;
    expect(other.get('key')).toBeUndefined();
  });

  test('is given once to all that ask meanwhile', async () => {
    const cache = replica();
    const all = await Promise.all([1, 2, 3].map(() => cache.obtain('key', question)));
    expect(all.map(({ of }) => of)).toEqual(['answer 1', 'answer 1', 'answer 1']);
  });

  test('that has expired goes to the waiting callers alone, and replaces what replicas share', async () => {
    const cache = replica();
    await cache.obtain('key', question);
    const expired = { ask: async () => ({ value: { of: 'inactive' }, expiresAt: 0 }) };
    expect(await cache.renew('key', expired)).toEqual({ of: 'inactive' });
    expect(stored.size).toBe(0);
  });

  test('that is not current any more is asked for again', async () => {
    const cache = new AnswerCache<Value>({ clock: () => now, max: 9, isCurrent: () => isCurrent });
    await cache.obtain('key', question);
    isCurrent = false;
    expect(cache.get('key')).toBeUndefined();
    expect(await cache.obtain('key', question)).toEqual({ of: 'answer 2' });
  });

  test('is renewed past what the process keeps, for callers of its own', async () => {
    const cache = replica();
    const { read: _, ...pastStore } = question;
    const both = await Promise.all([cache.obtain('key', question), cache.renew('key', pastStore)]);
    expect(new Set(both.map(({ of }) => of))).toEqual(new Set(['answer 1', 'answer 2']));
    expect(await cache.renew('key', pastStore)).toEqual({ of: 'answer 3' });
    expect(cache.get('key')).toEqual({ of: 'answer 3' });
    stored.set('exchange key', { answer: 'of a replica', expiresAt: now + 1 });
    expect(await cache.renew('key', question)).toEqual({ of: 'of a replica' });
  });

  test('is evicted in one process, and deleted for all replicas', async () => {
    const cache = replica();
    await cache.obtain('key', question);
    cache.evict('key');
    expect([cache.get('key'), stored.size]).toEqual([undefined, 1]);
    cache.delete('key');
    expect([cache.get('key'), stored.size]).toEqual([undefined, 0]);
  });

  test('is kept by the store alone where the process keeps none', async () => {
    const cache = replica(0);
    await cache.obtain('key', question);
    expect(cache.get('key')).toBeUndefined();
    expect(cache.drop(() => true)).toEqual([]);
    expect(await cache.obtain('key', question)).toEqual({ of: 'answer 1' });
  });

  test('counts until it expires, unless a cache has another rule', async () => {
    const cache = new AnswerCache<Value>({ clock: () => now, max: 1 });
    await cache.obtain('key', question);
    now += 59_999;
    expect(cache.get('key')).toEqual({ of: 'answer 1' });
  });

  test('is there to evict once, and never in a cache that keeps none', async () => {
    for (const [max, found] of [
      [1, [true, false]],
      [0, [false, false]],
    ] as const) {
      const cache = new AnswerCache<Value>({ clock: () => now, max });
      await cache.obtain('key', question);
      expect([cache.evict('key'), cache.evict('key')]).toEqual(found);
    }
  });

  test.for([null, {}, 1])('that replicas share and that is unusable is asked for again: %j', async (answer) => {
    stored.set('exchange key', { answer, expiresAt: now + 60_000 });
    expect(await replica().obtain('key', question)).toEqual({ of: 'answer 1' });
  });
});

describe('values that are dropped', () => {
  test('are those that are meant, for all replicas', async () => {
    const cache = replica();
    await cache.obtain('a', question);
    await cache.obtain('b', question);
    expect(cache.drop(({ of }) => of === 'answer 1')).toEqual([['a', { of: 'answer 1' }]]);
    expect([cache.get('a'), cache.get('b')?.of, [...stored.keys()]]).toEqual([undefined, 'answer 2', ['exchange b']]);
  });

  test.for(['obtain', 'renew'] as const)('include those in flight, which the waiting callers get: %s', async (how) => {
    const cache = replica();
    const answer = late();
    const obtained = cache[how]('key', answer.question);
    cache.drop(() => false);
    await answer.come();
    expect(await obtained).toEqual({ of: 'answer 1' });
    expect([cache.get('key'), stored.size]).toEqual([undefined, 0]);
  });

  test('include one that the store is asked for', async () => {
    await replica().obtain('key', question);
    const cache = replica();
    const obtained = cache.obtain('key', question);
    cache.dropInFlight();
    await obtained;
    expect([cache.get('key'), stored.size]).toEqual([undefined, 0]);
  });
});

describe('a refusal', () => {
  test('is kept for its time, and shared with no replica', async () => {
    const cache = replica();
    expect(await outcomeOf(cache.obtain('key', refusing(refusal)))).toBe('token.inactive');
    now += 4_999;
    await expect(cache.obtain('key', question)).rejects.toMatchObject({ reason: 'token.inactive', detail: 'unknown' });
    expect(await replica().obtain('key', question)).toEqual({ of: 'answer 1' });
    now += 1;
    expect(await cache.obtain('key', question)).toEqual({ of: 'answer 1' });
  });

  test('is not kept where the process keeps nothing', async () => {
    const cache = replica(0);
    expect(await outcomeOf(cache.obtain('key', refusing(refusal)))).toBe('token.inactive');
    expect(cache.refusal('key')).toBeUndefined();
  });

  test('of a token ends the valid answer before it, here and for all replicas', async () => {
    const cache = replica();
    await cache.obtain('key', question);
    const past = (error: Error) => ({ ask: refusing(error).ask });
    await outcomeOf(cache.renew('key', past(new Denial('authorization_server.unavailable', 'away'))));
    expect([stored.size, cache.get('key')]).toEqual([1, { of: 'answer 1' }]);
    await outcomeOf(cache.renew('key', past(refusal)));
    expect([stored.size, cache.get('key')]).toEqual([0, undefined]);
  });

  test('is forgotten by a renewal, whatever its outcome', async () => {
    const cache = replica();
    await outcomeOf(cache.obtain('key', refusing(refusal)));
    await outcomeOf(cache.renew('key', refusing(new Denial('authorization_server.unavailable', 'away'))));
    expect(cache.refusal('key')).toBeUndefined();
  });

  test('is none if it is a bug, or an outage', async () => {
    const cache = replica();
    for (const error of [new TypeError('ours'), new Denial('authorization_server.unavailable', 'away')]) {
      await expect(cache.obtain('key', refusing(error))).rejects.toBe(error);
      expect(cache.refusal('key')).toBeUndefined();
    }
  });

  test('evicts no answer of another key', async () => {
    const cache = replica(1);
    await cache.obtain('key', question);
    await outcomeOf(cache.obtain('made up', refusing(refusal)));
    expect(cache.get('key')).toEqual({ of: 'answer 1' });
  });
});
