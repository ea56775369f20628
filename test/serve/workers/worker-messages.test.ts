import { expect, test } from 'vitest';
import { createMemoryLedger } from '../../../src/capabilities/history/memory-ledger.ts';
import type { Ledger, Reservation } from '../../../src/core/model/ledger.ts';
import {
  answerTo,
  createAskingLedger,
  createAskingReceiver,
  type Question,
  takeReply,
} from '../../../src/serve/workers/worker-messages.ts';

const passed = { passed: true, failed: undefined };
const refusal = { passed: false, failed: { why: 'check', check: 0, retryAfterMs: 0 } };

function call(id: string, wanted: Partial<Reservation> = {}): Reservation {
  const entries = [{ track: 't', amount: 0, keepMs: 1000 }];
  return { id, route: 'main', owner: 'alice', checks: [], entries, isShadow: false, continues: undefined, ...wanted };
}

const looks = (kind: 'after' | 'never_after'): Reservation =>
  call(`looks-${kind}`, { entries: [], checks: [{ kind, track: 't', amount: 0, limit: 0 }] });

const unused = (): never => {
  throw new TypeError('the ledger alone is asked');
};

/** Messages between processes are copies, and arrive later. */
function workersOf(count: number): readonly Ledger[] {
  const kept = { ledger: createMemoryLedger(() => 0), approvals: unused, revocation: undefined };
  return Array.from({ length: count }, () =>
    createAskingLedger((question) => {
      setImmediate(() => {
        const answer = answerTo(structuredClone(question), kept);
        takeReply(structuredClone({ number: question.number, answer }));
      });
    }),
  );
}

test('R-255: counts the calls of all workers together', async () => {
  const [one, other] = workersOf(2) as [Ledger, Ledger];
  expect(await one.reserve(call('a'))).toEqual(passed);
  expect(await other.reserve(looks('never_after'))).toEqual(refusal);
  expect(await other.reserve(looks('after'))).toEqual(refusal);
  await one.settle('a', 'answered', 'main');
  expect(await other.reserve(looks('after'))).toEqual(passed);
});

test('refuses a call that gets no answer in time, and gives it back', async () => {
  const asked: Question[] = [];
  const ledger = createAskingLedger((question) => void asked.push(question), { patienceMs: 1 });
  await expect(ledger.reserve(call('a'))).rejects.toMatchObject({ reason: 'shared_store.unavailable' });
  expect(asked).toEqual([
    expect.objectContaining({ reserve: call('a') }),
    expect.objectContaining({ settle: 'a', outcome: 'returned' }),
  ]);
  // An answer that comes too late changes nothing.
  takeReply({ number: asked[0]?.number ?? 0, answer: passed });
  await expect(ledger.settle('a', 'answered', 'main')).resolves.toBeUndefined();
});

test('lets a bounded number of calls wait', async () => {
  const asked: Question[] = [];
  const ledger = createAskingLedger((question) => void asked.push(question), { maxWaiting: 1 });
  const first = ledger.reserve(call('a'));
  await expect(ledger.reserve(call('b'))).rejects.toThrow('1 calls wait for the primary process');
  await ledger.settle('b', 'answered', 'main');
  expect(asked).toHaveLength(1);
  takeReply({ number: asked[0]?.number ?? 0, answer: passed });
  expect(await first).toEqual(passed);
});

test('answers 503 to a flood of revocation events, and does not pass it on', async () => {
  const asked: Question[] = [];
  const receive = createAskingReceiver((question) => void asked.push(question));
  const event = { ask: 'push', source: 'idp', set: 'forged' } as const;
  const answers = Array.from({ length: 500 }, () => receive(event));
  expect(await receive(event)).toEqual({ status: 503 });
  expect(asked).toHaveLength(500);
  for (const { number } of asked) takeReply({ number, answer: { status: 202 } });
  expect(new Set((await Promise.all(answers)).map(({ status }) => status))).toEqual(new Set([202]));
});
