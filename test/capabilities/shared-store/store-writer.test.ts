import { readFile } from 'node:fs/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Store } from '../../../src/front-door/store.ts';
import type { RateLimiter } from '../../../src/core/model/rate-limiter.ts';
import type { StoreConnection } from '../../../src/ports/store.ts';
import { hasRedis, startRedis } from '../../support/redis.ts';
import { startBeforeAll } from '../../support/start-before.ts';
import { asked } from './asked-call.ts';
import {
  available,
  closeOpened,
  frontDoorAt,
  KEY,
  PATIENT_MS,
  replicaAt,
  revocationOf,
  revocationsAt,
  type Replica,
} from './opened.ts';

/** What the names of keys say: their kind, without digests and ids. */
function kindOf(key: string): string {
  return key
    .replace(/^sallyport:v1:/, '')
    .replaceAll(/[\w-]{43}/g, '#')
    .replace(/:(r|u):[\w-]+$/, ':$1:#');
}

const later = (): number => Date.now() + 60_000;

describe.runIf(hasRedis)('a party that reads and writes every key of the store', () => {
  const redis = startBeforeAll(startRedis);
  let connection: StoreConnection;
  let one: Replica;
  let other: Replica;
  let door: Store;
  let limiters: readonly RateLimiter[];

  beforeEach(async () => {
    await redis.client.flushAll();
    ({ connection } = await available(redis.url, PATIENT_MS));
    const settings = { url: redis.url, onFailure: 'closed' } as const;
    [one, other] = (await Promise.all(
      [1, 2].map(async () => replicaAt(redis.url, undefined, { commandMs: PATIENT_MS })),
    )) as [Replica, Replica];
    const rate = { requests: 2, perMs: 10_000, burst: 2 };
    const prepared = await Promise.all([one, other].map(async (each) => each.prepare(settings, KEY)));
    limiters = prepared.map((each) => each.limiters('requests', rate));
    door = await frontDoorAt(redis.url);
    return closeOpened;
  });

  const keysOf = async (kind: string): Promise<string[]> =>
    (await redis.client.keys('*')).filter((key) => kindOf(key).startsWith(kind)).toSorted();
  const the = async (kind: string): Promise<string> => {
    const [key, ...rest] = await keysOf(kind);
    expect(rest).toEqual([]);
    return key ?? '';
  };
  const reservation = (id: string) => ({
    id,
    route: 'tools',
    owner: 'alice',
    checks: [],
    entries: [{ track: 'backup', amount: 1, keepMs: 60_000 }],
    isShadow: false,
    continues: undefined,
  });

  /** Leaves a key of every kind. */
  async function fill(): Promise<void> {
    one.answers.set('introspection', 'token', '{"active":true}', later());
    await one.replay.firstSeen('proof', later(), 'alice');
    await limiters[0]?.take('alice');
    await one.ledger.reserve(reservation('call-1'));
    const asking = await one.approvals.ask(asked('a'));
    const id = asking.kind === 'full' ? '' : asking.approval.id;
    await one.approvals.decide('tools', id, 'approve');
    await one.approvals.ask(asked('a'));
    await one.approvals.settle('tools', id, { round: 'r1' });
    await one.approvals.ask(asked('b'));
    const { store } = revocationsAt(connection, () => {});
    await store.keep([revocationOf('alice')], 'event');
    await store.lease('okta', { id: 'one', polledAt: undefined }, 15_000);
    await door.set({
      kind: 'AuthorizationCode',
      id: 'code',
      value: { exp: later() / 1000 },
      expiresAt: later(),
      owner: 'p',
    });
    await door.addMember('AccessToken grant', 'digest', later(), 9);
    await door.firstSeen('code', later(), 'p');
    await expect.poll(() => keysOf('answer:')).toHaveLength(1);
  }

  test('finds the kinds of keys that the threat model has, each with an end, and no text of a caller', async () => {
    await fill();
    const keys = await redis.client.keys('*');
    // The probe lives for a second.
    const kinds = [...new Set(keys.map(kindOf))].filter((kind) => kind !== 'probe').toSorted();
    expect(kinds).toEqual(
      [
        'answer:introspection:#',
        'approvals:{#}:b:#',
        'approvals:{#}:bytes',
        'approvals:{#}:live',
        'approvals:{#}:n:#',
        'approvals:{#}:o:#',
        'approvals:{#}:r:#',
        'approvals:{#}:u:#',
        'approvals:{#}:waiting',
        'history:{#}:all:#',
        'history:{#}:call:#',
        'history:{#}:owner:#',
        'history:{#}:track:#',
        'rate:requests:#',
        'replay:#',
        '{front-door}:AuthorizationCode:#',
        '{front-door}:index:#',
        '{front-door}:members:#',
        '{front-door}:owner AuthorizationCode:#',
        '{revocations}:#',
      ].toSorted(),
    );
    const page = await readFile(new URL('../../../docs/internals/threat-model.md', import.meta.url), 'utf8');
    for (const kind of new Set(kinds.map((each) => each.replace(/:.*$/, '')))) expect(page).toContain(`\`${kind}\``);
    for (const key of keys)
      expect([key, await redis.client.pTTL(key)]).toEqual([key, expect.toSatisfy((ms) => ms > 0)]);
    expect(keys.join(' ')).not.toMatch(/alice|tools|okta|backup/);
  });

  describe('gains nothing from answers about tokens', () => {
    test.each<[what: string, write: (key: string, foreign: string) => Promise<unknown>]>([
      ['garbage', (key) => redis.client.set(key, 'garbage')],
      [
        'the answer about another token',
        async (key, foreign) => redis.client.set(key, (await redis.client.getRange(foreign, 0, -1)) ?? ''),
      ],
      ['none', (key) => redis.client.del(key)],
    ])('%s is no answer', async (_what, write) => {
      one.answers.set('introspection', 'revoked', '{"active":false}', later());
      const key = await expect
        .poll(() => keysOf('answer:'))
        .toHaveLength(1)
        .then(() => the('answer:'));
      one.answers.set('introspection', 'good', '{"active":true}', later());
      await expect.poll(() => keysOf('answer:')).toHaveLength(2);
      const foreign = (await keysOf('answer:')).find((each) => each !== key) ?? '';
      await write(key, foreign);
      expect(await other.answers.get('introspection', 'revoked')).toBeUndefined();
    });

    test('an answer that was put back counts until the end that is sealed in it', async () => {
      one.answers.set('introspection', 'token', '{"active":true}', Date.now() + 300);
      await expect.poll(() => keysOf('answer:')).toHaveLength(1);
      const key = await the('answer:');
      const before = (await redis.client.getRange(key, 0, -1)) ?? '';
      await expect.poll(() => redis.client.exists(key)).toBe(0);
      await redis.client.set(key, before);
      expect(await other.answers.get('introspection', 'token')).toBeUndefined();
    });
  });

  test('a deleted proof passes at a replica that has not seen it, and nowhere else', async () => {
    await one.replay.firstSeen('proof', later(), 'alice');
    await redis.client.del(await the('replay:'));
    expect(await one.replay.firstSeen('proof', later(), 'alice')).toBe(false);
  });

  test.each(['99999999 9999999999999.000', '99999999.0 1.0', 'garbage'])(
    'a foreign bucket refuses for no longer than a full one: %s',
    async (value) => {
      const [, limiter] = limiters;
      await limiter?.take('alice');
      await redis.client.set(await the('rate:'), value);
      expect(Number(await limiter?.take('alice'))).toBeLessThanOrEqual(10_000);
      await expect.poll(async () => limiter?.take('alice'), { timeout: 15_000, interval: 1_000 }).toBe(0);
    },
  );

  test.each([{ next: '1e300' }, { next: 'inf' }, { next: 'nan' }, { first: '-1e300' }, { first: '-inf', next: '9' }])(
    'a track with forged numbers refuses the call, and the store goes on: %j',
    async (fields) => {
      await one.ledger.reserve(reservation('call-1'));
      await redis.client.hSet(await the('history:{#}:track'), fields);
      await expect(Promise.resolve(other.ledger.reserve(reservation('call-2')))).rejects.toMatchObject({
        reason: 'shared_store.unavailable',
        message: expect.stringContaining('a track that no replica wrote'),
      });
      expect(await redis.client.ping()).toBe('PONG');
    },
  );

  test('a track that is garbage refuses the call', async () => {
    await one.ledger.reserve(reservation('call-1'));
    await redis.client.hSet(await the('history:{#}:track'), { all: '1 1 9 x', next: 'x' });
    await expect(
      Promise.resolve(
        other.ledger.reserve({
          ...reservation('call-2'),
          checks: [{ kind: 'after', track: 'backup', amount: 0, limit: 0 }],
        }),
      ),
    ).rejects.toMatchObject({ reason: 'shared_store.unavailable' });
  });

  describe('brings back no code, token or grant', () => {
    const code = (id = 'code') => ({
      kind: 'AuthorizationCode' as const,
      id,
      value: { id, exp: later() / 1000 },
      expiresAt: later(),
    });
    test.each(['get', 'take'] as const)('that was used at this front door: %s', async (again) => {
      await door.set(code());
      const key = await the('{front-door}:AuthorizationCode');
      const before = (await redis.client.getRange(key, 0, -1)) ?? '';
      expect(await door.take('AuthorizationCode', 'code')).toMatchObject({ id: 'code' });
      await redis.client.set(key, before);
      await expect(door[again]('AuthorizationCode', 'code')).rejects.toMatchObject({ status: 503 });
    });

    test('nor has a front door end any number of tokens that no grant has', async () => {
      await door.addMember('AccessToken grant', 'own', later(), 9);
      const members = Array.from({ length: 5_000 }, (_, index) => ({ score: later(), value: `forged-${index}` }));
      await redis.client.zAdd(await the('{front-door}:members'), members);
      expect((await door.takeMembers('AccessToken grant')).length).toBeLessThanOrEqual(2_000);
    });

    test('of another name, nor garbage', async () => {
      await door.set(code('one'));
      const key = await the('{front-door}:AuthorizationCode');
      await door.set(code('two'));
      const foreign = (await keysOf('{front-door}:AuthorizationCode')).find((each) => each !== key) ?? '';
      await redis.client.set(key, (await redis.client.getRange(foreign, 0, -1)) ?? '');
      expect(await door.take('AuthorizationCode', 'one')).toBeUndefined();
      await redis.client.set(key, `${foreign}\ngarbage`);
      expect(await door.get('AuthorizationCode', 'one')).toBeUndefined();
    });
  });
});
