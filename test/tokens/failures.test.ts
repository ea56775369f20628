import { beforeEach, describe, expect, test } from 'vitest';
import { createFailures, createUnlistedProxyWarning, unlimitedFailures } from '../../src/tokens/failures.ts';
import { readFields } from '../../src/core/gateway/listen/call.ts';
import type { Call } from '../../src/core/model/call.ts';
import { Denial } from '../../src/core/model/denial.ts';
import type { Reason } from '../../src/core/model/reasons.ts';
import type { Rate } from '../../src/core/model/endpoint.ts';
import type { Failures } from '../../src/ports/shared.ts';
import { createRateLimiters } from '../../src/core/gateway/limit/limit.ts';
import { outcomeOf } from '../support/denial.ts';

let now: number;
let shown: number;
let failures: Failures;
beforeEach(() => {
  now = 1_800_000_000_000;
  shown = 0;
  failures = failuresWith({ requests: 60, perMs: 60_000, burst: 5 });
});
function failuresWith(rate: Rate | undefined): Failures {
  const clock = (): number => now;
  return createFailures(rate, { limiters: createRateLimiters(clock), clock, warnOfProxy() {} });
}

const refused = (reason: Reason) => async () => {
  throw new Denial(reason, 'for the test');
};
const good = async (): Promise<string> => 'alice';
/** Refusals of the token before the limit is reached. */
const inactive = (count: number): string[] => [...Array<string>(count).fill('token.inactive'), 'failures.exceeded'];

/** What of a question matters to a test. */
interface Question {
  readonly client?: string;
  readonly servers?: string;
  readonly token?: string;
}

