import { describe, expect, test } from 'vitest';
import { Keeper } from '../../../src/serve/revocation/keeper.ts';
import { connectStore } from '../../../src/store/connection.ts';
import { RevocationIndex } from '../../../src/store/revocation-index.ts';
import { RevocationStore } from '../../../src/store/revocation-store.ts';
import { createSealing } from '../../../src/store/sealing.ts';
import { hasRedis, startRedis } from '../../support/redis.ts';
import { startBeforeAll } from '../../support/start-before.ts';

const HOUR = 3_600_000;
const now = 1_800_000_000;
const token = (subject: string, issuedAt: number, issuer = 'https://a.example') => ({
  issuer,
  subject,
  issuedAt,
  claims: {},
});

function keeping(max: number, clock = { ms: now * 1000 }) {
  const full: string[] = [];
  const index = new RevocationIndex(() => clock.ms);
  const keeper = new Keeper({
    clock: () => clock.ms,
    index,
    keepMs: HOUR,
    onNews() {},
    onFull: (issuer) => full.push(issuer),
    max,
  });
  const keep = (subject: string, at = now, issuer = 'https://a.example') =>
    keeper.keep({ tokens: [{ issuer, subject }], at, id: undefined });
  return { index, keeper, keep, full, clock };
}

describe('the bound', () => {
  test('turns a further revocation into one of all tokens of its issuer, and forgets no other', async () => {
    const { index, keep, full } = keeping(2);
    await keep('one');
    await keep('two', now - 100);
    await keep('one', now - 50);
    expect([index.size, full]).toEqual([2, []]);
    await keep('three');
    expect(full).toEqual(['https://a.example']);
    for (const subject of ['one', 'two', 'three', 'four']) expect(index.revokes(token(subject, now))).toBe(true);
    expect(index.revokes(token('four', now + 1))).toBe(false);
    expect(index.revokes(token('four', now, 'https://b.example'))).toBe(false);
    await keep('five', now, 'https://b.example');
    expect(index.revokes(token('another', now, 'https://b.example'))).toBe(true);
  });
});

test('equal subjects are merged, and the later time counts', async () => {
  const { index, keep } = keeping(10);
  await keep('one', now - 100);
  await keep('one', now - 10);
  await keep('one', now - 50);
  expect(index.size).toBe(1);
  expect([now - 10, now - 9].map((iat) => index.revokes(token('one', iat)))).toEqual([true, false]);
});

test('a revocation is forgotten after keep, counted from its arrival', async () => {
  const { index, keep, clock } = keeping(10);
  await keep('one', now - 1000);
  clock.ms += HOUR - 1;
  expect(index.size).toBe(1);
  clock.ms += 600_001;
  expect(index.size).toBe(0);
});

describe.skipIf(!hasRedis)('in the shared store', () => {
  const redis = startBeforeAll(startRedis);

  test('the bound holds over replicas, and a reader of the store learns no name', async () => {
    const observer = { storeUp() {}, storeRequest() {} };
    const connection = connectStore(redis.url, observer, () => {}, undefined, 2_000);
    await expect.poll(() => connection.state().state).toBe('available');
    const { index, keeper, keep, full } = keeping(2);
    const store = new RevocationStore({
      connection,
      sealing: createSealing('k3y-of-at-least-thirty-two-characters'),
      clock: () => now * 1000,
      keepMs: () => HOUR,
      max: 2,
      onNews: (revocations, dropped) => keeper.take({ revocations, dropped }),
      onComplete() {},
      known: () => index.all(),
      onCorrupt: (key) => full.push(key),
    });
    keeper.use(store);
    // Another replica fills the store.
    const other = (subject: string) => store.keep([{ issuer: 'https://a.example', subject, at: now, arrivedAt: now }]);
    expect([await other('alice-of-the-test'), await other('bob')]).toEqual(['kept', 'kept']);
    await keep('carol');
    expect(full).toEqual(['https://a.example']);
    expect(index.revokes(token('dave', now))).toBe(true);
    expect((await redis.client.keys('*')).join()).not.toContain('alice-of-the-test');
    await keeper.close();
    await connection.close();
  });
});
