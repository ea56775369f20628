import { monitorEventLoopDelay } from 'node:perf_hooks';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  type AskAnswer,
  type AskedCall,
  type KeptApproval,
  OVER_MS,
} from '../../../src/capabilities/approvals/book.ts';
import type { SharedApprovals } from '../../../src/capabilities/approvals/stored-approvals.ts';
import type { StoreConnection } from '../../../src/ports/store.ts';
import { hasRedis, startRedis } from '../../support/redis.ts';
import { startBeforeAll } from '../../support/start-before.ts';
import { asked } from './asked-call.ts';
import { approvalsAt, available, closeOpened } from './opened.ts';

/** A party that may read and write every key of the store, and has no key of a replica. */
interface Writer {
  /** All keys as they are now. */
  copy(): Promise<ReadonlyMap<string, Buffer>>;
  /** Puts keys back as they were, without an end. */
  restore(kept: ReadonlyMap<string, Buffer>, keys?: RegExp): Promise<void>;
  /** The keys of a kind, as `r:`. */
  keysOf(kind: string): Promise<readonly string[]>;
}

/** The requests in the answer of any step. */
function approvalsIn(answer: unknown): readonly KeptApproval[] {
  if (typeof answer !== 'object' || answer === null) return [];
  if ('endsAt' in answer) return [answer as KeptApproval];
  return Object.values(answer).flatMap(approvalsIn);
}

const unavailable = 'shared_store.unavailable';