/** What comes of a question, of a token that was not shown before unless `question` names one. */
const outcome = async (work: () => Promise<unknown>, question: Question = {}): Promise<unknown> => {
  const { client = '192.0.2.1', servers = 'https://as.example', token = `t${(shown += 1)}` } = question;
  const whole = { call: { client } as Call, servers, token };
  return outcomeOf(failures.guard(whole, work)).catch((error: unknown) => error);
};
async function times(count: number, work: () => Promise<unknown>, question?: Question): Promise<unknown[]> {
  const outcomes: unknown[] = [];
  for (let time = 0; time < count; time += 1) outcomes.push(await outcome(work, question));
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

/** Work that refuses its token after a while, and how often it was asked. */
function guessing(): { work: () => Promise<never>; asked: () => number } {
  let asked = 0;
  return {
    async work() {
      asked += 1;
      await settled();
      throw new Denial('token.inactive', '');
    },
    asked: () => asked,
  };
}

describe('what counts', () => {
  test.each<Reason>(['token.inactive', 'token.expired', 'token.issuer'])('%s', async (reason) => {
    await times(5, refused(reason));
    expect(await outcome(good)).toBe('failures.exceeded');
  });

  test.each<Reason>(['authorization_server.unavailable', 'shared_store.unavailable', 'scope.insufficient'])(
    'not %s',
    async (reason) => {
      expect(new Set(await times(50, refused(reason)))).toEqual(new Set([reason]));
      expect(await outcome(good)).toBe('alice');
    },
  );

  test('a bug of the gateway does not count', async () => {
    const bug = new TypeError('x');
    await times(50, () => Promise.reject(bug));
    expect(await outcome(good)).toBe('alice');
  });

  test('valid tokens use no permits', async () => {
    expect(new Set(await times(1000, good))).toEqual(new Set(['alice']));
  });
});

describe('a token that is refused repeatedly', () => {
  const one = { token: 'one' };

  test('counts once, and is limited by a bucket of its own', async () => {
    expect(await times(8, refused('token.inactive'), one)).toEqual([...inactive(6), 'failures.exceeded']);
    expect(await times(5, refused('token.inactive'))).toEqual(inactive(4));
  });

  test('takes one permit for parallel requests', async () => {
    const guess = guessing();
    const outcomes = await Promise.all(Array.from({ length: 1000 }, () => outcome(guess.work, one)));
    expect(new Set(outcomes)).toEqual(new Set(['token.inactive']));
    expect(guess.asked()).toBe(1);
    expect(await times(5, refused('token.inactive'))).toEqual(inactive(4));
  });

  test('uses no permit once it is valid', async () => {
    await outcome(refused('token.inactive'), one);
    expect(new Set(await times(50, good, one))).toEqual(new Set(['alice']));
  });

  test('counts for each address, and for each list of servers', async () => {
    for (const question of [{}, { client: '192.0.2.2' }, { servers: 'https://other.example' }]) {
      expect(await times(5, refused('token.inactive'), { ...question, ...one })).not.toContain('failures.exceeded');
      expect(await times(5, refused('token.inactive'), question)).toContain('failures.exceeded');
    }
  });

  test('counts again after the bucket has refilled', async () => {
    await outcome(refused('token.inactive'), one);
    now += 5_000;
    expect(await times(6, refused('token.inactive'), { token: 'one' })).not.toContain('failures.exceeded');
    expect(await times(5, refused('token.inactive'))).toContain('failures.exceeded');
  });
});

describe('questions that wait', () => {
  test('the address, and no other', async () => {
    expect(await times(6, refused('token.inactive'))).toEqual(inactive(5));
    expect(await outcome(good, { client: '192.0.2.2' })).toBe('alice');
  });

  test('the servers that refused, and no others', async () => {
    await times(5, refused('token.inactive'));
    expect(await outcome(good, { servers: 'https://other.example' })).toBe('alice');
  });

  test('the /64 of an IPv6 address', async () => {
    for (let host = 0; host < 5; host += 1) await outcome(refused('token.inactive'), { client: `2001:db8::${host}` });
    expect(await outcome(good, { client: '2001:db8::ffff:1' })).toBe('failures.exceeded');
    expect(await outcome(good, { client: '2001:db8:0:1::1' })).toBe('alice');
  });

  test('until a permit is available, after the announced seconds', async () => {
    await times(5, refused('token.inactive'));
    const question = { call: { client: '192.0.2.1' } as Call, servers: 'https://as.example', token: 'new' };
    const refusal = { reason: 'failures.exceeded', retryAfterSeconds: 1, headers: undefined };
    await expect(failures.guard(question, good)).rejects.toMatchObject(refusal);
    now += 999;
    expect(await outcome(good)).toBe('failures.exceeded');
    now += 1;
    expect(await outcome(good)).toBe('alice');
  });

  test('no question waits without a limit', async () => {
    failures = failuresWith(undefined);
    expect(failures).toBe(unlimitedFailures);
    expect(new Set(await times(1000, refused('token.inactive')))).toEqual(new Set(['token.inactive']));
  });
});

describe('many at once', () => {
  test('do not allow more guesses', async () => {
    const guess = guessing();
    const outcomes = await Promise.all(Array.from({ length: 10_000 }, () => outcome(guess.work)));
    expect(guess.asked()).toBe(5);
    expect(outcomes.filter((reason) => reason === 'failures.exceeded')).toHaveLength(9_995);
  });

  test('with valid tokens all pass, and the limit bounds those in flight', async () => {
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

  test('a waiting question continues once another token is valid, not once it is refused', async () => {
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

  test('all waiting questions are refused once the last one in flight is refused', async () => {
    const asked = Array.from({ length: 5 }, pending);
    const running = asked.map(({ work }) => outcome(work));
    const waiting = Array.from({ length: 50 }, () => outcome(good));
    await settled();
    for (const each of asked) each.end(new Denial('token.inactive', ''));
    await Promise.all(running);
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['failures.exceeded']));
  });

  test('at a server that hangs do not delay those at another', async () => {
    const hanging = Array.from({ length: 20 }, pending);
    const running = hanging.map(({ work }) => outcome(work, { servers: 'https://hangs.example' }));
    await settled();
    expect(hanging.filter(({ began }) => began())).toHaveLength(5);
    expect(await outcome(good)).toBe('alice');
    for (const each of hanging) each.end();
    expect(new Set(await Promise.all(running))).toEqual(new Set(['alice']));
  });
});

/** The addresses that are warned of, for calls from a peer on behalf of a client. */
function warned(...calls: readonly (readonly [peer: string, client: string, header: string])[]): string[] {
  const addresses: string[] = [];
  const warn = createUnlistedProxyWarning((address) => addresses.push(address));
  for (const [peer, client, header] of calls) {
    warn({ peer, client, fields: readFields(['Host', 'h', header, '192.0.2.1']) } as Call);
  }
  return addresses;
}

test('an address over the limit that may be a proxy causes a warning', async () => {
  const addresses: string[] = [];
  const clock = (): number => now;
  failures = createFailures(
    { requests: 60, perMs: 60_000, burst: 1 },
    { limiters: createRateLimiters(clock), clock, warnOfProxy: (address) => addresses.push(address) },
  );
  const fields = readFields(['Host', 'h', 'X-Forwarded-For', '192.0.2.1']);
  const call = { client: '10.0.0.1', peer: '10.0.0.1', fields } as Call;
  const ask = (token: string): Promise<unknown> =>
    outcomeOf(failures.guard({ call, servers: 'https://as.example', token }, refused('token.inactive')));
  expect(await ask('first')).toBe('token.inactive');
  expect(addresses).toEqual([]);
  expect(await ask('second')).toBe('failures.exceeded');
  expect(addresses).toEqual(['10.0.0.1']);
});

test('warns once of each address whose X-Forwarded-For does not count', () => {
  const one = ['10.0.0.1', '10.0.0.1', 'X-Forwarded-For'] as const;
  expect(warned(one, one, ['10.0.0.2', '10.0.0.2', 'X-Forwarded-For'])).toEqual(['10.0.0.1', '10.0.0.2']);
});

test('does not warn of a proxy whose header counts, nor of a client without it', () => {
  expect(warned(['10.0.0.1', '192.0.2.1', 'X-Forwarded-For'], ['10.0.0.1', '10.0.0.1', 'X-Other'])).toEqual([]);
});

test('warns of a hundred addresses at most', () => {
  const calls = Array.from({ length: 200 }, (_, i) => [`10.0.0.${i}`, `10.0.0.${i}`, 'X-Forwarded-For'] as const);
  expect(warned(...calls)).toHaveLength(100);
});
