import { describe, expect, test } from 'vitest';
import { roomOf } from '../../../src/capabilities/revocation/place.ts';
import { Keeper } from '../../../src/capabilities/revocation/keeper.ts';
import { connectStore } from '../../../src/capabilities/shared-store/connection.ts';
import { RevocationIndex } from '../../../src/capabilities/revocation/revocation-index.ts';
import { RevocationStore } from '../../../src/capabilities/revocation/revocation-store.ts';
import { createSealing } from '../../../src/capabilities/shared-store/sealing.ts';
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

function keeping(entries: number, clock = { ms: now * 1000 }, bytes = Infinity) {
  const full: string[] = [];
  const index = new RevocationIndex(() => clock.ms);
  const keeper = new Keeper({
    clock: () => clock.ms,
    index,
    keepMs: HOUR,
    room: { entries, bytes },
    onNews() {},
    onFull: (issuer) => full.push(issuer),
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
  });

  test('of one issuer takes no room from another: its people are not ended', async () => {
    const { index, keep, full } = keeping(2);
    for (const subject of ['one', 'two', 'three']) await keep(subject);
    await keep('four', now, 'https://b.example');
    expect(full).toEqual(['https://a.example']);
    const ended = ['four', 'five'].map((subject) => index.revokes(token(subject, now, 'https://b.example')));
    expect(ended).toEqual([true, false]);
  });

  test('is one of bytes too, and tells of a second in which all tokens end once', async () => {
    const { index, keep, full } = keeping(1_000, undefined, 10_000);
    for (let next = 0; next < 20; next += 1) await keep(`${next} ${'x'.repeat(1_000)}`);
    expect(index.size).toBeLessThan(10);
    expect(full).toEqual(['https://a.example']);
    expect(index.revokes(token('another', now))).toBe(true);
    expect(index.used('https://a.example', { entries: 1_000, bytes: 10_000 })).toBeGreaterThan(0.8);
    expect(index.used('https://b.example', { entries: 1_000, bytes: 10_000 })).toBe(0);
  });

  test('is free again after keep', async () => {
    const { index, keep, full, clock } = keeping(2);
    for (const subject of ['one', 'two']) await keep(subject);
    clock.ms += HOUR + 600_001;
    for (const subject of ['three', 'four']) await keep(subject, now + 4_000);
    expect([index.size, full]).toEqual([2, []]);
  });
});

test.each([
  [[], 1_000_000],
  [['https://a.example', 'https://b.example', 'https://a.example'], 500_000],
])('each issuer of %j has the same share', (issuers, entries) => {
  const commandTargets = issuers.map((tokenIssuer) => ({ name: 'a', issuers: [], tokenIssuer, isProvider: false }));
  expect(roomOf({ commandTargets }).entries).toBe(entries);
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
    const connection = connectStore(redis.url, { observer, log() {}, commandMs: 2_000 });
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
      isLifted: () => false,
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
