import { beforeEach, describe, expect, test } from 'vitest';
import { createFailures } from '../../src/limit/failures.ts';
import { Denial, type Reason } from '../../src/model/denial.ts';
import type { Failures } from '../../src/model/limits.ts';
import { createRateLimiters } from '../../src/shared/rate.ts';

let now: number;
let failures: Failures;
beforeEach(() => {
  now = 1_800_000_000_000;
  failures = createFailures(createRateLimiters(() => now)('failures', { requests: 60, perMs: 60_000, burst: 5 }));
});

const refused = (reason: Reason) => async () => {
  throw new Denial(reason, 'for the test');
};
const good = async (): Promise<string> => 'alice';
const outcome = async (work: () => Promise<unknown>, client = '192.0.2.1'): Promise<unknown> =>
  failures.guard(client, work).catch((error: unknown) => (error instanceof Denial ? error.reason : error));
async function times(count: number, work: () => Promise<unknown>, client?: string): Promise<unknown[]> {
  const outcomes: unknown[] = [];
  // oxlint-disable-next-line no-await-in-loop -- one after the other is the point
  for (let time = 0; time < count; time += 1) outcomes.push(await outcome(work, client));
  return outcomes;
}

/** Work that ends when it is told to. */
function pending(): { work: () => Promise<string>; began: () => boolean; end(error?: Denial): void } {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let begun = false;
  return {
    work() {
      begun = true;
      return promise;
    },
    began: () => begun,
    end: (error) => (error === undefined ? resolve('alice') : reject(error)),
  };
}
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('what counts', () => {
  test.each<Reason>([
    'token.inactive',
    'token.signature',
    'token.expired',
    'token.form',
    'proof.invalid',
    'proof.replayed',
  ])('%s', async (reason) => {
    await times(5, refused(reason));
    expect(await outcome(good)).toBe('failures.exceeded');
  });

  test.each<Reason>([
    'authorization_server.unavailable',
    'shared_store.unavailable',
    'proof.nonce',
    'scope.insufficient',
  ])('not %s', async (reason) => {
    expect(new Set(await times(50, refused(reason)))).toEqual(new Set([reason]));
    expect(await outcome(good)).toBe('alice');
  });

  test('not a bug of ours', async () => {
    const bug = new TypeError('x');
    await times(50, () => Promise.reject(bug));
    expect(await outcome(good)).toBe('alice');
  });

  test('what a known token was refused for', async () => {
    for (let time = 0; time < 5; time += 1) failures.count('192.0.2.1', new Denial('token.audience', ''));
    expect(await outcome(good)).toBe('failures.exceeded');
    failures.count('192.0.2.2', new Denial('credentials.missing', ''));
    expect(await outcome(good, '192.0.2.2')).toBe('alice');
  });

  test('good tokens use nothing up', async () => {
    expect(new Set(await times(1000, good))).toEqual(new Set(['alice']));
  });
});

describe('who has to wait', () => {
  test('the address, and no other', async () => {
    expect(await times(6, refused('token.inactive'))).toEqual([
      ...Array(5).fill('token.inactive'),
      'failures.exceeded',
    ]);
    expect(await outcome(good, '192.0.2.2')).toBe('alice');
  });

  test('the /64 of an IPv6 address', async () => {
    for (let host = 0; host < 5; host += 1) await outcome(refused('token.inactive'), `2001:db8::${host}`);
    expect(await outcome(good, '2001:db8::ffff:1')).toBe('failures.exceeded');
    expect(await outcome(good, '2001:db8:0:1::1')).toBe('alice');
  });

  test('until one has come back, to the second that it was told', async () => {
    await times(5, refused('token.inactive'));
    const denial = await failures.guard('192.0.2.1', good).catch((error: unknown) => error as Denial);
    expect(denial).toMatchObject({ reason: 'failures.exceeded', retryAfterSeconds: 1, headers: undefined });
    now += 999;
    expect(await outcome(good)).toBe('failures.exceeded');
    now += 1;
    expect(await outcome(good)).toBe('alice');
  });

  test('nobody where failures are not limited', async () => {
    failures = createFailures(undefined);
    expect(new Set(await times(1000, refused('token.inactive')))).toEqual(new Set(['token.inactive']));
    failures.count('192.0.2.1', new Denial('token.audience', ''));
  });
});

describe('many at once', () => {
  test('are no way to guess more often', async () => {
    let asked = 0;
    const guess = async (): Promise<never> => {
      asked += 1;
      await settled();
      throw new Denial('token.inactive', '');
    };
    const outcomes = await Promise.all(Array.from({ length: 10_000 }, () => outcome(guess)));
    expect(asked).toBe(5);
    expect(outcomes.filter((reason) => reason === 'failures.exceeded')).toHaveLength(9_995);
  });

  test('with good tokens all pass, as many at a time as might fail', async () => {
    let asking = 0;
    let most = 0;
    const work = async (): Promise<string> => {
      most = Math.max(most, (asking += 1));
      await settled();
      asking -= 1;
      return 'alice';
    };
    const outcomes = await Promise.all(Array.from({ length: 500 }, () => outcome(work)));
    expect(new Set(outcomes)).toEqual(new Set(['alice']));
    expect(most).toBe(5);
  });

  test('one that waits goes on as soon as another has proved good, and not when it failed', async () => {
    const asked = Array.from({ length: 5 }, pending);
    const running = asked.map(({ work }) => outcome(work));
    const [sixth, seventh] = [pending(), pending()];
    const outcomes = Promise.all([outcome(sixth.work), outcome(seventh.work)]);
    await settled();
    expect([sixth.began(), seventh.began()]).toEqual([false, false]);
    asked[0]?.end(new Denial('token.inactive', ''));
    await settled();
    expect([sixth.began(), seventh.began()]).toEqual([false, false]);
    asked[1]?.end();
    await settled();
    expect([sixth.began(), seventh.began()]).toEqual([true, false]);
    sixth.end();
    await settled();
    expect(seventh.began()).toBe(true);
    seventh.end();
    for (const each of asked) each.end(new Denial('token.inactive', ''));
    expect(await outcomes).toEqual(['alice', 'alice']);
    expect((await Promise.all(running)).filter((reason) => reason === 'token.inactive')).toHaveLength(4);
    expect(await outcome(good)).toBe('alice');
    expect(await times(2, refused('token.inactive'))).toEqual(['token.inactive', 'failures.exceeded']);
  });

  test('all that wait are answered when the last one has failed', async () => {
    const asked = Array.from({ length: 5 }, pending);
    const running = asked.map(({ work }) => outcome(work));
    const waiting = Array.from({ length: 50 }, () => outcome(good));
    await settled();
    for (const each of asked) each.end(new Denial('token.inactive', ''));
    await Promise.all(running);
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['failures.exceeded']));
  });
});
