import { beforeEach, describe, expect, test } from 'vitest';
import { type ApprovalBook, type AskedCall, OVER_MS } from '../../../src/capabilities/approvals/book.ts';
import type { StoreConnection } from '../../../src/ports/store.ts';
import { MemoryApprovals } from '../../../src/capabilities/approvals/memory-approvals.ts';
import { hasRedis, startRedis } from '../../support/redis.ts';
import { startBeforeAll } from '../../support/start-before.ts';
import { asked } from '../shared-store/asked-call.ts';
import { approvalsAt, available, closeOpened, PATIENT_MS } from '../shared-store/opened.ts';

const bounds = { ofOwner: 3, ofAll: 5, bytesOfOwner: 9_000, bytes: 10_000 };

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

  test('keeps the claims of the caller that approvers are compared with, in lists too', async () => {
    const call = asked('a');
    const asker = '{"tenant":"acme"}';
    const id = await idOf({ ...call, request: { ...call.request, asker } });
    expect(await book.find('tools', id)).toMatchObject({ asker });
    expect(await book.list('tools')).toMatchObject([{ asker }]);
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

  test('is bounded in bytes, by caller and in all', async () => {
    const long = (digest: string, owner: string, length = 4000): AskedCall => {
      const call = asked(digest, { owner });
      const { request } = call;
      return { ...call, request: { ...request, call: { ...request.call, arguments: `"${'x'.repeat(length)}"` } } };
    };
    const kindOf = async (call: AskedCall): Promise<string> => (await book.ask(call)).kind;
    expect(await kindOf(long('a', 'alice', 12_000))).toBe('full');
    const id = await idOf(long('a', 'alice'));
    expect(await book.ask(long('b', 'alice', 6_000))).toMatchObject({
      kind: 'full',
      detail: expect.stringMatching(/^\d+ bytes of this caller are kept$/),
    });
    expect(await kindOf(long('c', 'bob', 1_000))).toBe('waiting');
    expect(await book.ask(long('d', 'carol', 5_000))).toMatchObject({
      kind: 'full',
      detail: expect.stringMatching(/^\d+ bytes are kept$/),
    });
    await book.expire('tools', id);
    expect(await kindOf(long('b', 'alice'))).toBe('waiting');
  });

  test('lists requests without the arguments of their calls', async () => {
    const id = await idOf(asked('a'));
    const [listed] = await book.list('tools');
    expect(listed).toMatchObject({ id, call: { name: 'pay' } });
    expect(listed?.call).not.toHaveProperty('arguments');
    expect(await book.find('tools', id)).toMatchObject({ call: { arguments: '{"n":1}' } });
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

describe.runIf(hasRedis)('in a store', () => {
  const redis = startBeforeAll(startRedis);
  let connection: StoreConnection;
  beforeEach(async () => {
    ({ connection } = await available(redis.url, PATIENT_MS));
    await redis.client.flushAll();
    return closeOpened;
  });

  behaves(() => ({
    book: approvalsAt(connection, { bounds }),
    pass: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  }));

  test('lists without reading the arguments, in pages of a bounded size', async () => {
    const book = approvalsAt(connection, {
      bounds: { ...bounds, ofOwner: 150, ofAll: 150, bytesOfOwner: 1e9, bytes: 1e9 },
    });
    for (let index = 0; index < 150; index += 1) {
      const { request, ...rest } = asked(`${index}`);
      const name = 'n'.repeat(3_000);
      const call = { ...request.call, name, arguments: `"${'x'.repeat(50_000)}"` };
      await book.ask({ ...rest, request: { ...request, call } });
    }
    const sent = async (): Promise<number> =>
      Number(/total_net_output_bytes:(\d+)/.exec(await redis.client.info('stats'))?.[1]);
    const steps = async (): Promise<number> =>
      Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis.client.info('commandstats'))?.[1]);
    const [bytesBefore, stepsBefore] = [await sent(), await steps()];
    const listed = await book.list('tools');
    expect(new Set(listed.map(({ id }) => id)).size).toBe(150);
    expect((await sent()) - bytesBefore).toBeLessThan(150 * 6_000);
    // About fifteen heads of 4 KiB fill a page.
    expect((await steps()) - stepsBefore).toBeGreaterThan(8);
  });

  test('keeps all keys of a route in one slot', async () => {
    const book = approvalsAt(connection);
    await book.ask(asked('a'));
    const keys = await redis.client.keys('*');
    expect(keys.length).toBeGreaterThan(3);
    expect(new Set(keys.map((key) => /\{[\w-]{43}\}/.exec(key)?.[0])).size).toBe(1);
  });
});
