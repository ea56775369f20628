import { beforeEach, describe, expect, test } from 'vitest';
import { type ApprovalBook, type AskedCall, OVER_MS } from '../../src/model/approval-book.ts';
import { createMemoryLedger } from '../../src/store/memory-ledger.ts';
import { answerTo, createAskingApprovals, takeReply } from '../../src/serve/workers/worker-messages.ts';
import { SharedApprovals } from '../../src/store/approvals.ts';
import type { StoreConnection } from '../../src/store/connection.ts';
import { MemoryApprovals } from '../../src/store/memory-approvals.ts';
import { hasRedis, startRedis } from '../support/redis.ts';
import { startBeforeAll } from '../support/start-before.ts';
import { asked } from './asked-call.ts';
import { available, closeOpened, sealing } from './opened.ts';

const bounds = { ofOwner: 3, ofAll: 5, bytes: 3000 };

interface Kind {
  readonly book: ApprovalBook;
  /** Lets time pass. */
  readonly pass: (ms: number) => Promise<void>;
}

function behaves(make: () => Kind): void {
  let book: ApprovalBook;
  let pass: Kind['pass'];
  beforeEach(() => {
    ({ book, pass } = make());
  });
  const idOf = async (call: AskedCall): Promise<string> => {
    const answer = await book.ask(call);
    if (answer.kind === 'full') throw new TypeError(answer.detail);
    return answer.approval.id;
  };
  const approve = async (id: string): Promise<void> => {
    expect(await book.decide('tools', id, 'approve')).toMatchObject({ isDone: true, approval: { status: 'approved' } });
  };

  test('finds the request that waits, and takes its approval once', async () => {
    const first = await book.ask(asked('a'));
    expect(first).toMatchObject({ kind: 'waiting', isNew: true, approval: { status: 'pending' } });
    const id = first.kind === 'full' ? '' : first.approval.id;
    expect(await book.ask(asked('a'))).toMatchObject({ kind: 'waiting', isNew: false, approval: { id } });
    await approve(id);
    const answers = await Promise.all(Array.from({ length: 50 }, async () => book.ask(asked('a'))));
    expect(answers.filter(({ kind }) => kind === 'taken')).toHaveLength(1);
    expect(await book.find('tools', id)).toMatchObject({ status: 'used' });
    expect(await book.decide('tools', id, 'approve')).toMatchObject({ isDone: false });
    expect((await book.list('tools')).map(({ status }) => status)).toEqual(['pending']);
  });

  test('gives back what was not used, and ends what was asked for meanwhile', async () => {
    const id = await idOf(asked('a'));
    await approve(id);
    expect(await book.ask(asked('a'))).toMatchObject({ kind: 'taken' });
    const newer = await idOf(asked('a'));
    await book.settle('tools', id, { unused: true });
    expect(await book.find('tools', newer)).toMatchObject({ status: 'expired' });
    expect(await book.ask(asked('a'))).toMatchObject({ kind: 'taken', approval: { id } });
    await book.settle('tools', id, 'used');
    await book.settle('tools', id, { unused: true });
    expect(await idOf(asked('b'))).not.toBe(id);
  });

  test('lets the next round of a call pass once, and of no other call', async () => {
    const id = await idOf(asked('a'));
    await approve(id);
    await book.ask(asked('a'));
    await book.settle('tools', id, { round: 'r1' });
    expect(await book.ask(asked('b', { continues: 'r1' }))).toMatchObject({ kind: 'waiting' });
    expect(await book.ask(asked('a', { continues: 'r1' }))).toMatchObject({ kind: 'taken', approval: { id } });
    expect(await book.ask(asked('a', { continues: 'r1' }))).toMatchObject({ kind: 'waiting' });
  });

  test('keeps a denial until its end, or until it is withdrawn', async () => {
    const id = await idOf(asked('a'));
    expect(await book.decide('tools', id, 'withdraw')).toMatchObject({ isDone: false });
    await book.decide('tools', id, 'deny');
    expect(await book.ask(asked('a'))).toMatchObject({ kind: 'denied', approval: { id } });
    expect(await book.decide('tools', id, 'approve')).toMatchObject({ isDone: false });
    await book.decide('tools', id, 'withdraw');
    expect(await book.ask(asked('a'))).toMatchObject({ kind: 'waiting', isNew: true });
    expect(await book.decide('tools', 'unknown', 'deny')).toBeFalsy();
    expect(await book.find('tools', 'unknown')).toBeFalsy();
  });

  test('ends what waits too long and what is not used in time, and tells of it once', async () => {
    const unused = await idOf(asked('b', { validMs: 20 }));
    expect(await book.sweep('tools')).toMatchObject({ expired: [], waiting: 1 });
    await approve(unused);
    const late = await idOf(asked('a', { waitMs: 20 }));
    await pass(60);
    expect(await book.decide('tools', late, 'approve')).toMatchObject({ isDone: false });
    expect(await book.ask(asked('b'))).toMatchObject({ kind: 'waiting', isNew: true });
    const { expired, waiting } = await book.sweep('tools');
    expect(waiting).toBe(1);
    expect([...expired, ...(await book.sweep('tools')).expired].map(({ id }) => id).toSorted()).toEqual(
      expect.arrayContaining([unused]) as string[],
    );
    expect((await book.sweep('tools')).expired).toEqual([]);
  });

  test('ends a request whose entry has changed', async () => {
    const id = await idOf(asked('a'));
    await book.expire('tools', id);
    expect(await book.find('tools', id)).toMatchObject({ status: 'expired' });
    expect(await book.list('tools')).toEqual([]);
  });

  test('is bounded, by caller and in all, and forgets nothing for another', async () => {
    const ids = await Promise.all(['a', 'b', 'c'].map(async (digest) => idOf(asked(digest))));
    expect(await book.ask(asked('d'))).toMatchObject({ kind: 'full' });
    await idOf(asked('d', { owner: 'bob' }));
    await idOf(asked('e', { owner: 'bob' }));
    expect(await book.ask(asked('f', { owner: 'carol' }))).toMatchObject({ kind: 'full' });
    expect((await book.list('tools')).map(({ digest }) => digest)).toEqual(['a', 'b', 'c', 'd', 'e']);
    await approve(ids[0] ?? '');
    await book.ask(asked('a'));
    await idOf(asked('f', { owner: 'carol' }));
  });

  test('is bounded in bytes', async () => {
    const long = asked('a');
    const request = { ...long.request, call: { ...long.request.call, arguments: `"${'x'.repeat(4000)}"` } };
    expect(await book.ask({ ...long, request })).toMatchObject({ kind: 'full' });
  });
}

