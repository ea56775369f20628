import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLookout, type Lookout } from '../../../src/capabilities/lock/watch.ts';
import { createManualTimers, type ManualTimers } from '../../support/manual-timers.ts';

const MINUTE = 60_000;
let timers: ManualTimers;
let looks: { signal: AbortSignal; end: (error?: Error) => Promise<void> }[];
let lookout: Lookout;

beforeEach(() => {
  timers = createManualTimers();
  looks = [];
  lookout = createLookout(
    (signal) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const end = (error?: Error): Promise<void> => {
        if (error === undefined) resolve();
        else reject(error);
        return pass(0);
      };
      looks.push({ signal, end });
      return promise;
    },
    { timers, random: () => 0 },
  );
  lookout.start();
});
afterEach(() => lookout.close());

const pass = (ms: number): Promise<void> => timers.pass(ms);

test('looks at once, then every five minutes', async () => {
  expect(lookout.untilNextMs()).toBe(0);
  await pass(0);
  expect(looks).toHaveLength(1);
  await pass(20 * MINUTE);
  expect(looks).toHaveLength(1);
  expect(lookout.untilNextMs()).toBe(0);
  await looks[0]?.end();
  expect(lookout.untilNextMs()).toBe(5 * MINUTE);
  await pass(5 * MINUTE - 1);
  expect(looks).toHaveLength(1);
  await pass(1);
  expect(looks).toHaveLength(2);
});

test('looks sooner after a failure, at growing intervals', async () => {
  await pass(0);
  for (const seconds of [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]) {
    const before = looks.length;
    await looks.at(-1)?.end(new Error('away'));
    expect(lookout.untilNextMs()).toBe(seconds * 1000);
    await pass(seconds * 1000 - 1);
    expect(looks).toHaveLength(before);
    await pass(1);
    expect(looks).toHaveLength(before + 1);
  }
  await looks.at(-1)?.end();
  await pass(5 * MINUTE);
  await looks.at(-1)?.end(new Error('away'));
  expect(lookout.untilNextMs()).toBe(1000);
});

test('looks soon when it is asked to, and at most once in five seconds', async () => {
  await pass(0);
  await looks[0]?.end();
  await pass(MINUTE);
  lookout.soon();
  await pass(0);
  expect(looks).toHaveLength(2);
  await looks[1]?.end();
  await pass(1000);
  for (let asked = 0; asked < 1000; asked += 1) lookout.soon();
  expect(lookout.untilNextMs()).toBe(4000);
  await pass(3999);
  expect(looks).toHaveLength(2);
  await pass(1);
  expect(looks).toHaveLength(3);
  await looks[2]?.end();
  await pass(5 * MINUTE - 1);
  expect(looks).toHaveLength(3);
});

test('looks again after a look during which it was asked to', async () => {
  await pass(0);
  lookout.soon();
  await pass(MINUTE);
  expect(looks).toHaveLength(1);
  await looks[0]?.end();
  await pass(0);
  expect(looks).toHaveLength(2);
  await looks[1]?.end();
  expect(lookout.untilNextMs()).toBe(5 * MINUTE);
});

test('a question does not delay a look that is due', async () => {
  await pass(0);
  await looks[0]?.end(new Error('away'));
  lookout.soon();
  expect(lookout.untilNextMs()).toBe(1000);
});

test('ends a look that is under way, and looks no more', async () => {
  await pass(0);
  expect(looks[0]?.signal.aborted).toBe(false);
  lookout.close();
  expect(looks[0]?.signal.aborted).toBe(true);
  await looks[0]?.end(new Error('ended'));
  await pass(20 * MINUTE);
  expect(looks).toHaveLength(1);
});

test('looks neither before its start, whatever it is asked, nor after its end', async () => {
  let count = 0;
  const other = createLookout(
    async () => {
      count += 1;
      await Promise.resolve();
    },
    { timers, random: () => 0 },
  );
  other.soon();
  await pass(20 * MINUTE);
  expect([count, other.untilNextMs()]).toEqual([0, 0]);
  other.start();
  await pass(0);
  expect(count).toBe(1);
  other.close();
  await pass(20 * MINUTE);
  expect(count).toBe(1);
});