describe.runIf(hasRedis)('a writer of the store', () => {
  const redis = startBeforeAll(startRedis);
  let connection: StoreConnection;
  let now = Date.now();
  let corrupt: string[];
  let book: SharedApprovals;
  /** Another replica, which saw nothing. */
  let other: SharedApprovals;
  let writer: Writer;

  beforeEach(async () => {
    ({ connection } = await available(redis.url));
    await redis.client.flushAll();
    now = Date.now();
    corrupt = [];
    const replica = (): SharedApprovals => approvalsAt(connection, { clock: () => now, corrupt });
    [book, other] = [replica(), replica()];
    const { client } = redis;
    const raw = client.withTypeMapping({ 36: Buffer } as never);
    writer = {
      async copy() {
        const kept = new Map<string, Buffer>();
        for (const key of await client.keys('*')) {
          const value: unknown = await raw.dump(key);
          if (Buffer.isBuffer(value)) kept.set(key, value);
        }
        return kept;
      },
      async restore(kept, keys = /^/) {
        for (const [key, value] of kept) {
          if (keys.test(key)) await client.sendCommand(['RESTORE', key, '0', value, 'REPLACE']);
        }
      },
      keysOf: async (kind) => (await client.keys(`*:${kind}*`)).toSorted(),
    };
    return closeOpened;
  });

  const idOf = async (call: AskedCall): Promise<string> => {
    const answer = await book.ask(call);
    if (answer.kind === 'full') throw new TypeError(answer.detail);
    return answer.approval.id;
  };
  const approved = async (call: AskedCall): Promise<string> => {
    const id = await idOf(call);
    await book.decide('tools', id, 'approve');
    return id;
  };
  /** The reason for which a call is refused, if the log names the key too. */
  const refusal = async (answer: Promise<AskAnswer>): Promise<unknown> => {
    const reason: unknown = await answer.then(
      ({ kind }) => kind,
      (error: unknown) => (error as { reason?: unknown }).reason,
    );
    return corrupt.length > 0 ? reason : 'not logged';
  };

  describe('cannot use the approval of one call', () => {
    const another = asked('b', { owner: 'mallory' });
    const bobs = { ...another.request, caller: { ...another.request.caller, subject: 'mallory' } };

    test.each<[what: string, call: AskedCall]>([
      ['another call', asked('b')],
      ['another entry', { ...asked('a'), request: { ...asked('a').request, identity: 'j' } }],
      ['another caller', { ...another, request: bobs }],
    ])('for %s, by pointing it there', async (_what, call) => {
      const id = await approved(asked('a'));
      // The name of the key is known once the other call has asked.
      const before = new Set(await writer.keysOf('b:'));
      await book.ask(call);
      const key = (await writer.keysOf('b:')).find((each) => !before.has(each));
      await redis.client.set(key ?? '', id);
      expect(await refusal(other.ask(call))).toBe(unavailable);
    });

    test.each<[what: string, request: AskedCall['request']]>([
      ['another caller', { ...bobs, digest: 'a' }],
      ['other rules', { ...asked('a').request, rules: ['tools.drop.approval'] }],
    ])('for %s, whatever the digest says', async (_what, request) => {
      await approved(asked('a'));
      expect(await refusal(other.ask({ ...asked('a'), request }))).toBe(unavailable);
    });

    test('by moving it to the request of another call', async () => {
      const id = await approved(asked('a'));
      const foreign = await idOf(asked('b'));
      const prefix = (await writer.keysOf('r:'))[0]?.replace(/r:.*$/, 'r:') ?? '';
      const fields = await redis.client.hGetAll(prefix + id);
      const { proof = '', status = '', body = '' } = fields;
      await redis.client.hSet(prefix + foreign, { proof, status });
      expect(await refusal(other.ask(asked('b')))).toBe(unavailable);
      await redis.client.hSet(prefix + foreign, { proof, status, body, ends: String(now + 60_000) });
      expect((await other.ask(asked('c'))).kind).toBe('waiting');
    });

    test('for the next round of another call', async () => {
      await approved(asked('a'));
      const taken = await book.ask(asked('a'));
      const id = taken.kind === 'full' ? '' : taken.approval.id;
      await book.settle('tools', id, { round: 'r1' });
      const foreign = await idOf(asked('b'));
      const [own = '', theirs = ''] = [...(await writer.keysOf(`r:${id}`)), ...(await writer.keysOf(`r:${foreign}`))];
      await redis.client.hSet(own, 'binding', (await redis.client.hGet(theirs, 'binding')) ?? '');
      expect(await refusal(other.ask(asked('b', { continues: 'r1' })))).toBe(unavailable);
    });
  });

  describe('cannot bring back', () => {
    test('an approval that was used, and is refused by the mark of its use at every replica', async () => {
      await approved(asked('a'));
      const before = await writer.copy();
      expect((await book.ask(asked('a'))).kind).toBe('taken');
      await writer.restore(before);
      expect(await refusal(other.ask(asked('a')))).toBe(unavailable);
      expect((await other.ask(asked('a'))).kind).toBe('waiting');
    });

    test('one whose mark is deleted too, at a replica that has seen its use', async () => {
      await approved(asked('a'));
      const before = await writer.copy();
      expect((await book.ask(asked('a'))).kind).toBe('taken');
      await redis.client.flushAll();
      await writer.restore(before);
      expect(await refusal(book.ask(asked('a')))).toBe(unavailable);
    });

    test('one by a second spelling of its proof', async () => {
      const id = await approved(asked('a'));
      expect((await book.ask(asked('a'))).kind).toBe('taken');
      const [key = ''] = await writer.keysOf(`r:${id}`);
      const proof = (await redis.client.hGet(key, 'proof')) ?? '';
      const binding = String(await redis.client.hGet(key, 'binding'));
      for (const spelling of [`${proof}=`, ` ${proof}`, proof.replaceAll('-', '+').replaceAll('_', '/')]) {
        await redis.client.hSet(key, { proof: spelling, status: 'approved', ends: String(Date.now() + 60_000) });
        await redis.client.set(key.replace(/r:.*$/, `b:${binding}`), id);
        expect(await refusal(other.ask(asked('a')))).toBe(unavailable);
      }
    });

    test.each<[what: string, end: (id: string) => Promise<unknown>]>([
      ['withdrawn', (id) => book.decide('tools', id, 'withdraw')],
      ['ended with its entry', (id) => book.expire('tools', id)],
    ])('an approval that was %s', async (_what, end) => {
      const id = await approved(asked('a'));
      const before = await writer.copy();
      await end(id);
      await writer.restore(before);
      expect(await refusal(other.ask(asked('a')))).toBe(unavailable);
    });

    test('an approval that was withdrawn, at the replica that withdrew it, without any mark', async () => {
      const id = await approved(asked('a'));
      const before = await writer.copy();
      await book.decide('tools', id, 'withdraw');
      await redis.client.flushAll();
      await writer.restore(before);
      expect(await refusal(book.ask(asked('a')))).toBe(unavailable);
    });

    test('an approval whose time is over, by setting its end', async () => {
      const id = await approved(asked('a', { validMs: 1_000 }));
      const [key = ''] = await writer.keysOf(`r:${id}`);
      await redis.client.hSet(key, { ends: String(now + 86_400_000), until: String(now + 86_400_000) });
      now += 1_000 + 61_000;
      expect(await refusal(other.ask(asked('a')))).toBe(unavailable);
    });

    test('a round that has begun', async () => {
      const id = await approved(asked('a'));
      await book.ask(asked('a'));
      await book.settle('tools', id, { round: 'r1' });
      const before = await writer.copy();
      expect((await book.ask(asked('a', { continues: 'r1' }))).kind).toBe('taken');
      await writer.restore(before, /:n:/);
      expect(await refusal(other.ask(asked('a', { continues: 'r1' })))).toBe(unavailable);
      await redis.client.flushAll();
      await writer.restore(before);
      expect(await refusal(book.ask(asked('a', { continues: 'r1' })))).toBe(unavailable);
    });

    test('a round whose time is over', async () => {
      const id = await approved(asked('a'));
      await book.ask(asked('a'));
      await book.settle('tools', id, { round: 'r1' });
      now += OVER_MS + 61_000;
      expect(await refusal(other.ask(asked('a', { continues: 'r1' })))).toBe(unavailable);
    });
  });

  describe('ends no step in an error of the gateway itself, and takes nothing from other requests', () => {
    const long = 'x'.repeat(10_000_000);
    const foreign = ['', 'x', 'nan', 'inf', '-1', '1e300', '9e15', '0x10', '1'.repeat(20), '1'.repeat(400), long];
    const fields = ['status', 'ends', 'head', 'body', 'proof', 'until', 'owner', 'binding', 'bytes'];
    /** What a step gives a caller: a good answer, or the refusal of an unusable store. */
    const isGood = async (step: Promise<unknown>): Promise<true> => {
      const answer: unknown = await step.catch((error: unknown) => error);
      if (answer instanceof Error) {
        expect(answer).toMatchObject({ reason: unavailable });
        return true;
      }
      for (const approval of approvalsIn(answer)) {
        expect(['pending', 'approved', 'denied', 'expired', 'used']).toContain(approval.status);
        expect(new Date(approval.endsAt).toISOString()).toMatch(/^\d{4}-/);
      }
      return true;
    };
    const walk = async (id: string): Promise<void> => {
      await isGood(other.find('tools', id));
      await isGood(other.list('tools'));
      await isGood(other.decide('tools', id, 'approve'));
      await isGood(other.ask(asked('a')));
      await isGood(Promise.resolve(other.settle('tools', id, { unused: true })));
      await isGood(other.decide('tools', id, 'withdraw'));
      await isGood(other.expire('tools', id));
      await isGood(other.sweep('tools'));
    };

    test.each(fields.flatMap((field) => [true, false].map((isApproved) => [field, isApproved] as const)))(
      'by the field %s of a request (approved: %s)',
      async (field, isApproved) => {
        for (const value of [undefined, ...foreign]) {
          await redis.client.flushAll();
          const id = isApproved ? await approved(asked('a')) : await idOf(asked('a'));
          const good = await idOf(asked('b'));
          const [key = ''] = await writer.keysOf(`r:${id}`);
          if (value === undefined) await redis.client.hDel(key, field);
          else await redis.client.hSet(key, field, value);
          await walk(id);
          expect((await other.list('tools')).map(({ id: kept }) => kept)).toContain(good);
          expect((await other.decide('tools', good, 'approve'))?.isDone).toBe(true);
        }
      },
      60_000,
    );

    test.each(['r:', 'b:', 'n:', 'o:', 'u:', 'live', 'waiting', 'bytes'])(
      'by a key %s of another type, or a long one',
      async (kind) => {
        for (const write of [
          (key: string) => redis.client.set(key, 'x'),
          (key: string) => redis.client.set(key, long),
          (key: string) => redis.client.lPush(key, 'x'),
          // Each step of the store takes as long as this write, once.
          (key: string) => redis.client.zAdd(key, { score: 1, value: long.slice(0, 1_000_000) }),
          (key: string) => redis.client.zAdd(key, { score: Infinity, value: 'x' }),
        ]) {
          await redis.client.flushAll();
          const id = await approved(asked('a'));
          await book.ask(asked('a'));
          await book.settle('tools', id, { round: 'r1' });
          await approved(asked('a'));
          for (const key of await writer.keysOf(kind)) {
            await redis.client.del(key);
            await write(key);
          }
          corrupt = [];
          await isGood(other.ask(asked('a', { continues: 'r1' })));
          await walk(id);
          const good = await idOf(asked('b'));
          expect((await other.list('tools')).map(({ id: kept }) => kept)).toContain(good);
          expect((await other.decide('tools', good, 'approve'))?.isDone).toBe(true);
          expect((await other.ask(asked('b'))).kind).toBe('taken');
          await other.sweep('tools');
        }
      },
      60_000,
    );

    test('by values of 10 MB, without stopping the process', async () => {
      for (const field of fields) {
        await redis.client.flushAll();
        const id = await approved(asked('a'));
        const [key = ''] = await writer.keysOf(`r:${id}`);
        await redis.client.hSet(key, field, long);
        const delay = monitorEventLoopDelay({ resolution: 1 });
        delay.enable();
        await walk(id);
        delay.disable();
        expect([field, delay.max / 1e6]).toEqual([field, expect.toSatisfy((ms: number) => ms < 50)]);
      }
    });
  });

  test('learns no proof of a decision that was not made', async () => {
    const id = await idOf(asked('a'));
    await book.decide('tools', id, 'deny');
    const seen: string[] = [];
    const monitor = redis.client.duplicate();
    await monitor.connect();
    await monitor.monitor((line) => void seen.push(line));
    await book.decide('tools', id, 'approve');
    await book.decide('tools', id, 'withdraw');
    await expect.poll(() => seen.filter((line) => line.includes('decide')).length).toBe(2);
    expect(
      seen.filter((line) => line.includes('decide')).every((line) => line.includes(String.raw`\"proof\":\"\"`)),
    ).toBe(true);
    monitor.destroy();
  });

  test('keeps no other request from being swept by one with foreign fields', async () => {
    const broken = await idOf(asked('a', { waitMs: 1 }));
    const good = await idOf(asked('b', { waitMs: 1 }));
    const [key = ''] = await writer.keysOf(`r:${broken}`);
    await redis.client.hSet(key, { bytes: 'x', owner: 'y' });
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect((await book.sweep('tools')).expired.map(({ id }) => id)).toEqual([good]);
  });
});