describe('in memory', () => {
  behaves(() => {
    let now = 1_000_000;
    return {
      book: new MemoryApprovals(() => now, bounds),
      pass: async (ms) => void (now += ms),
    };
  });

  test('forgets what is over', () => {
    let now = 0;
    const book = new MemoryApprovals(() => now, bounds);
    const answer = book.ask(asked('a', { waitMs: 1 }));
    const id = answer.kind === 'full' ? '' : answer.approval.id;
    now = 2;
    expect(book.find('tools', id)).toMatchObject({ status: 'expired' });
    now += OVER_MS;
    expect(book.find('tools', id)).toBeUndefined();
  });
});

describe('of workers, which ask the primary process', () => {
  behaves(() => {
    let now = 1_000_000;
    const kept = new MemoryApprovals(() => now, bounds);
    const book = createAskingApprovals((question) => {
      const parts = { ledger: createMemoryLedger(() => now), approvals: () => kept, revocation: undefined };
      const reply = async (): Promise<void> => {
        const answer = await answerTo(structuredClone(question), parts);
        takeReply(structuredClone({ number: question.number, answer }));
      };
      setImmediate(() => void reply());
    });
    return {
      book,
      pass: async (ms) => void (now += ms),
    };
  });

  test('refuses a call that gets no answer in time', async () => {
    const book = createAskingApprovals(() => {}, 1);
    await expect(book.ask(asked('a'))).rejects.toMatchObject({ reason: 'shared_store.unavailable' });
    await expect(book.settle('tools', 'a', { unused: true })).resolves.toBeUndefined();
  });
});

describe.runIf(hasRedis)('in a store', () => {
  const redis = startBeforeAll(startRedis);
  let connection: StoreConnection;
  beforeEach(async () => {
    ({ connection } = await available(redis.url));
    await redis.client.flushAll();
    return closeOpened;
  });

  behaves(() => ({
    book: new SharedApprovals({ connection, sealing, bounds }),
    pass: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  }));

  test('keeps all keys of a route in one slot', async () => {
    const book = new SharedApprovals({ connection, sealing });
    await book.ask(asked('a'));
    const keys = await redis.client.keys('*');
    expect(keys.length).toBeGreaterThan(3);
    expect(new Set(keys.map((key) => /\{[\w-]{43}\}/.exec(key)?.[0])).size).toBe(1);
  });
});
